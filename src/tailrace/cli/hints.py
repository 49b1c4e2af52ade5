"""What to do about an error that says nothing about it itself."""

from __future__ import annotations

_HINTS = {
    "source.gone": "check the path in the configuration",
    "source.denied": "run as a user who may read it",
}


def hint_for(code: str, message: str) -> str | None:
    """By code; for the lake, by what the operating system said."""
    if code == "lake.io" and any(words in message for words in ("Permission denied", "Read-only file system")):
        return "choose another place with --home or TAILRACE_HOME"
    return _HINTS.get(code)

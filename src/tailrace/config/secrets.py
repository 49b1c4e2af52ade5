"""Secrets as they are written: attributes that speak of one, and what a URL carries."""

from __future__ import annotations

import re

_WORDS = "secret|token|password|credential|key"
SECRET_NAME = re.compile(_WORDS, re.IGNORECASE)
_ATTRIBUTE = re.compile(
    rf"(\b\w{{0,80}}?(?:{_WORDS})\w*+\s*+[=:])((?:[^\"`=]++|[\"`][^\"`]*+[\"`]?+)*+)", re.IGNORECASE
)
"A name that speaks of a secret, and its value: all up to the next attribute of the line."
_TEXT = re.compile(r"(\b(?:env|file)\(\s*+)?([\"`])([^\"`]*+)([\"`]?+)")
"A quoted text; the first one of `env` and `file` says where a secret is, and is none."
_IN_URL = re.compile(
    rf"(://[^/?#\s:@\"']{{0,200}}:)([^/?#\s@\"']+)(?=@)|([?&][\w.%-]{{0,80}}?(?:{_WORDS}|sig)[\w.%-]{{0,80}}=)([^&#\s\"']+)",
    re.IGNORECASE,
)
"A password before the host, and parameters that speak of a secret."


def starred(line: str) -> str:
    """A line of a file, as long as before, with stars in place of secrets."""
    line = _ATTRIBUTE.sub(lambda match: match[1] + _TEXT.sub(_hidden, match[2]), line)
    return _IN_URL.sub(lambda match: (match[1] or match[3]) + "*" * len(match[2] or match[4]), line)


def _hidden(text: re.Match[str]) -> str:
    return text[0] if text[1] else text[2] + "*" * len(text[3]) + text[4]


def without_url_secrets(text: str, hidden: str) -> str:
    """The text with URLs that may be shown."""
    return _IN_URL.sub(lambda match: (match[1] or match[3]) + hidden, text)

"""What to do about an error that says nothing about it itself."""

from __future__ import annotations

import re

import click

from tailrace.cli.options import Context
from tailrace.core.errors import TailraceError
from tailrace.core.written import NO_ROOM_IN_WORDS

_HINTS = {
    "source.gone": "check the path in the configuration, or after --file",
    "source.denied": "run as a user who may read it",
}
BEGIN = "write one in a .tpc file there (see docs/config/index.md), or try `tailrace demo`"
"For somebody who has configured nothing."
_MAKE_ROOM = "make room there and run the command again; what was committed stays, and nothing has to be cleared up"


def note_nothing(context: Context) -> None:
    """Beside an empty list of what is configured."""
    from tailrace.cli.layers import searched

    if not context.quiet:
        click.echo(f"no partition is configured in {searched(context)}\n  hint: {BEGIN}", err=True)


def hint_of(error: TailraceError) -> str | None:
    """Its own, or what can be said by its code."""
    return error.hint or hint_for(error.code, str(error))


def hint_for(code: str, message: str) -> str | None:
    """By code; for the lake, by what the operating system said."""
    if code == "lake.io" and any(words in message for words in ("Permission denied", "Read-only file system")):
        return "make it writable, or choose another place: that of the lake with --home or TAILRACE_HOME"
    if code.startswith(("lake.", "collect.")) and any(words in message for words in NO_ROOM_IN_WORDS):
        return _MAKE_ROOM
    if code == "source.denied" and any(
        words in message for words in ("access denied", "credentials", "role", "profile")
    ):
        return "`tailrace connection test` tells who you are and what may be read"
    if code == "source.gone" and re.search("no such (bucket|container)", message):
        return "check its name in the configuration; `tailrace connection test` tells who you are and what may be read"
    return _HINTS.get(code)

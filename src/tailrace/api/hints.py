"""What to do about an error, for programs: arguments where the command line has options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tailrace.core.errors import QueryError

_INSTEAD = (
    (re.compile(r"one with --param NAME=VALUE, or --param VALUE"), "one in params: {'name': value}, or [value]"),
    (re.compile(r"without --sandbox"), "with tailrace.open(sandbox=False)"),
    (re.compile(r"--write (\S+)"), r"tailrace.open(write='\1')"),
    (re.compile(r"--(timeout|memory)\b"), r"tailrace.open(\1=…)"),
    (re.compile(r"--schema (\w+)"), r"schema='\1'"),
    (re.compile(r"--at (\w+)=(\S+?),"), r"at={'\1': \2},"),
    (re.compile(r"--at\b"), "at=…"),
    (re.compile(r"`tailrace table list`"), "lake.tables()"),
)  # fmt: skip


@contextmanager
def for_programs() -> Iterator[None]:
    """Errors of queries within the block name arguments."""
    try:
        yield
    except QueryError as error:
        hint = translated(error.hint) if error.hint else None
        if hint == error.hint:
            raise
        raise type(error)(error.message, code=error.code, where=error.where, hint=hint) from None


def translated(hint: str) -> str:
    """A hint of the command line as one for a program."""
    for option, argument in _INSTEAD:
        hint = option.sub(argument, hint)
    return hint

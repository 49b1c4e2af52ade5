"""SQL as bytes: what stands in a file, and whether it is text at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailrace.core.errors import QueryError, UsageError

_LINE = re.compile(r"^LINE (\d+):", re.MULTILINE)


@contextmanager
def telling_place(text: str) -> Iterator[None]:
    """What is wrong with SQL that stands in a file is told with the file, and with the line where that is known."""
    try:
        yield
    except QueryError as error:
        if error.where is None and text != "-" and os.path.isfile(text):
            line = _LINE.search(error.message)
            error.where = f"{text}:{line[1]}" if line else text
        raise


def sql_in(path: Path) -> str:
    """What the file says. Bytes that are no text stay what they are, as those of standard input do."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        told = f"cannot read {path}: {error.strerror}"
        raise UsageError(told, code="usage.no-such-file", hint="name a file of SQL") from None


def require_text(sql: str) -> None:
    """Raises where bytes were left in it that are no text."""
    try:
        sql.encode()
    except UnicodeEncodeError:
        raise no_text() from None


def no_text() -> QueryError:
    """What to say of such SQL."""
    return QueryError("the SQL holds bytes that are no text", hint="write it in UTF-8")

"""Ways in which SQL may spell the path of a file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from tailrace.query.tokens import Token

_DOT = "."
_FILE = re.compile(r"file:(?://(?:localhost(?=/))?)?", re.IGNORECASE)
_ELSEWHERE = re.compile(r"[A-Za-z][\w+.-]*:")


def path_of(text: str) -> str:
    """As DuckDB reads it: `file:/a`, `file:///a` and `file://localhost/a` are `/a`."""
    found = _FILE.match(text)
    return os.path.expanduser(text[found.end() :] if found else text)


def is_elsewhere(path: str) -> bool:
    """Not below this directory: `s3://a`, and `duckdb:/a`, which tells `attach` of what kind the database `/a` is."""
    return _ELSEWHERE.match(path) is not None


def paths_in(found: Sequence[Token]) -> Iterator[str]:
    """All that may be one: texts and names in quotes, and names of several parts.

    A table that DuckDB does not know is a file to it, whose path is the whole name: `"/home/"."me/a"."parquet"` is
    `/home/.me/a.parquet`.
    """
    parts: list[str] = []
    goes_on = False
    for token in found:
        if token.text == _DOT:
            goes_on = True
            continue
        if not goes_on:
            parts.clear()
        goes_on = False
        parts.append(token.content)
        if len(parts) > 1:
            yield path_of(_DOT.join(parts))
        if token.is_quoted:
            yield path_of(token.content)

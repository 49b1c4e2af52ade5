"""Names, texts and files as SQL writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_WILD = re.compile(r"[\[*?]")


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def file_literal(path: str) -> str:
    """A path as an SQL literal that stands for this file alone.

    DuckDB takes `[`, `*` and `?` for wildcards, and where they fit others it does not even look for the file itself.
    """
    return literal(_WILD.sub(r"[\g<0>]", path))


def scan(paths: Iterable[str], types: Mapping[str, str]) -> str:
    """The files with these columns by name, null where a file lacks one; none is opened to find that out."""
    entries = ", ".join(
        f"{literal(name)}: {{'name': {literal(name)}, 'type': {literal(kind)}, 'default_value': NULL}}"
        for name, kind in types.items()
    )
    return f"read_parquet([{', '.join(map(file_literal, paths))}], schema = MAP {{{entries}}})"

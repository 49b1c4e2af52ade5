"""Names, texts and files as SQL writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def scan(paths: Iterable[str], types: Mapping[str, str]) -> str:
    """The files with these columns by name, null where a file lacks one; none is opened to find that out."""
    entries = ", ".join(
        f"{literal(name)}: {{'name': {literal(name)}, 'type': {literal(kind)}, 'default_value': NULL}}"
        for name, kind in types.items()
    )
    return f"read_parquet([{', '.join(map(literal, paths))}], schema = MAP {{{entries}}})"

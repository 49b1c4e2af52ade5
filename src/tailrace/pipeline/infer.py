"""Columns that a custom table does not spell out: taken from the lake, else learned from the first records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import islice

import msgspec
import pyarrow as pa

from tailrace.core import Artifact, Column, Delimited, Format, Table, TailraceError
from tailrace.core.columns import is_column_name
from tailrace.formats import decoder, field_types
from tailrace.formats.base import CorruptStream
from tailrace.formats.stream import open_streams
from tailrace.sources import Source

SAMPLE_ARTIFACTS = 5
SAMPLE_ROWS = 2_000
_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?")
_TEXTS = {
    "bigint": re.compile(r"-?(0|[1-9]\d{0,17})"),
    "double": re.compile(r"-?\d+\.\d+([eE][+-]?\d+)?"),
    "boolean": re.compile(r"true|false", re.IGNORECASE),
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
}
"What the texts of delimited files look like when they are more than that; `007` is a text."
Sampled = tuple[Source, Artifact, Format]


def with_inferred(table: Table, stored: pa.Schema | None, samples: Iterable[Sampled]) -> Table:
    """The table with a column for every field that `map_fields` lets in. What the lake has already keeps its type."""
    if not table.map_fields:
        return table
    taken = {c.name.lower() for c in table.columns}
    sources = {c.src or c.name for c in table.columns}
    added: list[Column] = []
    for column in (*_stored(stored), *_learned(table, samples)):
        name = column.name.lower()
        mapped = any(fnmatchcase(column.name, glob) for glob in table.map_fields)
        # Other fields stay in tp_extra; so does one that differs from a column in case only.
        mapped = mapped and is_column_name(column.name)
        if mapped and name not in taken and column.name not in sources and not name.startswith("tp_"):
            taken.add(name)
            added.append(column)
    return replace(table, columns=(*table.columns, *added))


def _stored(schema: pa.Schema | None) -> Iterator[Column]:
    for field in schema or ():
        declared = (field.metadata or {}).get(b"tailrace.type")
        if declared:
            yield Column(field.name, declared.decode())


def _learned(table: Table, samples: Iterable[Sampled]) -> list[Column]:
    """Read the first records with the columns that are fields: every other field then shows up in `extra`.

    What the columns are called tells a header line from values.
    """
    bare = replace(table, columns=tuple(c for c in table.columns if c.sql is None), keep=("*",))
    kinds: dict[str, set[str]] = {}
    types: dict[str, str | None] = {}
    for source, artifact, fmt in islice(samples, SAMPLE_ARTIFACTS):
        kind = _text_kind(fmt) if isinstance(fmt, Delimited) and not fmt.all_varchar else _kind
        for named, texts in _extras(bare, source, artifact, fmt):
            # A field that is named and never filled is a column all the same: a query may ask for it.
            for name in named:
                kinds.setdefault(name, set())
            types |= named
            for name, value in (pair for text in texts for pair in _fields(text).items()):
                if name not in ("tp_misfit", "tp_before", "tp_rest"):
                    kinds.setdefault(name, set()).add(kind(value))
    learned = {name: seen - {"null"} for name, seen in kinds.items()}
    return [Column(name, _type(seen) if seen else types.get(name) or "varchar") for name, seen in learned.items()]


def _fields(text: str) -> dict[str, object]:
    try:
        fields: dict[str, object] = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}  # such as 1e400: the record itself is judged by the task that reads it
    return fields


def _extras(
    bare: Table, source: Source, artifact: Artifact, fmt: Format
) -> Iterator[tuple[dict[str, str | None], Iterable[str]]]:
    """Per batch the fields that its header or format names, with types if it tells them, and what has no column."""
    try:
        with source.open(artifact) as raw:
            for _, stream in open_streams(raw, artifact.location):
                rows = 0
                for batch in decoder(bare, fmt).decode(stream):
                    told = (field_types(fmt) if batch.rows else None) or {}
                    named = {name: told.get(name) for name in batch.fields or told}
                    extra = batch.extra.drop_null().to_pylist() if batch.extra is not None else []
                    yield named, extra[: SAMPLE_ROWS - rows]
                    rows += batch.rows
                    if rows >= SAMPLE_ROWS:
                        return
    except (CorruptStream, TailraceError):
        return  # the task that reads it reports what is wrong with it


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "bigint" if -(2**63) <= value < 2**63 else "double"
    if isinstance(value, float):
        return "double"
    if isinstance(value, str):
        return "timestamp" if _ISO.fullmatch(value) else "varchar"
    return "json"


def _text_kind(fmt: Delimited) -> Callable[[object], str]:
    """Delimited files hold nothing but texts: what one looks like is what it is."""

    def kind(value: object) -> str:
        text = value.replace(fmt.decimal_separator, ".") if isinstance(value, str) else ""
        found = (name for name, pattern in _TEXTS.items() if pattern.fullmatch(text))
        return next(found, None) or _kind(value)

    return kind


def _type(seen: set[str]) -> str:
    if len(seen) == 1:
        return next(iter(seen))
    if seen and seen <= {"bigint", "double"}:
        return "double"
    return "json" if "json" in seen else "varchar"

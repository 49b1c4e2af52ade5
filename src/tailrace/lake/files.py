"""Data files as a commit sees them, and their statistics. For Spark tasks too: no deltalake here."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt

from tailrace.lake.paths import PARTITION_COLUMNS
from tailrace.version import __version__

STATS_TEXT = 32
"Characters of a text that go into the statistics."
_LAST = chr(0x10FFFF)
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class DataFile:
    """One Parquet file that a commit adds."""

    path: str
    "Relative to the table's root, as on disk."
    size: int
    partition: str
    index: str
    day: date
    rows: int
    stats: str
    "Delta's statistics, JSON."
    fingerprint: str
    "`schema_fingerprint` of what was written."
    modified: int | None = None
    "When its last rows were stored, in milliseconds; None: now."

    @property
    def partition_values(self) -> dict[str, str]:
        return {"tp_partition": self.partition, "tp_index": self.index, "tp_date": self.day.isoformat()}


@dataclass(frozen=True, slots=True)
class Balance:
    """Rows that come and rows that go; those of files that are only written anew do neither."""

    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class TextRange:
    """Least and greatest text of a column, and its nulls, known without the file's own statistics."""

    least: str | None
    greatest: str | None
    nulls: int

    def joined(self, other: TextRange) -> TextRange:
        """Both together."""
        least = [t for t in (self.least, other.least) if t is not None]
        greatest = [t for t in (self.greatest, other.greatest) if t is not None]
        return TextRange(min(least, default=None), max(greatest, default=None), self.nulls + other.nulls)


def footer(table: str, partition: str, run: str, first: datetime | None, last: datetime | None) -> dict[str, str]:
    """What a file says of itself to whoever finds it without its log; `tailrace.run` is in the commit, too."""
    times = {"tailrace.first": first, "tailrace.last": last}
    return {
        "tailrace.version": __version__,
        "tailrace.table": table,
        "tailrace.partition": partition,
        "tailrace.run": run,
        **{name: f"{time.isoformat()}Z" for name, time in times.items() if time is not None},
    }


def stats_json(
    metadata: pq.FileMetaData,
    schema: pa.Schema,
    known: Mapping[str, TextRange] | None = None,
    written: Collection[str] | None = None,
) -> str:
    """Delta statistics of a written file from its own footer: count, nulls, least and greatest values.

    `written`: the columns that the file has, where it lacks some that are null in every row.
    """
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for number, path, kind in _leaves(schema, schema.names if written is None else written):
        if kind is None:
            continue
        if number is None:
            _put(nulls, path, metadata.num_rows)
            continue
        chunks = [g.column(number).statistics for g in groups]
        if any(c is None or not c.has_null_count for c in chunks):
            continue
        _put(nulls, path, sum(c.null_count for c in chunks))
        filled = [c for c in chunks if c.num_values]
        if not filled or not all(c.has_min_max for c in filled):
            continue
        low, high = _bounds(kind, filled)
        _put(least, path, low)
        _put(greatest, path, high)
    for name, texts in (known or {}).items():
        _put(nulls, (name,), texts.nulls)
        if texts.least is not None and texts.greatest is not None:
            _put(least, (name,), texts.least[:STATS_TEXT])
            _put(greatest, (name,), round_up(texts.greatest))
    stats = {"numRecords": metadata.num_rows, "minValues": least, "maxValues": greatest, "nullCount": nulls}
    return msgspec.json.encode(stats).decode()


def _leaves(
    schema: pa.Schema, written: Collection[str]
) -> Iterator[tuple[int | None, tuple[str, ...], pa.DataType | None]]:
    """Parquet's column number, path and type of each leaf; type None where no statistics are wanted."""
    numbers = count()
    for field in schema:
        for path, kind in _leaves_of(field):
            number = next(numbers) if field.name in written else None
            yield number, path, None if field.name in PARTITION_COLUMNS else kind


def _leaves_of(field: pa.Field) -> Iterator[tuple[tuple[str, ...], pa.DataType | None]]:
    kind = field.type
    if pt.is_struct(kind):
        for child in kind.fields:
            for path, leaf in _leaves_of(child):
                yield (field.name, *path), leaf
    elif pt.is_list(kind) or pt.is_large_list(kind):
        for path, _ in _leaves_of(kind.value_field):
            yield (field.name, *path), None
    elif (field.metadata or {}).get(b"tailrace.type") == b"json":
        yield (field.name,), None
    else:
        yield (field.name,), kind.value_type if pt.is_dictionary(kind) else kind


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    if value is None:
        return
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def _bounds(kind: pa.DataType, chunks: list[pq.Statistics]) -> tuple[Any, Any]:
    """Least and greatest value in Delta's spelling; None where it would not hold for every reader."""
    if pt.is_string(kind) or pt.is_large_string(kind):
        return min(c.min for c in chunks)[:STATS_TEXT], round_up(max(c.max for c in chunks))
    if pt.is_timestamp(kind) or pt.is_date(kind):
        return _moment(kind, min(c.min_raw for c in chunks)), _moment(kind, max(c.max_raw for c in chunks))
    if pt.is_floating(kind):
        # Parquet's bounds leave NaN out, but engines sort NaN above all numbers: a maximum would hide it.
        low = min(c.min for c in chunks)
        return low if math.isfinite(low) else None, None
    if pt.is_decimal(kind):
        return _exact(min(c.min for c in chunks)), _exact(max(c.max for c in chunks))
    if pt.is_integer(kind):
        return min(c.min for c in chunks), max(c.max for c in chunks)
    return None, None


def _moment(kind: pa.DataType, raw: int) -> str | None:
    try:
        if pt.is_date(kind):
            return (_EPOCH + timedelta(days=raw)).date().isoformat()
        return (_EPOCH + timedelta(microseconds=raw)).isoformat(timespec="microseconds")
    except OverflowError:
        return None


def _exact(value: Decimal) -> msgspec.Raw:
    return msgspec.Raw(format(value, "f").encode())


def round_up(text: str) -> str | None:
    """The least text of at most 32 characters that is not below `text`; None when there is none."""
    if len(text) <= STATS_TEXT:
        return text
    head = text[:STATS_TEXT].rstrip(_LAST)
    if not head:
        return None
    following = ord(head[-1]) + 1
    return head[:-1] + chr(0xE000 if following == 0xD800 else following)

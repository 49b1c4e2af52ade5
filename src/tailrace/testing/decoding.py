"""What comes out of an engine, checked against what every engine promises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tailrace.core import Column
from tailrace.core.arrow import arrow_type
from tailrace.formats.base import RAW_LIMIT, Batch, Decoder

Row = tuple[Any, ...]
BadRow = tuple[int, bytes, int, str]


@dataclass(frozen=True, slots=True)
class Chunks:
    """A stream that arrives in these pieces."""

    chunks: Sequence[bytes]
    truncated: bool = False

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.chunks)


def pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """The data, cut at these places."""
    places = [0, *sorted(cuts), len(data)]
    return [data[start:end] for start, end in pairwise(places)]


def decoded(
    engine: Decoder, columns: Sequence[Column], chunks: Sequence[bytes], truncated: bool = False
) -> list[Batch]:
    """All batches; each is checked as it comes, for its bytes may be gone afterwards."""
    batches = []
    for batch in engine.decode(Chunks(chunks, truncated)):
        check(batch, columns)
        batches.append(batch)
    places = [p for b in batches for p in (*b.positions.tolist(), *(bad.position for bad in b.bad))]
    assert len(places) == len(set(places)), "two records at one place"
    return batches


def check(batch: Batch, columns: Sequence[Column]) -> None:
    """What holds for every batch of every engine."""
    positions = batch.positions.tolist()
    assert positions == sorted(set(positions)), "positions must increase"
    for column in columns:
        array = batch.columns.get(column.name)
        if array is not None and column.sql is None:
            assert len(array) == batch.rows
            stored = arrow_type(column.type)
            assert array.type == stored or getattr(array.type, "value_type", None) == stored
            array.validate(full=True)
    flagged = 0
    if batch.extra is not None:
        assert len(batch.extra) == batch.rows
        flagged = sum('"tp_misfit"' in (text or "") for text in batch.extra.to_pylist())
    assert batch.flagged == flagged, "rows with tp_misfit are counted"
    for bad in batch.bad:
        assert len(bad.raw) <= min(RAW_LIMIT, bad.length)
        assert ":" in bad.reason, "a stable word, a colon, the detail"
    for row in range(batch.rows):
        assert isinstance(batch.raw(row), bytes)


def rows_of(batches: Iterable[Batch], columns: Sequence[Column]) -> list[Row]:
    """Per row: its place, its values, its extra; in the order of their places."""
    rows: list[Row] = []
    for batch in batches:
        values = [batch.columns[c.name].to_pylist() for c in columns if c.name in batch.columns]
        extra = batch.extra.to_pylist() if batch.extra is not None else [None] * batch.rows
        rows += list(zip(batch.positions.tolist(), *values, extra, strict=True))
    return sorted(rows, key=lambda row: int(row[0]))


def bad_of(batches: Iterable[Batch]) -> list[BadRow]:
    """What was refused, in the order of its places."""
    return sorted((b.position, b.raw, b.length, b.reason) for batch in batches for b in batch.bad)


def total(batches: Iterable[Batch]) -> int:
    """Records in: each is a row, refused, or skipped."""
    return sum(batch.rows + len(batch.bad) + batch.skipped for batch in batches)

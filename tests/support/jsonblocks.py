"""Batches of a small table, from JSON in blocks of any size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tailrace.core import Common, Json, Jsonl, Table, col, struct
from tailrace.formats.base import Batch
from tailrace.formats.json_decode import json_decoder

TABLE = Table(
    "t",
    "",
    Json(),
    (
        col("name"),
        col("n", "integer"),
        col("more", "json"),
        col("who", struct(col("id"), col("list", "varchar[]"))),
    ),
    Common(time=()),
)


class Blocks:
    truncated = False

    def __init__(self, *blocks: bytes) -> None:
        self._blocks = blocks

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._blocks)


def decode(data: bytes, fmt: Json | Jsonl | None = None, *blocks: bytes) -> list[Batch]:
    batches = []
    for batch in json_decoder(TABLE, fmt or Json(records="Records")).decode(Blocks(*(blocks or (data,)))):
        for array in batch.columns.values():
            array.validate(full=True)
            assert len(array) == batch.rows
        [batch.raw(row) for row in range(batch.rows)]
        batches.append(batch)
    return batches


def names(batches: list[Batch]) -> list[Any]:
    return [name for batch in batches for name in batch.columns["name"].to_pylist()]


def told(batches: list[Batch]) -> list[Any]:
    """Everything about a result that a person could see."""
    out: list[Any] = []
    for b in batches:
        extra = b.extra.to_pylist() if b.extra is not None else [None] * b.rows
        columns = zip(*(a.to_pylist() for a in b.columns.values()), strict=True)
        out += zip(b.positions.tolist(), columns, extra, (b.raw(row) for row in range(b.rows)), strict=True)
        out += [(bad.position, bad.reason, bad.length, bad.raw) for bad in b.bad]
    return sorted(out, key=lambda entry: entry[0])

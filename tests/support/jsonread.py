"""Small tables and their batches, from JSON in one piece."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tailrace.core import Column, Common, Json, Jsonl, Table
from tailrace.core.arrow import arrow_type
from tailrace.formats.base import Batch
from tailrace.formats.json_decode import json_decoder


class Bytes:
    truncated = False

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __iter__(self) -> Iterator[bytes]:
        yield self._data


def table(*columns: Column, **more: Any) -> Table:
    return Table("t", "", Json(), columns, Common(time=()), **more)


def decode(table: Table, text: str, fmt: Json | Jsonl | None = None) -> Batch:
    (batch,) = json_decoder(table, fmt or Json()).decode(Bytes(text.encode()))
    for column in table.columns:
        if column.sql is None:
            assert batch.columns[column.name].type == arrow_type(column.type)
            batch.columns[column.name].validate(full=True)
    return batch


def extra(batch: Batch, row: int = 0) -> Any:
    text = None if batch.extra is None else batch.extra[row].as_py()
    return None if text is None else json.loads(text)

"""Rows that a layout reads from text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tailrace.core import Column, Common, Layout, Table
from tailrace.formats.base import Bad
from tailrace.formats.layout import layout_decoder
from tailrace.tables.nginx_access_log import COMBINED as NGINX_COMBINED
from tailrace.tables.nginx_access_log import TABLE as NGINX_TABLE

Row = dict[str, Any]
NGINX = replace(NGINX_TABLE, format=NGINX_COMBINED)


@dataclass
class Chunks:
    chunks: Sequence[bytes]
    truncated: bool = False

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.chunks)


@dataclass
class Result:
    rows: list[Row]
    bad: list[Bad]
    skipped: int


def read(table: Table, data: bytes | list[bytes], **changes: Any) -> Result:
    """All rows by position, nulls left out, `extra` parsed; checks that every record is accounted for."""
    chunks = [data] if isinstance(data, bytes) else data
    fmt = replace(table.format, **changes) if changes else table.format
    assert isinstance(fmt, Layout)
    rows: list[Row] = []
    bad: list[Bad] = []
    skipped = 0
    whole = b"".join(chunks)
    for batch in layout_decoder(table, fmt).decode(Chunks(chunks)):
        columns = {name: array.to_pylist() for name, array in batch.columns.items()}
        assert all(len(values) == batch.rows for values in columns.values())
        for i in range(batch.rows):
            row = {name: values[i] for name, values in columns.items() if values[i] is not None}
            extra = batch.extra[i].as_py() if batch.extra is not None else None
            if extra is not None:
                row["extra"] = json.loads(extra)
            row["at"] = int(batch.positions[i])
            assert whole[row["at"] :].startswith(batch.raw(i))
            rows.append(row)
        bad += batch.bad
        skipped += batch.skipped
        extras = [] if batch.extra is None else batch.extra.to_pylist()
        assert batch.flagged == sum('"tp_misfit"' in extra for extra in extras if extra)
    assert len(rows) + len(bad) + skipped == len(whole.split(b"\n")) - (whole.endswith(b"\n") or not whole)
    return Result(sorted(rows, key=lambda r: int(r["at"])), sorted(bad, key=lambda b: b.position), skipped)


def table(text: str, *columns: Column, null: str | None = "-", **fmt: Any) -> Table:
    return Table("t", "", Layout(text, **fmt), columns, Common(time=("a",)), null=null)

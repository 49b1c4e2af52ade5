"""Well-formed input for every table: the good records of its golden test, as often as it takes."""

from __future__ import annotations

import io
from itertools import cycle, islice
from pathlib import Path

from tailrace.core import Json, Jsonl, Otlp, Table
from tailrace.core.registry import find_table, table_names
from tailrace.formats import decoder
from tailrace.formats.base import Batch
from tailrace.formats.stream import open_streams

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"
DOCUMENT = 500
"Records of one JSON document."


def tables() -> list[Table]:
    """All that have a golden input."""
    found = (find_table(name) for name in table_names() if list((GOLDEN / name).glob("in.*")))
    return [table for table in found if table is not None]


def decoded(table: Table, data: bytes) -> list[Batch]:
    return [
        batch
        for _, stream in open_streams(io.BytesIO(data), "")
        for batch in decoder(table, table.format).decode(stream)
    ]


def scaled(table: Table, size: int) -> bytes:
    """About so many bytes, all of them good."""
    (path,) = (GOLDEN / table.name).glob("in.*")
    data = path.read_bytes()
    if isinstance(table.format, Otlp):
        return _joined(b"", [line for line in data.splitlines() if _is_good(decoded(table, line))], size)
    head, records = _good(table, data)
    if isinstance(table.format, Json) and table.format.records:
        name = table.format.records.rpartition(".")[2].encode()
        document = b'{"%s":[%s]}\n' % (name, b",".join(islice(cycle(records), DOCUMENT)))
        return document * max(1, size // len(document))
    if isinstance(table.format, Json | Jsonl):
        return _joined(b"", records, size)
    # A header in the middle of the input does not stand before the records any more.
    return _joined(head, [r for r in records if _is_good(decoded(table, head + r + b"\n"))], size)


def records(table: Table) -> list[bytes]:
    """The good records themselves."""
    (path,) = (GOLDEN / table.name).glob("in.*")
    return _good(table, path.read_bytes())[1]


def _is_good(batches: list[Batch]) -> bool:
    return all(not batch.bad and not batch.flagged for batch in batches) and any(batch.rows for batch in batches)


def _good(table: Table, data: bytes) -> tuple[bytes, list[bytes]]:
    """What stands before the first record, and the records that fit."""
    records: list[bytes] = []
    first = len(data)
    for _, stream in open_streams(io.BytesIO(data), ""):
        for batch in decoder(table, table.format).decode(stream):
            extras = batch.extra.to_pylist() if batch.extra is not None else [None] * batch.rows
            kept = [number for number, extra in enumerate(extras) if "tp_misfit" not in (extra or "")]
            records += [batch.raw(number).rstrip(b"\r\n") for number in kept]
            first = min([first, *batch.positions.tolist(), *(bad.position for bad in batch.bad)])
    return data[:first], records


def _joined(head: bytes, records: list[bytes], size: int) -> bytes:
    text = b"".join(record + b"\n" for record in records)
    return head + text * max(1, size // len(text))

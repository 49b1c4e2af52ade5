"""Closed segments → runs, quarantine and a manifest, for one sink."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.lake.steps import reached
from tailrace.streams import segments
from tailrace.streams.decode import Decoded, Refused, decode
from tailrace.streams.kinds import KINDS
from tailrace.streams.manifests import QUARANTINE, Manifest, Run, write_manifest, write_run
from tailrace.streams.records import Record
from tailrace.streams.segments import sync_directory
from tailrace.streams.shape import shape
from tailrace.streams.sink_options import SinkOptions

BITE = 64 << 20
"Bytes of segments that are taken together."
_REFUSED = pa.schema([
    ("received_at", pa.int64()), ("workspace_id", pa.uint64()), ("source_ip", pa.binary()), ("listener", pa.string()),
    ("kind", pa.string()), ("position", pa.int64()), ("reason", pa.string()), ("row", pa.string()),
    ("raw", pa.binary()),
])  # fmt: skip
_KIND_NAMES = {1: "flatbuffers", 2: "events", 3: "logs", 4: "snapshots", 5: "syslog", 6: "otlp", 7: "otlp", 8: "syslog"}
Row = dict[str, Any]


def take(spool: Path, numbers: Sequence[int], options: SinkOptions) -> Manifest:
    """Decodes the segments and commits what came of them."""
    return commit(options, numbers[0], numbers[-1], _records(spool, numbers, options))


def commit(options: SinkOptions, first: int, last: int, given: Iterable[Record]) -> Manifest:
    """The same for records that are at hand."""
    arrived = list(given)
    decoded = decode(arrived)
    runs, rows, counts = _runs(options, first, decoded)
    counts["batches_received"] = len(arrived)
    counts["decode_errors"] = len(decoded.refused)
    rows += [_refused_record(refused) for refused in decoded.refused]
    counts["rows_quarantined"] = len(rows)
    if rows:
        _quarantine(options.state / QUARANTINE, last, rows)
    manifest = Manifest(first, last, tuple(runs), counts)
    write_manifest(options.state, manifest)
    return manifest


def bites(spool: Path, numbers: Sequence[int], most: int = BITE) -> Iterable[list[int]]:
    """Segments in parts of bounded size."""
    part: list[int] = []
    size = 0
    for number in numbers:
        part.append(number)
        size += segments.path_of(spool, number, segments.CLOSED).stat().st_size
        if size >= most:
            yield part
            part, size = [], 0
    if part:
        yield part


def _records(spool: Path, numbers: Sequence[int], options: SinkOptions) -> Iterable[Record]:
    for number in numbers:
        for record in segments.read(segments.path_of(spool, number, segments.CLOSED)):
            if options.listeners is None or record.listener in options.listeners:
                yield record


def _runs(options: SinkOptions, first: int, decoded: Decoded) -> tuple[list[Run], list[Row], dict[str, int]]:
    runs: list[Run] = []
    rows: list[Row] = []
    counts = {"rows_received": 0, "late_rows": 0}
    for kind in KINDS:
        table = decoded.table(kind)
        if not table.num_rows:
            continue
        shaped = shape(kind, table, options)
        counts["rows_received"] += table.num_rows
        counts["late_rows"] += shaped.late
        rows += [_refused_row(kind, row) for row in shaped.refused.to_pylist()]
        if shaped.table.num_rows:
            runs.append(write_run(options.state, kind, shaped.table, first))
    return runs, rows, counts


def _refused_record(refused: Refused) -> Row:
    record = refused.record
    return {
        "received_at": record.received_at, "workspace_id": record.workspace, "source_ip": record.source_ip,
        "listener": record.listener, "kind": _KIND_NAMES.get(record.kind, str(record.kind)),
        "position": refused.position, "reason": refused.reason, "raw": refused.raw,
    }  # fmt: skip


def _refused_row(kind: str, row: Row) -> Row:
    told = {name: row.pop(name) for name in ("reason", "workspace_id", "source_ip", "payload")}
    row.pop("document")
    fields = {name: value.hex() if isinstance(value, bytes) else value for name, value in row.items()}
    return {
        "received_at": row["batch_timestamp"], "workspace_id": told["workspace_id"], "source_ip": told["source_ip"],
        "kind": kind, "reason": told["reason"], "row": msgspec.json.encode(fields).decode(), "raw": told["payload"],
    }  # fmt: skip


def _quarantine(directory: Path, last: int, rows: list[Row]) -> None:
    """On disk before the manifest; what a process that died left is removed by number."""
    path = directory / f"{last:016d}-{uuid.uuid4().hex}.parquet"
    temporary = path.with_suffix(".new")
    pq.write_table(pa.Table.from_pylist(rows, _REFUSED), temporary, compression="zstd")
    with open(temporary, "rb") as file:
        os.fsync(file.fileno())
    os.rename(temporary, path)
    sync_directory(directory)
    reached("quarantine-written")

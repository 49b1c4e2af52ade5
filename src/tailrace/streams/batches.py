"""Closed segments → runs, quarantine and a manifest, for one sink."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.lake.steps import reached
from tailrace.streams import segments
from tailrace.streams.decode import Decoded, Refused, decode
from tailrace.streams.kinds import KINDS, decoded_schema
from tailrace.streams.manifests import RUNS, Manifest, Run, write_manifest, write_run
from tailrace.streams.records import FRAMES, Record
from tailrace.streams.shape import shape
from tailrace.streams.sink_options import SinkOptions
from tailrace.streams.transforms import Transform, transform

BITE = 64 << 20
"Bytes of segments that are taken together."
_REFUSED = pa.schema([
    ("received_at", pa.int64()), ("workspace_id", pa.uint64()), ("source_ip", pa.binary()), ("listener", pa.string()),
    ("kind", pa.string()), ("position", pa.int64()), ("reason", pa.string()), ("row", pa.string()),
    ("raw", pa.binary()), ("record", pa.int64()),
])  # fmt: skip
_KIND_NAMES = {1: "flatbuffers", 2: "events", 3: "logs", 4: "snapshots", 5: "syslog", 6: "otlp", 7: "otlp", 8: "syslog",
               9: "snapshots"}  # fmt: skip
Row = dict[str, Any]
Chain = tuple[Transform, ...]


class Part(msgspec.Struct, frozen=True):
    """What came of some segments: on disk, and nothing until a manifest names it."""

    runs: tuple[Run, ...]
    refused: tuple[str, ...]
    counts: dict[str, int]


def prepare(options: SinkOptions, first: int, given: Iterable[Record]) -> Part:
    """Decodes records into runs; this is what tasks do."""
    arrived = list(given)
    runs, rows, counts = runs_of(options, first, _decoded(options, arrived))
    counts |= {"batches_received": len(arrived), "rows_quarantined": len(rows)}
    refused = (quarantine(options.state / RUNS, first, rows),) if rows else ()
    return Part(tuple(runs), refused, counts)


def prepare_segments(spool: Path, numbers: Sequence[int], options: SinkOptions) -> Part:
    """The same for closed segments."""
    return prepare(options, numbers[0], _records(spool, numbers, options))


def conclude(
    options: SinkOptions, first: int, last: int, parts: Sequence[Part], replayed: tuple[str, ...] = ()
) -> Manifest:
    """Commits what tasks have prepared; `replayed` files of the quarantine are in it."""
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part.counts)
    runs = tuple(run for part in parts for run in part.runs)
    refused = tuple(name for part in parts for name in part.refused)
    manifest = Manifest(first, last, runs, dict(counts), refused, replayed)
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


def _decoded(options: SinkOptions, arrived: Sequence[Record]) -> list[tuple[Chain, Decoded]]:
    """Records that the same happens to are decoded together."""
    chains: dict[Chain, list[Record]] = {}
    for record in arrived:
        chains.setdefault(options.chain(record.listener), []).append(record)
    return [(chain, decode(together)) for chain, together in chains.items()]


def runs_of(
    options: SinkOptions, first: int, given: Sequence[tuple[Chain, Decoded]]
) -> tuple[list[Run], list[Row], dict[str, int]]:
    runs: list[Run] = []
    rows = [refused_row(refused) for _, decoded in given for refused in decoded.refused]
    counts = {"rows_received": 0, "rows_filtered": 0, "late_rows": 0, "decode_errors": len(rows)}
    for kind in KINDS:
        tables = []
        for chain, decoded in given:
            table = decoded.table(kind)
            counts["rows_received"] += table.num_rows
            changed = transform(chain, kind, table, options.state)
            counts["rows_filtered"] += changed.dropped
            rows += [_refused_row(kind, row) for failed in changed.failed for row in failed.to_pylist()]
            tables.append(changed.rows)
        whole = pa.concat_tables(tables) if tables else decoded_schema(kind).empty_table()
        if not whole.num_rows:
            continue
        shaped = shape(kind, whole, options)
        counts["late_rows"] += shaped.late
        rows += [_refused_row(kind, row) for row in shaped.refused.to_pylist()]
        if shaped.table.num_rows:
            runs.append(write_run(options.state, kind, shaped.table, first))
    return runs, rows, counts


def refused_row(refused: Refused) -> Row:
    record = refused.record
    return {
        "received_at": record.received_at, "workspace_id": record.workspace, "source_ip": record.source_ip,
        "listener": record.listener, "kind": _KIND_NAMES.get(record.kind, str(record.kind)),
        "position": refused.position, "reason": refused.reason, "raw": refused.raw, "record": record.kind,
    }  # fmt: skip


def _refused_row(kind: str, row: Row) -> Row:
    told = {name: row.pop(name) for name in ("reason", "workspace_id", "source_ip", "payload")}
    if row["document"] in (None, told["payload"]):
        row.pop("document")
    fields = {name: value.hex() if isinstance(value, bytes) else value for name, value in row.items()}
    return {
        "received_at": row["batch_timestamp"], "workspace_id": told["workspace_id"], "source_ip": told["source_ip"],
        "kind": kind, "reason": told["reason"], "row": msgspec.json.encode(fields).decode(), "raw": told["payload"],
    }  # fmt: skip


def quarantine(directory: Path, first: int, rows: list[Row]) -> str:
    """What may not be stored, under a name of its own."""
    name = f"{first:016d}-{uuid.uuid4().hex}.parquet"
    write_refused(directory / name, rows)
    reached("quarantine-written")
    return name


def write_refused(path: Path, rows: list[Row]) -> None:
    """A message with several records that are no good is written once, with the first of them."""
    told: list[Row] = []
    before = None
    for row in rows:
        told.append(row | {"raw": None} if row["raw"] is before and _is_part(row) else row)
        before = row["raw"]
    pq.write_table(pa.Table.from_pylist(told, _REFUSED), path, compression="zstd")
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def read_refused(path: Path) -> list[Row]:
    """Each with its message again."""
    rows: list[Row] = pq.ParquetFile(path).read().to_pylist()
    before = None
    for row in rows:
        if row["raw"] is None and _is_part(row):
            row["raw"] = before
        before = row["raw"]
    return rows


def _is_part(row: Row) -> bool:
    """Is it one record of a message?"""
    return row.get("record") == FRAMES and bool(row["position"] >= 0)

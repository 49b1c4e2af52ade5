"""The quarantine of a sink, once more: what can be decoded by now, or may be stored by now, goes into the files.

One manifest says what was taken and from where, so that nothing is stored twice whenever this ends.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.lake.lock import local_lock
from tailrace.streams import records, segments
from tailrace.streams.batches import Chain, Part, Row, conclude, quarantine, read_refused, runs_of
from tailrace.streams.decode import MESSAGE, WHOLE, Decoded, decode
from tailrace.streams.driver import SinkDriver
from tailrace.streams.kinds import KINDS, decoded_schema
from tailrace.streams.manifests import QUARANTINE, RUNS, Manifest, bind
from tailrace.streams.records import Record, framed
from tailrace.streams.sink_options import SinkOptions


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of a quarantine."""

    stored: int
    left: int
    "Entries that are still there."


@dataclass(slots=True)
class _Again:
    """What can be decoded of the quarantine, and of those files what still cannot."""

    files: list[str] = field(default_factory=list)
    given: list[tuple[Chain, Decoded]] = field(default_factory=list)
    bad: list[Row] = field(default_factory=list)


@dataclass(slots=True)
class _Message:
    """What several entries are records of: it is decoded once."""

    raw: bytes | None = None
    _found: Decoded | None = None
    _wrong: list[int] = field(default_factory=list)
    "Places of records that are no good, in order."

    def one(self, record: Record, place: int) -> Decoded | None:
        """The record at one place: those before it that are no good are not among the rows."""
        if self._found is None:
            self._found = decode([record])
            self._wrong = sorted(refused.position for refused in self._found.refused)
        before = bisect_left(self._wrong, place)
        if place in self._wrong[before : before + 1] or min(self._wrong, default=0) < 0:
            return None
        at = place - before
        return Decoded({kind: [batch.slice(at, 1) for batch in all_] for kind, all_ in self._found.tables.items()})


def replay(options: SinkOptions, spool: Path) -> Replayed:
    """All of it. Neither the sink nor the spool may be in use."""
    with (
        local_lock(spool.with_name(f"{spool.name}.lock"), f"spool {spool}", "tailrace serve"),
        local_lock(options.state / "lock", f"sink {options.name} ({options.path})", "tailrace serve"),
    ):
        # A number of its own, behind everything that was accepted before.
        number = segments.recover(spool) + 1
        segments.reserve(spool, number)
        driver = SinkDriver(options)
        bind(options.state, spool, driver.last, options.name)
        driver.take(spool, segments.numbers(spool, segments.CLOSED), everything=True)
        driver.publish_if_due(everything=True)
        again = _decoded_again(options, {name for manifest in driver.publisher.open for name in manifest.replayed})
        stored = 0
        if again.files:
            manifest = _committed(options, number, again)
            stored = manifest.counts["rows_replayed"]
            driver.publisher.add(manifest)
            driver.publish_if_due(everything=True)
        return Replayed(stored, sum(pq.read_metadata(path).num_rows for path in _files(options)))


def _files(options: SinkOptions) -> list[Path]:
    return sorted((options.state / QUARANTINE).iterdir())


def _committed(options: SinkOptions, number: int, again: _Again) -> Manifest:
    runs, refused, told = runs_of(options, number, again.given)
    rows = [*refused, *again.bad]
    stored = told["rows_received"] - told["rows_filtered"] - len(refused)
    counts = {"rows_replayed": stored, "late_rows": told["late_rows"]}
    names = (quarantine(options.state / RUNS, number, rows),) if rows else ()
    return conclude(options, number, number, [Part(tuple(runs), names, counts)], tuple(again.files))


def _decoded_again(options: SinkOptions, done: Collection[str]) -> _Again:
    """`done` files wait for a target that cannot be written: what is in them is on its way already."""
    again = _Again()
    for path in _files(options):
        if path.name in done:
            continue
        good: list[tuple[Chain, Decoded]] = []
        bad: list[Row] = []
        message = _Message()
        for entry in read_refused(path):
            if entry["raw"] is not message.raw:
                message = _Message(entry["raw"])
            found = _entry(entry, message)
            if found is None:
                bad.append(entry)
            else:
                # Rows were transformed before their times were looked at; records were not.
                good.append((() if entry["row"] is not None else options.chain(str(entry["listener"])), found))
        if good:
            again.files.append(path.name)
            again.given += good
            again.bad += bad
    return again


def _entry(entry: Row, message: _Message) -> Decoded | None:
    """Its rows; None = there are none, or nobody can tell what they would be."""
    if entry["row"] is not None:
        return None if entry["reason"].startswith("transform: ") else _row(entry)
    record = _record(entry)
    if record is None:
        return None
    place = int(entry["position"])
    if place >= 0 and record.kind == records.FRAMES:
        return message.one(record, place)
    found = decode([record])
    return None if found.refused or not any(found.tables.values()) else found


def _record(entry: Row) -> Record | None:
    """What was received, as far as it was kept."""
    kind, raw = entry.get("record"), bytes(entry["raw"])
    if kind is None:  # of a version that did not say what it was
        return None
    if kind == records.OVERSIZE:
        kind, raw = records.SYSLOG, entry["source_ip"] + framed([raw])
    elif kind == records.FRAMES and entry["position"] != WHOLE:
        raw = framed([raw])
    elif kind in (records.OTLP_JSON, records.OTLP_PROTO) and entry["position"] not in (MESSAGE, WHOLE):
        return None  # a part of a request, without what it belongs to
    workspace = int(entry["workspace_id"])
    return Record(kind, workspace, int(entry["received_at"]), entry["source_ip"], str(entry["listener"]), raw)


def _row(entry: Row) -> Decoded:
    kind = str(entry["kind"])
    wanted = decoded_schema(kind)
    fields: dict[str, Any] = msgspec.json.decode(entry["row"])
    for column in wanted:
        if pa.types.is_binary(column.type) and fields.get(column.name) is not None:
            fields[column.name] = bytes.fromhex(fields[column.name])
    row = fields | {"workspace_id": entry["workspace_id"], "source_ip": entry["source_ip"], "payload": entry["raw"]}
    tables: dict[str, list[pa.RecordBatch]] = {name: [] for name in KINDS}
    tables[kind].append(pa.RecordBatch.from_pylist([{name: row.get(name) for name in wanted.names}], wanted))
    return Decoded(tables)

"""What listeners, spool and sinks have counted, as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tailrace.streams.intake import Intake
from tailrace.streams.status import Told, status_of

SINK_COUNTS = {
    "batches_received": "Records of listeners that were decoded.",
    "event_rows_written": "Event rows in files.",
    "log_rows_written": "Log rows in files.",
    "snapshot_rows_written": "Snapshot rows in files.",
    "bytes_written": "Bytes of files on disk.",
    "files_created": "Files that were not there before.",
    "write_errors": "Attempts to write a file that failed.",
    "decode_errors": "Records and messages that could not be decoded.",
    "rows_received": "Rows that were decoded.",
    "rows_filtered": "Rows that a transform took away, as it was told to.",
    "rows_quarantined": "Rows and records that may not be stored.",
    "rows_replayed": "Rows that were stored from the quarantine.",
    "rows_written": "Rows in a table of the lake.",
    "duplicate_rows": "Rows that a table of the lake had already, by its `dedupe`.",
    "late_rows": "Rows whose period was over when they arrived.",
}


def page(intake: Intake, sinks: Iterable[Told]) -> str:
    """All of it."""
    shown = [options for options in sinks if options.metrics_enabled]
    return "\n".join((*_sinks(shown), *_listeners(intake))) + "\n"


def _sinks(sinks: Iterable[Told]) -> Iterator[str]:
    told = {options.name: status_of(options) for options in sinks}
    for name, meaning in SINK_COUNTS.items():
        values = {sink: _count(status, name) for sink, status in told.items()}
        yield from _family(f"{name}_total", "counter", meaning, "sink", values)
    waiting = {sink: int(status.get("waiting_rows", 0)) for sink, status in told.items()}
    yield from _family("waiting_rows", "gauge", "Rows that are stored and not yet in a file.", "sink", waiting)


def _count(status: Mapping[str, Any], name: str) -> int:
    return int(status.get("counts", {}).get(name, 0)) + int(status.get("written", {}).get(name, 0))


def _listeners(intake: Intake) -> Iterator[str]:
    for name in sorted({name for name, _ in intake.counts}):
        values = {listener: number for (other, listener), number in intake.counts.items() if other == name}
        yield from _family(f"listener_{name}_total", "counter", f"Of listeners: {name}.", "listener", values)
    spool = intake.spool
    yield from _family("spool_bytes", "gauge", "Bytes that wait to be stored.", "", {"": spool.held_bytes})
    yield from _family("spool_full", "gauge", "Is nothing more accepted?", "", {"": int(intake.full)})
    yield from _family("spool_errors_total", "counter", "Writes to the spool that failed.", "", {"": spool.errors})


def _family(name: str, kind: str, meaning: str, label: str, values: Mapping[str, int]) -> Iterator[str]:
    yield f"# HELP tailrace_{name} {meaning}"
    yield f"# TYPE tailrace_{name} {kind}"
    for value, number in values.items():
        labels = f'{{{label}="{value}"}}' if label and value else ""
        yield f"tailrace_{name}{labels} {number}"

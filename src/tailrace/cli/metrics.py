"""What collections amount to, as metrics: counted as days are committed, in a file, on a port, or both."""

from __future__ import annotations

import threading
import time
from datetime import UTC
from typing import TYPE_CHECKING

from tailrace.cli.metric_text import Labels, Samples, added, rendered
from tailrace.core.errors import LockedError, TailraceError
from tailrace.version import __version__

if TYPE_CHECKING:
    from tailrace.cli.collecting import Collected
    from tailrace.cli.metrics_file import MetricsFile
    from tailrace.lake.paths import Lake
    from tailrace.pipeline.report import PartitionReport

FILE_EVERY = 10.0
"Seconds between two writings of the file while a collection goes on."
_NEWEST = "newest_row_timestamp_seconds"
_BUILD: Samples = {("build_info", (("version", __version__),)): 1.0}


class Metrics:
    """Samples of this process; the file, if there is one, goes on from what it held."""

    notes: str | None = None

    def __init__(self, file: MetricsFile | None = None) -> None:
        self.file = file
        self._lock = threading.Lock()
        self._samples: Samples = {**_BUILD, ("config_valid", ()): 1.0}
        self._unsaved: Samples = dict(self._samples)
        self._counted: dict[str, tuple[PartitionReport, Samples]] = {}
        self._saved = time.monotonic()

    def text(self) -> str:
        """As of now."""
        with self._lock:
            return rendered(with_lag(self._samples, time.time()))

    def update(self, report: PartitionReport) -> None:
        """Takes in what has been committed since the last time."""
        amounts = _amounts(report)
        last, before = self._counted.get(report.name, (report, {}))
        if last is not report:
            before = {}
        self._add({key: value - before.get(key, 0.0) for key, value in amounts.items()})
        self._counted[report.name] = (report, amounts)
        if time.monotonic() - self._saved > FILE_EVERY:
            self.save()

    def count(self, more: Samples) -> None:
        """Takes in samples of something else than a collection."""
        self._add(more)
        if time.monotonic() - self._saved > FILE_EVERY:
            self.save()

    def over(self, collected: Collected, lake: Lake, *, error: bool = False, config_valid: bool = True) -> None:
        """A collection has ended."""
        moment = time.time()
        for report in collected.reports:
            self.update(report)
            self._add(_ending(report, moment))
        self._add(self._newest(collected.reports, lake))
        bad = error or any(not r.clean and not isinstance(r.error, LockedError) for r in collected.reports)
        result = "interrupted" if collected.interrupted else "failed" if bad else "ok"
        took: Samples = {("round_duration_seconds", ()): collected.seconds, ("config_valid", ()): float(config_valid)}
        self._add({("rounds_total", (("result", result),)): 1.0, **took})
        self.save()

    def save(self) -> None:
        """Writes what is new to the file; if that fails, it is tried again with the next."""
        self._saved = time.monotonic()
        if self.file is not None and self.file.add(self._unsaved):
            # Whoever writes says its version: that of the last one stays.
            self._unsaved = dict(_BUILD)

    def _add(self, more: Samples) -> None:
        with self._lock:
            self._samples = added(self._samples, more)
        self._unsaved = added(self._unsaved, more)

    def _newest(self, reports: list[PartitionReport], lake: Lake) -> Samples:
        """From the Delta log, where something was committed or nothing is known yet."""
        from tailrace.lake.extents import newest_rows
        from tailrace.lake.snapshot import snapshot, tables

        ask = {
            r.name for r in reports if r.files or ("newest_row_timestamp_seconds", _labels(r.name)) not in self._samples
        }
        found: Samples = {}
        for table in {name.partition(".")[0] for name in ask}.intersection(tables(lake)):
            try:
                newest = newest_rows(snapshot(lake, table))
            except TailraceError:  # damaged, which whoever collects into it is told
                continue
            for partition, moment in newest.items():
                if f"{table}.{partition}" in ask:
                    key = (_NEWEST, _labels(f"{table}.{partition}"))
                    found[key] = moment.replace(tzinfo=UTC).timestamp()
        return found


def with_lag(samples: Samples, moment: float) -> Samples:
    """Lag is a matter of now: it is made from the newest row whenever somebody looks."""
    newest = [(labels, value) for (name, labels), value in samples.items() if name == _NEWEST]
    return samples | {("lag_seconds", labels): moment - value for labels, value in newest}


def _labels(name: str, **more: str) -> Labels:
    table, _, partition = name.partition(".")
    return (("table", table), ("partition", partition), *more.items())


def _amounts(report: PartitionReport) -> Samples:
    """What only grows while a partition is collected."""
    counts, labels = report.counts, _labels(report.name)
    amounts = {
        "rows_received_total": counts.received,
        "rows_stored_total": counts.stored,
        "rows_replaced_total": report.replaced,
        "rows_filtered_total": counts.filtered,
        "rows_out_of_range_total": counts.out_of_range,
        "rows_deleted_total": counts.deleted,
        "rows_duplicate_total": counts.duplicates,
        "rows_quarantined_total": counts.quarantined,
        "rows_misfit_total": counts.flagged,
        "artifact_bytes_total": report.done_bytes,
        "written_files_total": report.files,
        "written_bytes_total": report.bytes,
    }
    results = {
        "whole": report.done - report.failed - report.partial - report.kept,
        "partial": report.partial,
        "failed": report.failed,
        "kept": report.kept,
    }
    return {
        **{(name, labels): float(value) for name, value in amounts.items()},
        **{("artifacts_total", _labels(report.name, result=r)): float(value) for r, value in results.items()},
    }


def _ending(report: PartitionReport, moment: float) -> Samples:
    labels = _labels(report.name)
    locked = isinstance(report.error, LockedError)
    failed = not report.clean and not locked
    told: Samples = {("failures_total", labels): float(failed), ("locked_total", labels): float(locked)}
    if locked or report.interrupted:
        return told
    told |= {("last_run_timestamp_seconds", labels): moment, ("duration_seconds", labels): report.seconds}
    return told if failed else told | {("last_success_timestamp_seconds", labels): moment}

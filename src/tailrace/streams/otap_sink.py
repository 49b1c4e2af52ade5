"""`sink "otap"`: OTLP logs → the four tables that windows read, every request once.

Which segments become one partition is written down first; the partition's name follows from it, so that after a crash
the same partition is finished, or found to be. The partition's file of logs is its commit.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import msgspec

from tailrace.core.errors import TailraceError
from tailrace.formats.base import Bad
from tailrace.lake.steps import reached
from tailrace.streams import records, segments
from tailrace.streams.batches import bites, refused_row, write_refused
from tailrace.streams.decode import Refused
from tailrace.streams.manifests import QUARANTINE, Folded, make_state, read_folded, write_folded
from tailrace.streams.otlp_again import transformed
from tailrace.streams.records import Record
from tailrace.streams.report_lines import ReportLines
from tailrace.streams.segments import replace
from tailrace.streams.status import write_status
from tailrace.streams.transforms import NOTHING, Chains

_PLAN = "plan.json"
_OTLP = (records.OTLP_PROTO, records.OTLP_JSON)
_LOGS, _PARTITION = "logs", "_part_id="
_UPKEEP = 60.0
"Seconds between looks for partitions to delete."


class Arrived(Protocol):
    """What came of requests."""

    @property
    def logs(self) -> int: ...

    @property
    def bad(self) -> Sequence[tuple[int, Bad]]: ...


WritePartition = Callable[[Path, str, str, Iterable[bytes]], Arrived]


@dataclass(frozen=True, slots=True)
class OtapOptions:
    """A `sink "otap"` block."""

    name: str
    path: Path
    compression: str = "zstd"
    flush_interval: timedelta = timedelta(seconds=10)
    metrics_enabled: bool = True
    metrics_interval: timedelta = timedelta(seconds=10)
    listeners: frozenset[str] | None = None
    retention: timedelta | None = None
    chains: Chains = field(default=NOTHING, hash=False)

    @property
    def state(self) -> Path:
        """Beside the tables, on the same filesystem."""
        return self.path.with_name(f".{self.path.name}.tailrace")


class _Plan(msgspec.Struct, frozen=True):
    first: int
    last: int


class OtapDriver:
    """One sink: how far it is, and what it does next."""

    def __init__(self, options: OtapOptions, write: WritePartition) -> None:
        self.options = options
        self.write = write
        make_state(options.state)
        options.path.mkdir(parents=True, exist_ok=True)
        self.folded = read_folded(options.state)
        self.trouble: str | None = None
        self.errors = 0
        self._is_behind = False
        "Is there more in the spool than was taken together?"
        self._written = time.monotonic()
        self.lines = ReportLines(options.name, options.metrics_interval, enabled=options.metrics_enabled)
        self._upkept = 0.0

    @property
    def last(self) -> int:
        """Last segment that is in the tables."""
        return self.folded.through

    def take(self, spool: Path, closed: Sequence[int], *, everything: bool = False) -> bool:
        """At each flush interval: a partition of what has come, or of what was begun before; is there more?

        Whatever fails, other sinks go on, and these requests wait.
        """
        now = time.monotonic()
        waits = not self._is_behind and now - self._written < self.options.flush_interval.total_seconds()
        if waits and not everything:
            return False
        self._written, self._is_behind = now, False
        try:
            self._take(spool, closed, everything)
            self._expire(now)
            self.trouble = None
        except Exception as error:
            self.errors += 1
            self.trouble = str(error) if isinstance(error, TailraceError) else f"{type(error).__name__}: {error}"
        self._tell()
        return self._is_behind

    def _take(self, spool: Path, closed: Sequence[int], everything: bool) -> None:
        begun = self._begun()
        if begun is not None:
            self._partition(spool, begun, [n for n in closed if begun.first <= n <= begun.last])
        for bite in bites(spool, [number for number in closed if number > self.last]):
            plan = _Plan(bite[0], bite[-1])
            replace(self.options.state / _PLAN, msgspec.json.encode(plan), "partition-planned")
            self._partition(spool, plan, bite)
            self._is_behind = not everything and bite[-1] != closed[-1]
            if self._is_behind:
                break

    def _expire(self, now: float) -> None:
        if self.options.retention is not None and now - self._upkept > _UPKEEP:
            self._upkept = now
            expire(self.options.path, time.time() - self.options.retention.total_seconds())

    def _tell(self) -> None:
        """Writes down how things stand, for those who ask."""
        told = {
            "sink": self.options.name,
            "path": str(self.options.path),
            "at": time.time(),
            "through": self.last,
            "counts": self.folded.counts,
            "written": {"write_errors": self.errors},
            "troubles": {} if self.trouble is None else {str(self.options.path): self.trouble},
        }
        with suppress(OSError):  # it is told again
            write_status(self.options.state, told)

    def _begun(self) -> _Plan | None:
        try:
            plan = msgspec.json.decode((self.options.state / _PLAN).read_bytes(), type=_Plan)
        except FileNotFoundError:
            return None
        return plan if plan.last > self.last else None

    def _partition(self, spool: Path, plan: _Plan, numbers: Sequence[int]) -> None:
        taken = [record for number in numbers for record in self._records(spool, number)]
        left, refused, dropped = self._transformed(taken)
        part_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"tailrace:{self.options.name}:{plan.first}-{plan.last}"))
        arrived = self.write(self.options.path, part_id, self.options.compression, (body for _, body in left))
        reached("partition-written")
        refused += [Refused(left[place][0], bad.position, bad.reason, bad.raw) for place, bad in arrived.bad]
        if refused:
            name = f"{plan.first:016d}-{plan.last:016d}.parquet"
            write_refused(self.options.state / QUARANTINE / name, [refused_row(one) for one in refused])
        counts = dict(self.folded.counts)
        for name, number in (
            ("batches_received", len(taken)), ("rows_received", arrived.logs + dropped + len(refused)),
            ("log_rows_written", arrived.logs), ("rows_filtered", dropped), ("rows_quarantined", len(refused)),
        ):  # fmt: skip
            counts[name] = counts.get(name, 0) + number
        self.folded = Folded(plan.last, counts)
        write_folded(self.options.state, self.folded)

    def _transformed(self, taken: Sequence[Record]) -> tuple[list[tuple[Record, bytes]], list[Refused], int]:
        """Requests that are stored, what is refused, and how many logs were taken away; by listener."""
        left: list[tuple[Record, bytes]] = []
        refused: list[Refused] = []
        dropped = 0
        for listener in dict.fromkeys(record.listener for record in taken):
            own = [record for record in taken if record.listener == listener]
            if chain := self.options.chains.of(listener):
                again = transformed(own, chain, self.options.state)
                left += again.requests
                refused += again.refused
                dropped += again.dropped
            else:
                left += [(record, bytes(record.body)) for record in own]
        return left, refused, dropped

    def _records(self, spool: Path, number: int) -> Iterable[Record]:
        for record in segments.read(segments.path_of(spool, number, segments.CLOSED)):
            if record.kind in _OTLP and (self.options.listeners is None or record.listener in self.options.listeners):
                yield record

    def report(self, *, last: bool = False) -> str | None:
        """At each metrics interval, and at the end: what has been counted, in a line, if that is news."""
        if not self.lines.is_due(last=last):
            return None
        return self.lines.line({**self.folded.counts, "write_errors": self.errors}, self.trouble)


def expire(path: Path, before: float) -> int:
    """Deletes partitions of which every file was written before a moment; how many.

    Their logs go first: nobody finds attributes of logs that are not there, and what is left is deleted the next time.
    """
    partitions: dict[str, list[Path]] = {}
    for folder in path.glob(f"*/{_PARTITION}*"):
        partitions.setdefault(folder.name, []).append(folder)
    old = [folders for folders in partitions.values() if _newest(folders) < before]
    for folders in old:
        for folder in sorted(folders, key=lambda folder: folder.parent.name != _LOGS):
            shutil.rmtree(folder, ignore_errors=True)
    return len(old)


def _newest(folders: Iterable[Path]) -> float:
    """When something was last written there: a directory that is empty was made for what is on its way."""
    return max(found.stat().st_mtime for folder in folders for found in (folder, *folder.iterdir()))

"""`sink "lake"`: what listeners take in → a table of the lake, every row once.

The commit of the rows says up to which segment of the spool they go. What is killed before it begins anew, what is
killed behind it finds that in the lake; the file in `state` is there for those who empty the partition meanwhile.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import msgspec

from tailrace.config.model import PartitionSpec
from tailrace.core import Format, TailraceError
from tailrace.core.arrivals import Arrived, Stored
from tailrace.lake.steps import reached
from tailrace.streams.arrivals import Gathering
from tailrace.streams.batches import bites
from tailrace.streams.kinds import KINDS
from tailrace.streams.report_lines import ReportLines
from tailrace.streams.segments import identity_of, replace
from tailrace.streams.status import write_status
from tailrace.streams.transforms import NOTHING, Chains

_DONE = "done.json"


class Store(Protocol):
    """A partition of the lake."""

    def through(self, spool: str) -> int:
        """The last segment of a spool whose rows it holds."""
        ...

    def store(self, spool: str, last: int, arrived: Sequence[Arrived]) -> Stored:
        """Stores what segments up to `last` hold, once."""
        ...


@dataclass(frozen=True, slots=True)
class LakeOptions:
    """A `sink "lake"` block."""

    name: str
    partition: PartitionSpec
    state: Path
    "Where it notes how far it is."
    format: Format | None = None
    kinds: frozenset[str] = frozenset(KINDS)
    flush_interval: timedelta = timedelta(seconds=10)
    metrics_enabled: bool = True
    metrics_interval: timedelta = timedelta(seconds=10)
    listeners: frozenset[str] | None = None
    chains: Chains = NOTHING
    max_lateness: timedelta = timedelta(days=3650)

    @property
    def path(self) -> str:
        """Where rows go, for people."""
        return self.partition.full_name


class _Done(msgspec.Struct, frozen=True):
    spool: str = ""
    through: int = 0
    counts: dict[str, int] = {}


class LakeDriver:
    """One sink: how far it is, and what it does next."""

    def __init__(self, options: LakeOptions, store: Store) -> None:
        self.options = options
        self.store = store
        options.state.mkdir(parents=True, exist_ok=True)
        self.done = _read_done(options.state)
        self.trouble: str | None = None
        self.errors = 0
        self._is_asked = False
        "Has the lake said how far it is?"
        self._is_behind = False
        "Is there more in the spool than was taken together?"
        self._tried = time.monotonic()
        self.lines = ReportLines(options.name, options.metrics_interval, enabled=options.metrics_enabled)

    @property
    def last(self) -> int:
        """Last segment that is in the table; nothing is known before the lake was asked."""
        return self.done.through if self._is_asked else 0

    def take(self, spool: Path, closed: Sequence[int], *, everything: bool = False) -> bool:
        """At each flush interval: what has come is stored, or waits in the spool if the lake cannot be changed.

        A part of bounded size at a time; is there more?
        """
        now = time.monotonic()
        waits = not self._is_behind and now - self._tried < self.options.flush_interval.total_seconds()
        if not closed or (waits and not everything):
            return False
        self._tried, self._is_behind = now, False
        try:
            if not self._is_asked:
                self._ask(spool)
            for bite in bites(spool, [number for number in closed if number > self.last]):
                self._take(spool, bite)
                self._is_behind = not everything and bite[-1] != closed[-1]
                if self._is_behind:
                    break
            self.trouble = None
        except Exception as error:
            # Whatever it is, other sinks go on, and these rows wait.
            self.errors += 1
            self.trouble = str(error) if isinstance(error, TailraceError) else f"{type(error).__name__}: {error}"
        self._tell()
        return self._is_behind

    def _ask(self, spool: Path) -> None:
        identity = identity_of(spool)
        known = self.done if self.done.spool == identity else _Done(identity, 0, self.done.counts)
        self.done = msgspec.structs.replace(known, through=max(known.through, self.store.through(identity)))
        self._is_asked = True

    def _take(self, spool: Path, numbers: Sequence[int]) -> None:
        options = self.options
        gathering = Gathering(options.kinds, options.listeners, options.chains, options.state)
        for number in numbers:
            gathering.read(spool, number)
        arrived = gathering.arrived()
        counts = Counter(self.done.counts)
        # What transforms took away never came to the lake.
        counts.update(dict.fromkeys(("rows_received", "rows_filtered"), gathering.dropped))
        counts["batches_received"] += gathering.records
        if arrived:
            stored = self.store.store(self.done.spool, numbers[-1], arrived)
            counts.update({
                "rows_received": stored.received, "rows_written": stored.rows,
                "rows_filtered": stored.filtered, "rows_quarantined": stored.quarantined,
                "duplicate_rows": stored.duplicates,
            })  # fmt: skip
            reached("arrivals-stored")
        self.done = _Done(self.done.spool, numbers[-1], dict(counts))
        replace(self.options.state / _DONE, msgspec.json.encode(self.done), "arrivals-noted")

    def _tell(self) -> None:
        """Writes down how things stand, for those who ask."""
        told = {
            "sink": self.options.name,
            "path": self.options.path,
            "at": time.time(),
            "through": self.last,
            "counts": self.done.counts,
            "written": {"write_errors": self.errors},
            "troubles": {} if self.trouble is None else {self.options.path: self.trouble},
        }
        with suppress(OSError):  # it is told again
            write_status(self.options.state, told)

    def report(self, *, last: bool = False) -> str | None:
        """At each metrics interval, and at the end: what has been counted, in a line, if that is news."""
        if not self.lines.is_due(last=last):
            return None
        return self.lines.line({**self.done.counts, "write_errors": self.errors}, self.trouble)


def _read_done(state: Path) -> _Done:
    try:
        return msgspec.json.decode((state / _DONE).read_bytes(), type=_Done)
    except FileNotFoundError:
        return _Done()

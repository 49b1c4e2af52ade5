"""Runs windows that are ready, in order, many at a time; what is finished is finished once."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from itertools import islice

from tailrace.core.errors import ConfigError, DataError
from tailrace.core.written import cannot_write
from tailrace.lake.lock import local_lock
from tailrace.lake.place import LocalPlace
from tailrace.lake.steps import reached
from tailrace.windows.catalog import Catalog
from tailrace.windows.delivery import SENT
from tailrace.windows.sources import Source
from tailrace.windows.spec import WindowSpec, second_of
from tailrace.windows.state import DELIVERED, Done, Segment, State
from tailrace.windows.unit import Unit, Wanted, run_unit

SEGMENT = 256
"Windows that a segment finishes at most."
UNIT, UNITS = 16, 8
"Windows that a task runs one after the other at most, and tasks that there should be for a few windows too."
Runner = Callable[[list[Unit]], Iterable[list[Done]]]


def run_here(units: list[Unit]) -> Iterator[list[Done]]:
    """In this process, as many units at a time as windows may be under way."""
    cores = os.cpu_count() or 1
    most = units[0].spec.concurrent_windows or cores
    if min(most, len(units)) == 1:
        yield from (run_unit(replace(unit, threads=cores)) for unit in units)
        return
    with ThreadPoolExecutor(min(most, len(units)), "windows") as pool:
        try:
            yield from pool.map(run_unit, units)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


@dataclass(frozen=True, slots=True)
class Places:
    """Where a window's state lies."""

    root: LocalPlace

    @property
    def segments(self) -> LocalPlace:
        return self.root / "segments"


class WindowRun:
    """One look at the files, and all windows that are ready by then; the caller holds the lock."""

    def __init__(self, spec: WindowSpec, places: Places, runner: Runner = run_here) -> None:
        self._spec, self._places, self._runner = spec, places, runner
        self.state = State.read(places.segments, spec.out)
        # The run before this one may have died between the two.
        self.state.publish()

    def run(self, now: int, until: int | None = None, told: Callable[[Segment], None] = lambda _: None) -> int:
        """Windows that were finished; `now` in nanoseconds. None that end after `until` are begun."""
        self._deliver(told)
        before = self.state.windows
        try:
            with closing(Catalog(self._spec, self._places.root, self.state.through or 0)) as self._catalog:
                self._catalog.look()
                self._catalog.settle(self.state.seen, self.state.through or 0)
                self._run_ready(now, until, told)
        except sqlite3.OperationalError as error:
            # Of the catalog: a disk that is full, a directory that may not be written to.
            raise cannot_write(str(self._places.root), error) from None
        return self.state.windows - before

    def _run_ready(self, now: int, until: int | None, told: Callable[[Segment], None]) -> None:
        starts = sorted({start for held in self._catalog.files.values() for start in held})
        ready = self._spec.temporal.ready_through(now)
        ready = ready if until is None else min(ready, self._spec.temporal.start_of(until))
        if self.state.through is None:
            if not starts and self._spec.start_at == "earliest":
                return
            first = self._spec.first_start(starts[0] if starts else now, now)
            if self._spec.start_at == "now":
                self._commit([], first, first, told)  # the next run is at another time
        else:
            first = self.state.through
            self._check_aligned(first)
            self._check_clock(first, now)
            self._take_late(first, told)
        self._finish([start for start in starts if first <= start < ready], first, ready, told)

    def _check_aligned(self, through: int) -> None:
        """Of a window that begins before and ends after what is finished, the rest would belong to none."""
        if through % self._spec.temporal.granularity:
            moment, fraction = second_of(through)
            message = (
                f"windows until {moment:%Y-%m-%dT%H:%M:%S}{fraction}Z are finished: none of this length ends there"
            )
            hint = "finish windows of the former length until one of both ends: run --until; or begin anew: state_dir"
            raise ConfigError(message, code="window.granularity", where=str(self._places.root), hint=hint)

    def _check_clock(self, through: int, now: int) -> None:
        """A clock that was ahead has finished windows of the future: what comes for them now would be taken as late."""
        # Whoever begins now begins with the next window.
        if through > now + self._spec.temporal.granularity:
            moment, _ = second_of(through)
            message = f"windows until {moment:%Y-%m-%dT%H:%M:%SZ} are finished, which is in the future"
            hint = "this or an earlier clock is wrong: set it right and wait until then, or begin anew: state_dir"
            raise DataError(message, code="window.clock", where=str(self._places.root), hint=hint)

    def _finish(self, starts: list[int], first: int, ready: int, told: Callable[[Segment], None]) -> None:
        size = self._spec.temporal.granularity
        pending = iter(starts)
        holding = self._holding()
        while chunk := list(islice(pending, SEGMENT)):
            through = chunk[-1] + size if chunk[-1] != starts[-1] else ready
            sources = self._catalog.sources({name for start in chunk for name in holding[start]})
            wanted = [self._wanted(start, [sources[name] for name in holding[start]]) for start in chunk]
            self._commit(wanted, first, through, told)
            first = through
        if first < ready:
            self._commit([], first, ready, told)

    def _commit(self, wanted: list[Wanted], first: int, through: int, told: Callable[[Segment], None]) -> None:
        held = self._catalog.files.items()
        seen = sorted(name for name, starts in held if name not in self.state.seen and min(starts, default=0) < through)
        segment = Segment(
            first=first, through=through, windows=self._run(wanted), seen=tuple(seen), digests=self._spec.digests,
            deliver=self._spec.endpoint is not None,
        )  # fmt: skip
        self._put(segment, told)

    def _take_late(self, through: int, told: Callable[[Segment], None]) -> None:
        """Files that came after their windows were finished, by policy; they are late for those windows only."""
        late = {
            name: [start for start in starts if start < through]
            for name, starts in self._catalog.files.items()
            if name not in self.state.seen and any(start < through for start in starts)
        }
        if not late:
            return
        rows = sum(self._catalog.files[name][start] for name, starts in late.items() for start in starts)
        if self._spec.late_files == "fail":
            hint = 'write late_files = "drop" or "emit", or wait longer: processing_delay'
            message = f"{len(late)} files with {rows} logs came after their windows were finished"
            raise DataError(message, code="window.late-file", where=next(iter(late)), hint=hint)
        wanted: list[Wanted] = []
        if self._spec.late_files == "emit":
            sources = self._catalog.sources(late)
            for number, (name, starts) in enumerate(late.items(), self.state.late_files + 1):
                wanted += [self._wanted(start, [sources[name]], number) for start in starts]
        segment = Segment(
            first=through, through=through, windows=self._run(wanted), seen=tuple(late), late_files=len(late),
            late_rows=rows, digests=self._spec.digests, deliver=self._spec.endpoint is not None,
        )  # fmt: skip
        self._put(segment, told)

    def _put(self, segment: Segment, told: Callable[[Segment], None]) -> None:
        self.state.commit(segment)
        self._catalog.settle(self.state.seen, segment.through)
        told(segment)
        self._deliver(told)

    def _deliver(self, told: Callable[[Segment], None]) -> None:
        """Sends what waits for it; what was sent is written down in any case."""
        endpoint, sent, rejected = self._spec.endpoint, [], 0
        if endpoint is None or self.state.through is None:
            return
        try:
            for name, done in list(self.state.waiting.items()):
                if name.endswith(SENT):
                    key = f"{self._spec.name}/{done.start}/{name}"
                    rejected += endpoint.send(name, self._spec.out.read(name), key)
                    reached(DELIVERED)
                sent.append(name)
        finally:
            if sent:
                through = self.state.through
                segment = Segment(first=through, through=through, delivered=tuple(sent), rejected=rejected)
                self.state.commit(segment)
                told(segment)

    def _run(self, wanted: list[Wanted]) -> tuple[Done, ...]:
        size = min(UNIT, max(1, len(wanted) // UNITS))
        units = [Unit(self._spec, tuple(wanted[n : n + size])) for n in range(0, len(wanted), size)]
        return tuple(done for several in self._runner(units) for done in several) if units else ()

    def _wanted(self, start: int, sources: list[Source], late: int = 0) -> Wanted:
        logs = sum(self._catalog.files[source.file.name][start] for source in sources)
        return Wanted(start, tuple(sources), late, logs)

    def _holding(self) -> dict[int, list[str]]:
        """Files by window."""
        found: dict[int, list[str]] = {}
        for name, starts in self._catalog.files.items():
            for start in starts:
                found.setdefault(start, []).append(name)
        return found


def locked(places: Places, name: str) -> AbstractContextManager[None]:
    """One process at a time; the lock goes with its process."""
    return local_lock(places.root.path / "lock", f"window {name}", "tailrace window run")

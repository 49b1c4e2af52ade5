"""Runs windows that are ready, in order, many at a time; what is finished is finished once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice

from tailrace.core.errors import DataError
from tailrace.lake.lock import local_lock
from tailrace.lake.place import LocalPlace
from tailrace.windows.catalog import Catalog
from tailrace.windows.spec import WindowSpec
from tailrace.windows.state import Done, Segment, State
from tailrace.windows.unit import Unit, Wanted, run_unit

SEGMENT = 256
"Windows that a segment finishes at most."
UNIT = 16
"Windows that a task runs one after the other."
Runner = Callable[[list[Unit]], Iterable[list[Done]]]


def run_here(units: list[Unit]) -> Iterator[list[Done]]:
    """One unit after the other, in this process."""
    return map(run_unit, units)


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
        self._spec, self._runner = spec, runner
        self.state = State.read(places.segments, spec.out)
        self._catalog = Catalog(spec, places.root)
        # The run before this one may have died between the two.
        self.state.publish()

    def run(self, now: int, until: int | None = None, told: Callable[[Segment], None] = lambda _: None) -> int:
        """Windows that were finished; `now` in nanoseconds. None that end after `until` are begun."""
        self._catalog.look()
        files = self._catalog.files
        before = self.state.windows
        starts = sorted({start for held in files.values() for start in held})
        ready = self._spec.temporal.ready_through(now)
        ready = ready if until is None else min(ready, self._spec.temporal.start_of(until))
        if self.state.through is None:
            if not starts and self._spec.start_at == "earliest":
                return 0
            first = self._spec.first_start(starts[0] if starts else now, now)
            if self._spec.start_at == "now":
                self._commit([], first, first, told)  # the next run is at another time
        else:
            first = self.state.through
            self._take_late(first, told)
        self._finish([start for start in starts if first <= start < ready], first, ready, told)
        return self.state.windows - before

    def _finish(self, starts: list[int], first: int, ready: int, told: Callable[[Segment], None]) -> None:
        size = self._spec.temporal.granularity
        pending = iter(starts)
        while chunk := list(islice(pending, SEGMENT)):
            through = chunk[-1] + size if chunk[-1] != starts[-1] else ready
            wanted = [Wanted(start, self._holding(start)) for start in chunk]
            self._commit(wanted, first, through, told)
            first = through
        if first < ready:
            self._commit([], first, ready, told)

    def _commit(self, wanted: list[Wanted], first: int, through: int, told: Callable[[Segment], None]) -> None:
        held = self._catalog.files.items()
        seen = sorted(name for name, starts in held if name not in self.state.seen and min(starts, default=0) < through)
        segment = Segment(
            first=first, through=through, windows=self._run(wanted), seen=tuple(seen), digests=self._spec.digests
        )
        self.state.commit(segment)
        told(segment)

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
            for number, (name, starts) in enumerate(late.items(), self.state.late_files + 1):
                wanted += [Wanted(start, (name,), number) for start in starts]
        segment = Segment(
            first=through, through=through, windows=self._run(wanted), seen=tuple(late), late_files=len(late),
            late_rows=rows, digests=self._spec.digests,
        )  # fmt: skip
        self.state.commit(segment)
        told(segment)

    def _run(self, wanted: list[Wanted]) -> tuple[Done, ...]:
        units = [Unit(self._spec, tuple(wanted[n : n + UNIT])) for n in range(0, len(wanted), UNIT)]
        return tuple(done for several in self._runner(units) for done in several) if units else ()

    def _holding(self, start: int) -> tuple[str, ...]:
        return tuple(name for name, starts in self._catalog.files.items() if start in starts)


def locked(places: Places, name: str) -> AbstractContextManager[None]:
    """One process at a time; the lock goes with its process."""
    return local_lock(places.root.path / "lock", f"window {name}", "tailrace window run")

"""Days are stored whole: their units wait for each other, in whatever job and from whatever source they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from tailrace.pipeline.job import Job, Unit, UnitResult

Done = tuple[Job, Unit, UnitResult]
Day = date | None


@dataclass(slots=True)
class Days:
    """The days of one partition in one run."""

    awaited: Counter[Day] = field(default_factory=Counter)
    "Units of each day that are under way."
    spoiled: set[Day] = field(default_factory=set)
    "Nothing of them is stored."
    waiting: list[Done] = field(default_factory=list)

    def sent(self, units: Iterable[Unit]) -> None:
        for unit in units:
            self.awaited.update(unit.days)

    def back(self, unit: Unit) -> None:
        """A unit has ended, well or not."""
        self.awaited.subtract(unit.days)

    def whole(self) -> list[Done]:
        """What can be committed: all units of all its days are there, and no day of it is spoiled."""
        open_days = {day for day, units in self.awaited.items() if units}
        ready = [done for done in self.waiting if not done[1].days & self.spoiled]
        while held := [done for done in ready if done[1].days & open_days]:
            # A unit of several days makes the whole ones wait for the others.
            open_days.update(*(unit.days for _, unit, _ in held))
            ready = [done for done in ready if not done[1].days & open_days]
        self._leave(ready)
        return ready

    def partly_spoiled(self) -> list[tuple[Job, Unit]]:
        """Units that hold a day which is spoiled meanwhile, and others; they leave, and have to be read again."""
        hit = [done for done in self.waiting if done[1].days & self.spoiled]
        self._leave(hit)
        return [(job, unit) for job, unit, _ in hit if unit.days - self.spoiled]

    def _leave(self, some: Iterable[Done]) -> None:
        numbers = {unit.number for _, unit, _ in some}
        self.waiting = [done for done in self.waiting if done[1].number not in numbers]

"""When a sink tells what it has counted: at each interval and at the end if there is something new, and rarely else."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta

ALIVE = 3600.0
"Seconds after which the same line is told again."


class ReportLines:
    """Lines of one sink on stderr."""

    def __init__(self, sink: str, interval: timedelta, *, enabled: bool) -> None:
        self.sink = sink
        self.interval = interval.total_seconds()
        self.enabled = enabled
        self._looked = time.monotonic()
        self._said = self._looked
        self._last = ""

    def is_due(self, *, last: bool = False) -> bool:
        """Has an interval passed since the last look, or is this the end?"""
        since = time.monotonic() - self._looked
        if not self.enabled or (since < self.interval and not last):
            return False
        # From one due time to the next, so that pauses do not add up.
        self._looked += since // self.interval * self.interval if self.interval else 0
        return True

    def line(self, counts: Mapping[str, int], trouble: str | None = None) -> str | None:
        """None = it was told before, and not long ago."""
        told = f"sink {self.sink}: " + " ".join(f"{name}={number}" for name, number in counts.items())
        told = told if trouble is None else f"{told} ({trouble})"
        if told == self._last and self._looked - self._said < ALIVE:
            return None
        self._last, self._said = told, self._looked
        return told

"""How much one sender may send a second; nobody else waits for one who sends more."""

from __future__ import annotations

import time

_MOST = 10_000
"Senders that are remembered; one that is forgotten begins anew, with nothing owed."


class Rates:
    """For each sender what it may still send: at most as much as comes in a second, less where it is ahead."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self._left: dict[object, tuple[float, float]] = {}

    def allows(self, sender: object) -> bool:
        """May it send one more? If so, it has."""
        if self.limit is None:
            return True
        left, now = self._now(sender)
        if left < 1:
            return False
        self._left[sender] = (left - 1, now)
        return True

    def wait(self, sender: object, amount: int) -> float:
        """It has sent so much; seconds until it may send on."""
        if self.limit is None or not amount:
            return 0.0
        left, now = self._now(sender)
        self._left[sender] = (left - amount, now)
        return max((amount - left) / self.limit, 0.0)

    def _now(self, sender: object) -> tuple[float, float]:
        assert self.limit is not None
        now, most = time.monotonic(), max(self.limit, 1.0)
        left, since = self._left.pop(sender, (most, now))
        while len(self._left) >= _MOST:
            del self._left[next(iter(self._left))]
        return self._put(sender, min(left + (now - since) * self.limit, most), now)

    def _put(self, sender: object, left: float, now: float) -> tuple[float, float]:
        self._left[sender] = (left, now)
        return left, now

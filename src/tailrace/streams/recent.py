"""Batches that were accepted lately, so that one which is sent again is known."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

from tailrace.streams.records import Identity

MOST = 1_000_000
"Batches that are remembered: a few hundred bytes each."
_PARTS = 10


class _Part:
    """Batches that came one after another; milliseconds by name."""

    def __init__(self, begun: int = 0) -> None:
        self.begun = self.newest = begun
        self.batches: dict[bytes, int] = {}


class Recent:
    """Key and identity of batches, gathered by the time of their arrival: the oldest are forgotten together.

    Forgetting one by one would take as long as all of them are many, every second, while everybody waits.
    """

    def __init__(self, window: float, most: int = MOST) -> None:
        self.window = window * 1000
        self.most = most
        self._parts = deque([_Part()])
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return sum(len(part.batches) for part in self._parts)

    def arrived(self, key: bytes, identity: Identity, moment: int) -> bool:
        """Was it accepted inside of the window? If not, it counts as accepted now."""
        name = _name(key, identity)
        with self._lock:
            since = self._since(name)
            if since is not None and moment - since <= self.window:
                return True
            self._put(name, moment)
        return False

    def knows(self, key: bytes, identity: Identity) -> bool:
        with self._lock:
            return self._since(_name(key, identity)) is not None

    def remember(self, key: bytes, identities: Iterable[Identity], moment: int) -> None:
        with self._lock:
            for identity in identities:
                self._put(_name(key, identity), moment)

    def forget(self, key: bytes, identities: Iterable[Identity]) -> None:
        with self._lock:
            for identity in identities:
                name = _name(key, identity)
                for part in self._parts:
                    part.batches.pop(name, None)

    def forget_before(self, moment: float) -> None:
        """Parts in which nothing is younger; milliseconds."""
        with self._lock:
            while len(self._parts) > 1 and self._parts[0].newest < moment:
                self._parts.popleft()

    def _since(self, name: bytes) -> int | None:
        for part in reversed(self._parts):
            if (found := part.batches.get(name)) is not None:
                return found
        return None

    def _put(self, name: bytes, moment: int) -> None:
        last = self._parts[-1]
        if len(last.batches) * _PARTS >= self.most or moment - last.begun >= self.window / _PARTS:
            self._parts.append(last := _Part(moment))
            while len(self) > self.most:
                self._parts.popleft()
        last.batches[name] = moment
        last.newest = max(last.newest, moment)


def _name(key: bytes, identity: Identity) -> bytes:
    return key + identity.batch_id.to_bytes(8) + identity.content

"""Batches that were accepted lately, so that one which is sent again is known."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from tailrace.streams.records import Identity

MOST = 1_000_000
"Batches that are remembered: a few hundred bytes each."
_PARTS = 16
_AT_ONCE = 1000
"Batches of a part that are forgotten together, while everybody waits."


class Recent:
    """Key and identity of batches with the time of their arrival, in milliseconds; the oldest are forgotten first.

    Each has its place in one of several parts by its hash: one look finds it, and no part becomes so large that making
    room in it holds up anybody.
    """

    def __init__(self, window: float, most: int = MOST) -> None:
        self.window = window * 1000
        self._most = max(most // _PARTS, 1)
        self._parts: list[OrderedDict[bytes, int]] = [OrderedDict() for _ in range(_PARTS)]
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def arrived(self, key: bytes, identity: Identity, moment: int) -> bool:
        """Was it accepted inside of the window? If not, it counts as accepted now."""
        name = _name(key, identity)
        part = self._part(name)
        with self._lock:
            since = part.get(name)
            if since is not None and moment - since <= self.window:
                return True
            self._put(part, name, moment)
        return False

    def knows(self, key: bytes, identity: Identity) -> bool:
        name = _name(key, identity)
        with self._lock:
            return name in self._part(name)

    def remember(self, key: bytes, identities: Iterable[Identity], moment: int) -> None:
        with self._lock:
            for identity in identities:
                name = _name(key, identity)
                self._put(self._part(name), name, moment)

    def forget(self, key: bytes, identities: Iterable[Identity]) -> None:
        with self._lock:
            for identity in identities:
                name = _name(key, identity)
                self._part(name).pop(name, None)

    def forget_before(self, moment: float) -> None:
        """The oldest, if they are older than that, in milliseconds. Of many some are left for the next time."""
        for part in self._parts:
            with self._lock:
                for _ in range(min(len(part), _AT_ONCE)):
                    if next(iter(part.values())) >= moment:
                        break
                    part.popitem(last=False)

    def _part(self, name: bytes) -> OrderedDict[bytes, int]:
        return self._parts[hash(name) % _PARTS]

    def _put(self, part: OrderedDict[bytes, int], name: bytes, moment: int) -> None:
        part[name] = moment
        part.move_to_end(name)  # it may have been there, from long ago
        if len(part) > self._most:
            part.popitem(last=False)


def _name(key: bytes, identity: Identity) -> bytes:
    return key + identity.batch_id.to_bytes(8) + identity.content

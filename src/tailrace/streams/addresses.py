"""How many connections an address has: one that opens more and more leaves room for others."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterable


class Addresses:
    """Connections of one listener by address; those of trusted proxies are many people's, and not counted."""

    def __init__(self, most: int, proxies: Iterable[str] = ()) -> None:
        self.most = most
        self.proxies = [ipaddress.ip_network(text) for text in proxies]
        self._open: Counter[str] = Counter()

    def is_proxy(self, peer: str) -> bool:
        try:
            found = ipaddress.ip_address(peer.partition("%")[0])
        except ValueError:
            return False
        return any(found in network for network in self.proxies)

    def opens(self, peer: str) -> bool:
        """May it have one more? If so, it has."""
        if self._open[peer] >= self.most and not self.is_proxy(peer):
            return False
        self._open[peer] += 1
        return True

    def closes(self, peer: str) -> None:
        self._open[peer] -= 1
        if self._open[peer] <= 0:
            del self._open[peer]

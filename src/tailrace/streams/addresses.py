"""Who sends, and how many connections an address has: one that opens more and more leaves room for others."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterable


class Proxies:
    """Networks that may say for whom they speak."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks = [ipaddress.ip_network(text) for text in networks]

    def has(self, peer: str) -> bool:
        try:
            found = ipaddress.ip_address(peer.partition("%")[0])
        except ValueError:
            return False
        return any(found in network for network in self._networks)

    def sender(self, peer: str, forwarded: str) -> str:
        """The peer; what trusted proxies say of it otherwise: each has added whom it heard it from."""
        for hop in reversed([text.strip() for text in forwarded.split(",") if text.strip()]):
            if not self.has(peer):
                break
            peer = _without_port(hop)
        return peer


def _without_port(hop: str) -> str:
    """Some proxies name the port as well, and put addresses of IPv6 into brackets."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop


class Addresses:
    """Connections of one listener by address; those of trusted proxies are many people's, and not counted."""

    def __init__(self, most: int, proxies: Proxies) -> None:
        self.most = most
        self.proxies = proxies
        self._open: Counter[str] = Counter()

    def opens(self, peer: str) -> bool:
        """May it have one more? If so, it has."""
        if self._open[peer] >= self.most and not self.proxies.has(peer):
            return False
        self._open[peer] += 1
        return True

    def closes(self, peer: str) -> None:
        self._open[peer] -= 1
        if self._open[peer] <= 0:
            del self._open[peer]

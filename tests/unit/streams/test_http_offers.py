"""Clients that offer another protocol, as Java's does with every request: they are answered over the one they speak."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from liveserver import EVENT, KEY, Served, serving
from rawhttp import answers, request

H2C = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk")


@pytest.fixture
def served(tmp_path: Any) -> Iterator[Served]:
    with serving(tmp_path) as found:
        yield found


def statuses(told: bytes) -> list[bytes]:
    return re.findall(rb"HTTP/1.1 (\d+)", told)


def test_what_is_offered_is_not_taken(served: Served) -> None:
    sent = request(EVENT, *H2C)
    end = sent.index(b"\r\n\r\n")
    for place in (None, 20, end - 3, end + 2, end + 4, end + 9):
        pieces = (sent,) if place is None else (sent[:place], sent[place:])
        assert statuses(answers(served, *pieces)) == [b"202"]
    assert len(served.rows("events")) == 6


@pytest.mark.parametrize("offer", [H2C, ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x")])
def test_requests_behind_an_offer_are_answered_too(offer: tuple[str, ...], served: Served) -> None:
    chunked = request(b"", *offer, "Transfer-Encoding: chunked").replace(b"Content-Length: 0\r\n", b"")
    chunked += b"%x\r\n%s\r\n0\r\n\r\n" % (len(EVENT), EVENT)
    looking = request(b"", *offer, path="/health").replace(b"POST", b"GET")
    told = answers(served, request(EVENT, *offer) + chunked + looking + request(EVENT), count=4)
    assert statuses(told) == [b"202", b"202", b"200", b"202"]
    assert len(served.rows("events")) == 3


def test_heads_that_are_read_twice_are_held_to_what_others_are(served: Served) -> None:
    two = request(EVENT, *H2C, "Content-Length: 3")
    assert statuses(answers(served, two)) == [b"400"]
    assert statuses(answers(served, request(EVENT, *H2C, key="0" * 32))) == [b"401"]
    old = request(EVENT, *H2C).replace(b"HTTP/1.1", b"HTTP/1.0", 1)
    assert statuses(answers(served, old)) == [b"202"]
    tunnel = f"CONNECT other:443 HTTP/1.1\r\nHost: x\r\nX-API-Key: {KEY}\r\n\r\n".encode()
    assert statuses(answers(served, tunnel))[0] in (b"400", b"404", b"405")
    assert len(served.rows("events")) == 1

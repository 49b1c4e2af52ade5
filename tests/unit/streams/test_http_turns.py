"""What ends a connection waits for the answers to the requests before it."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from commandline import wait_for
from liveserver import EVENT, Served, serving
from rawhttp import request

from tailrace.streams.http_server import BoundedProtocol
from tailrace.streams.http_turns import Ahead
from tailrace.streams.intake import Intake

CHUNKED = request(b"", "Transfer-Encoding: chunked").replace(b"Content-Length: 0\r\n", b"")


@pytest.fixture
def served(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """Its disk is slow."""
    real = Intake.accept

    async def slow(self: Intake, record: Any) -> None:
        await asyncio.sleep(0.1)
        await real(self, record)

    monkeypatch.setattr(Intake, "accept", slow)
    with serving(tmp_path) as found:
        yield found


def statuses(served: Served, *pieces: bytes, ends: bool = False) -> list[bytes]:
    """Of all answers until the connection is closed."""
    with socket.create_connection(served.place("http.h"), timeout=10) as client:
        for piece in pieces:
            client.sendall(piece)
            time.sleep(0.02)
        if ends:
            client.shutdown(socket.SHUT_WR)
        found = b""
        while more := client.recv(65536):
            found += more
    return re.findall(rb"HTTP/1.1 (\d+)", found)


def chunked(body: bytes) -> bytes:
    return CHUNKED + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


@pytest.mark.parametrize("last", [
    b"GARBAGE\r\n\r\n",
    request(EVENT, "Content-Length: 3"),
    CHUNKED + b"5\r\nhello\r\nno size",
    request(b"")[:-2] + b"X: ",
], ids=["nonsense", "two ends", "broken body", "large head"])  # fmt: skip
def test_what_is_no_request_is_refused_behind_the_answers_before_it(last: bytes, served: Served) -> None:
    before = [request(EVENT), chunked(EVENT), request(EVENT)]
    for count in range(4):
        large = b"y" * 40_000 if last.endswith(b"X: ") else b""
        told = statuses(served, b"".join(before[:count]) + last, large)
        assert told == [b"202"] * count + [b"431" if large else b"400"]
    assert len(served.rows("events")) == 6


def test_many_requests_in_a_read_are_no_large_head(tmp_path: Any) -> None:
    """Wherever among them a read ends: they are more than a head may be."""
    several = 4 * request(EVENT) + chunked(EVENT) + request(b"", path="/health").replace(b"POST", b"GET")
    with serving(tmp_path) as served:
        told = statuses(served, 1000 * several, ends=True)
        assert told == 1000 * [*[b"202"] * 5, b"200"]
        assert len(served.rows("events")) == 5000


@pytest.fixture
def most(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Requests that waited, after each read; in the end none does."""
    seen: list[int] = []
    counted: list[Ahead] = []
    real = BoundedProtocol.data_received

    def received(self: BoundedProtocol, data: bytes) -> None:
        real(self, data)
        seen.append(self.ahead.requests)
        counted.append(self.ahead)

    monkeypatch.setattr(BoundedProtocol, "data_received", received)
    yield seen
    wait_for(lambda: counted[0].requests == 0)


def test_what_waits_is_bounded_whatever_is_sent(served: Served, most: list[int]) -> None:
    """A client that does not wait for answers is read from when those that it has asked for are under way."""
    asked = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    told = statuses(served, request(EVENT) + asked * 30_000, ends=True)
    assert told == [b"202", *[b"200"] * 30_000]
    assert max(most) <= 262_144 // len(asked)


def test_too_many_that_wait_end_their_connection(
    served: Served, most: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all connections together; who waits for answers does not notice."""
    monkeypatch.setattr("tailrace.streams.http_turns.MOST_AHEAD", 50)
    asked = request(b"", path="/health").replace(b"POST", b"GET")
    with socket.create_connection(served.place("http.h"), timeout=10) as first:
        first.sendall(request(EVENT) + asked * 51)
        time.sleep(0.05)
        assert statuses(served, request(EVENT) + request(EVENT)) == [b"202", b"503"]
        assert served.post("/v1/events", EVENT)[0] == 202
        first.shutdown(socket.SHUT_WR)
        found = b""
        while more := first.recv(65536):
            found += more
    assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"202", *[b"200"] * 50, b"503"]
    assert max(most) == 50


def test_a_client_that_sends_no_more_gets_its_answers(served: Served) -> None:
    several = request(EVENT) + chunked(EVENT) + request(EVENT)
    for sent, count in ((request(EVENT), 1), (chunked(EVENT), 1), (several, 3)):
        assert statuses(served, sent, ends=True) == [b"202"] * count
    assert len(served.rows("events")) == 5


def test_a_request_that_was_cut_off_is_not_stored(served: Served) -> None:
    for cut in (request(EVENT)[:-1], chunked(EVENT)[:-1], request(EVENT)[:30]):
        assert statuses(served, cut, ends=True) == []
        assert statuses(served, request(EVENT) + chunked(EVENT) + cut, ends=True) == [b"202"] * 2
    assert len(served.rows("events")) == 6

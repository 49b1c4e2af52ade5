"""Requests in one piece and in several: the same answers, whichever way they go."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from liveserver import DEVICE, EVENT, KEY, Served, serving
from rawhttp import answers, request

from tailrace.streams.http_direct import DirectProtocol, Whole
from tailrace.streams.intake import Intake

NAMES = re.compile(rb"req_\w+|date: [^\r]*")


@pytest.fixture
def served(tmp_path: Any) -> Iterator[Served]:
    with serving(tmp_path) as found:
        yield found


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> list[Whole]:
    """Requests that go without ASGI."""
    seen: list[Whole] = []
    real = DirectProtocol._answered

    async def answered(self: DirectProtocol, take: Any, call: Whole) -> None:
        seen.append(call)
        await real(self, take, call)

    monkeypatch.setattr(DirectProtocol, "_answered", answered)
    return seen


def halves(data: bytes) -> tuple[bytes, bytes]:
    place = data.index(b"\r\n\r\n") + 6
    return data[:place], data[place:]


@pytest.mark.parametrize(
    "body", [EVENT, EVENT + b"\n{nope", b"{nope", b"\n\n" + b" " * 9], ids=["202", "207", "400", "empty"]
)
@pytest.mark.parametrize("head", [(), ("Connection: close",)], ids=["open", "closed"])
def test_the_same_answer_either_way(body: bytes, head: tuple[str, ...], served: Served, direct: list[Whole]) -> None:
    whole = answers(served, request(body, *head))
    assert len(direct) == 1
    assert sorted(NAMES.sub(b"", whole).split(b"\r\n")) == sorted(
        NAMES.sub(b"", answers(served, *halves(request(body, *head)))).split(b"\r\n")
    )
    assert len(direct) == 1
    assert b"date: " in whole


@pytest.mark.parametrize(("sent", "status"), [
    (request(EVENT, key="0" * 32), b"401"),
    (request(EVENT, "Content-Encoding: br"), b"415"),
    (request(EVENT, "Transfer-Encoding: chunked"), b"400"),
    (request(EVENT * 1000), b"413"),
    (request(EVENT, path="/v1/ingest"), b"415"),
], ids=["key", "encoding", "two ends", "large", "form"])  # fmt: skip
def test_what_is_refused_in_one_piece(sent: bytes, status: bytes, tmp_path: Any) -> None:
    with serving(tmp_path, http='max_body = "10KB"') as served:
        assert answers(served, sent).startswith(b"HTTP/1.1 " + status)
        assert answers(served, request(EVENT)).startswith(b"HTTP/1.1 202")
        assert served.listening.intake.room.held == 0


def test_what_goes_the_other_way(served: Served, direct: list[Whole]) -> None:
    """A key in the URL, another version, a client that waits to be told to go on, other paths and methods."""
    for sent, status in (
        (request(EVENT, path=f"/v1/events?token={KEY}"), b"202"),
        (request(EVENT).replace(b"HTTP/1.1", b"HTTP/1.0"), b"202"),
        (request(EVENT, "Expect: 100-continue"), b"100"),
        (request(b"", path="/v1/nothing"), b"404"),
        (request(b"").replace(b"POST", b"PUT"), b"405"),
    ):
        assert answers(served, sent).startswith(b"HTTP/1.1 " + status)
    assert not direct
    assert len(served.records()) == 3


def test_requests_that_do_not_wait_are_answered_in_turn(served: Served) -> None:
    """Several in one read, and one of them with its end in the next."""
    bodies = [b"\n".join([EVENT] * (number + 1)) for number in range(6)]
    data = b"".join(map(request, bodies))
    for pieces in ((data,), (data[: -len(bodies[-1]) - 7], data[-len(bodies[-1]) - 7 :]), (data[:-9], data[-9:])):
        told = answers(served, *pieces, count=6)
        assert [json.loads(text)["accepted"] for text in re.findall(rb"{[^}]*}", told)] == [1, 2, 3, 4, 5, 6]
    assert len(served.records()) == 18


def test_a_failure_is_told_and_ends_the_connection(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(Intake, "accept", broken)
        told = answers(served, request(EVENT))
    assert told.startswith(b"HTTP/1.1 500")
    assert b"connection: close" in told
    assert served.post("/v1/events", EVENT)[0] == 202


def test_what_is_given_up_at_the_end_ends_its_connection(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async def given_up(*_: object) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(Intake, "accept", given_up)
    assert answers(served, request(EVENT)) == b""


def test_an_answer_to_nobody_is_not_written() -> None:
    """uvloop raises for it."""
    from tailrace.streams.http_server import JoinedWrites

    class Gone:
        closed = False
        written = b""

        def is_closing(self) -> bool:
            return self.closed

        def write(self, data: bytes) -> None:
            assert not self.closed
            self.written += data

    later: list[Any] = []
    loop: Any = type("Loop", (), {"call_soon": staticmethod(later.append)})()
    transport: Any = Gone()
    writes = JoinedWrites(transport, loop)
    for piece in (b"one", b" and two"):
        writes.write(piece)
    later.pop()()
    assert transport.written == b"one and two"
    writes.write(b"three")
    transport.closed = True
    later.pop()()
    assert transport.written == b"one and two"


def test_what_is_under_way_is_answered_at_the_end(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the connection ends with it."""
    real = Intake.accept
    begun = False

    async def slow(self: Intake, record: Any) -> None:
        nonlocal begun
        begun = True
        await asyncio.sleep(0.5)
        await real(self, record)

    monkeypatch.setattr(Intake, "accept", slow)
    with socket.create_connection(served.place("http.h"), timeout=10) as connection:
        connection.sendall(request(EVENT))
        while not begun:
            time.sleep(0.01)
        assert len(served.records()) == 1
        told = connection.recv(65536)
        assert told.startswith(b"HTTP/1.1 202")
        assert b"connection: close" in told
        assert connection.recv(1) == b""
    assert DEVICE.encode() in EVENT

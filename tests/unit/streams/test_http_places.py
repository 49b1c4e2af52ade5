"""Nobody holds a connection for nothing: by bytes that begin no request, or by answers that are not taken."""

from __future__ import annotations

import contextlib
import socket
from typing import Any

import pytest
from liveserver import EVENT, KEY, serving
from rawhttp import request

SOON = 'request_timeout = "0.3s"'
NO_KEY = b"POST /v1/events HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(("first", "then"), [
    (NO_KEY + b"Content-Length: 1000\r\n\r\nx", b"y"),
    (NO_KEY + b"Transfer-Encoding: chunked\r\n\r\n5\r\nx", b"y"),
    (request(b"x" * 9, path="/v1/nothing")[:-5], b"x"),
    (b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n"),
], ids=["rest of a body", "rest of a chunk", "no such path", "line ends"])  # fmt: skip
def test_what_comes_behind_an_answer_has_to_come_in_time(first: bytes, then: bytes, tmp_path: Any) -> None:
    with serving(tmp_path, http=SOON) as served, socket.create_connection(served.place("http.h"), 10) as connection:
        connection.sendall(first)
        assert connection.recv(65536).startswith(b"HTTP/1.1 ")
        connection.sendall(then)
        while connection.recv(65536):
            pass


def test_the_rest_of_a_body_that_was_refused_may_come(tmp_path: Any) -> None:
    """And the next request of the connection is answered, whenever it comes."""
    refused = NO_KEY + b"Content-Length: 200000\r\n\r\n"
    with serving(tmp_path) as served, socket.create_connection(served.place("http.h"), 10) as connection:
        connection.sendall(refused)
        assert connection.recv(65536).startswith(b"HTTP/1.1 401")
        for _ in range(10):
            connection.sendall(b"x" * 20_000)
        connection.sendall(request(EVENT, key=KEY))
        assert connection.recv(65536).startswith(b"HTTP/1.1 202")


def test_who_takes_no_answers_is_given_up(tmp_path: Any) -> None:
    asked = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 100
    with serving(tmp_path, http=SOON) as served, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(10)
        connection.connect(served.place("http.h"))
        with contextlib.suppress(ConnectionError):  # else it times out
            while True:
                connection.sendall(asked)
        assert served.post("/v1/events", EVENT)[0] == 202

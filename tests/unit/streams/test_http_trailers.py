"""What stands beside the body of a request: fields behind it, and text beside the sizes of its chunks."""

from __future__ import annotations

import contextlib
import socket
import time

import pytest
from liveserver import EVENT, KEY, OTHER, serving

HEAD = f"POST /v1/events HTTP/1.1\r\nHost: x\r\nX-API-Key: {KEY}\r\n"


@pytest.mark.parametrize("form", [b"0\r\n%s", b"0\r\nx: %s", b"5;%s"], ids=["fields", "one field", "beside a size"])
@pytest.mark.parametrize("key", [KEY, "0" * 32], ids=["known", "unknown"])
def test_what_stands_beside_a_body_is_bounded(tmp_path, form, key):
    """An answer may have been given before; nothing of it is held."""
    endless = b"".join(b"x%05d: y\r\n" % number for number in range(7000)) if form == b"0\r\n%s" else b"y" * 90_000
    head = HEAD.replace(KEY, key) + "Transfer-Encoding: chunked\r\n\r\n"
    with serving(tmp_path) as served:
        with socket.create_connection(served.place("http.h"), timeout=20) as client, contextlib.suppress(OSError):
            client.sendall(head.encode() + b"%x\r\n%s\r\n" % (len(EVENT), EVENT) + form % b"")
            for _ in range(200):
                client.sendall(endless)
            pytest.fail("took 20 MB of it")
        assert served.post("/v1/events", EVENT)[0] == 202
        assert len(served.rows("events")) == 1


def test_fields_behind_a_body_say_nothing_of_the_request(tmp_path):
    body = b"%x\r\n%s\r\n0\r\n" % (len(EVENT), EVENT)
    late = {"Content-Encoding: gzip": b"202", "Idempotency-Key: k": b"202", f"Authorization: Bearer {OTHER}": b"202"}
    with serving(tmp_path) as served:
        for cut in (None, 4):
            for field, status in (*late.items(), (f"X-API-Key: {KEY}", b"401")):
                head = "\r\n".join(["POST /v1/events HTTP/1.1", "Host: x", "Transfer-Encoding: chunked", ""])
                given = "" if status == b"401" else f"X-API-Key: {KEY}\r\n"
                sent = (head + given + "\r\n").encode() + body + field.encode() + b"\r\n\r\n"
                with socket.create_connection(served.place("http.h"), timeout=20) as client:
                    for piece in (sent,) if cut is None else (sent[:-cut], sent[-cut:]):
                        client.sendall(piece)
                        time.sleep(0.05)
                    assert client.recv(4096)[9:12] == status
        assert [row["workspace_id"] for row in served.rows("events")] == [42] * 6


def test_many_requests_without_bodies_are_no_endless_one(tmp_path):
    with serving(tmp_path) as served, socket.create_connection(served.place("http.h"), timeout=20) as client:
        for _ in range(40):
            client.sendall(b"GET /health HTTP/1.1\r\nX: " + b"y" * 2000 + b"\r\n\r\n")
            assert client.recv(4096)[9:12] == b"200"

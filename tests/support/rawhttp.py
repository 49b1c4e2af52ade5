"""Requests over HTTP as bytes, in as many pieces as one likes, and what comes back."""

from __future__ import annotations

import socket
import time

from liveserver import KEY, Served


def request(body: bytes, *head: str, path: str = "/v1/events", key: str = KEY) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"X-API-Key: {key}", f"Content-Length: {len(body)}", *head]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def answers(served: Served, *pieces: bytes, count: int = 1) -> bytes:
    """What comes back, as far as `count` answers or the end of the connection."""
    with socket.create_connection(served.place("http.h"), timeout=10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number, piece in enumerate(pieces):
            if number:
                time.sleep(0.05)
            connection.sendall(piece)
        found = b""
        while found.count(b"HTTP/1.1 ") < count or not found.endswith(b"}"):
            if not (more := connection.recv(65536)):
                break
            found += more
        return found

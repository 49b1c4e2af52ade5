"""Valid events of about 200 bytes, made once, sent again and again with new times; every answer is looked at."""

from __future__ import annotations

import json
import random
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

EACH = 100
"Events of a batch."
POOL = 200
"Different batches; what the same one leaves in a file is megabytes apart."
KEY = "000102030405060708090a0b0c0d0e0f"
_FIRST_STAMP = 0x1122334455660000
_DIGITS = 13


@dataclass(slots=True)
class Sent:
    """What one sender did."""

    rows: int = 0
    bytes: int = 0
    began: float = 0.0
    ended: float = 0.0
    times: list[int] = field(default_factory=lambda: [0] * POOL)
    "How often each batch was sent."
    acknowledged: list[tuple[float, float]] = field(default_factory=list)
    "When a request was answered, and how long that took."


class Batch:
    """Bytes in which the times of all events are written anew before they are sent."""

    def __init__(self, data: bytes, places: npt.NDArray[np.int64], text: bool) -> None:
        self.data = np.frombuffer(data, np.uint8).copy()
        self.text = text
        width = _DIGITS if text else 8
        self.places = places[:, None] + np.arange(width)

    def stamped(self, moment: int) -> memoryview:
        now = str(moment).encode() if self.text else moment.to_bytes(8, "little")
        self.data[self.places] = np.frombuffer(now, np.uint8)
        return self.data.data


def _event(chosen: random.Random, batch: int, number: int, stamp: int) -> dict[str, Any]:
    page = f"/products/{chosen.randrange(10**6)}?from={chosen.choice(('mail', 'search', 'home'))}"
    payload = {"page": page, "user": chosen.randrange(10**7), "ms": chosen.randrange(4000)}
    return {
        "type": 1, "timestamp": stamp, "device": chosen.randbytes(16), "session": chosen.randbytes(16),
        "name": f"e{batch}.{number}", "payload": json.dumps(payload).encode(), "service": "shop",
    }  # fmt: skip


def frames() -> list[Batch]:
    """FlatBuffers behind their length, events of the newer layout."""
    import flatwrite as fw  # type: ignore[import-not-found]

    chosen, made = random.Random(1), []
    for batch in range(POOL):
        stamps = [_FIRST_STAMP + n for n in range(EACH)]
        data = fw.framed(fw.events([_event(chosen, batch, n, stamp) for n, stamp in enumerate(stamps)]))
        places = np.array([data.index(stamp.to_bytes(8, "little")) for stamp in stamps])
        made.append(Batch(data, places, text=False))
    return made


def requests() -> list[Batch]:
    """JSON lines as whole requests."""
    chosen, made = random.Random(1), []
    for batch in range(POOL):
        lines = []
        for number in range(EACH):
            event = _event(chosen, batch, number, 0)
            lines.append(
                b'{"type":"track","event":"%s","device_id":"%s","session_id":"%s","timestamp":%s,"properties":%s}'
                % (event["name"].encode(), str(uuid.UUID(bytes=event["device"])).encode(), event["session"].hex()
                   .encode(), b"#" * _DIGITS, event["payload"])
            )  # fmt: skip
        body = b"\n".join(lines)
        head = f"POST /v1/events HTTP/1.1\r\nHost: x\r\nX-API-Key: {KEY}\r\nContent-Length: {len(body)}\r\n\r\n"
        data = head.encode() + body
        places = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("#"))[::_DIGITS]
        made.append(Batch(data, places, text=True))
    return made


def send(kind: str, place: tuple[str, int], seconds: float, rate: float, connections: int) -> Sent:
    """Over so many connections at once, until the time is over; `rate` = rows a second in all, 0 = what goes."""
    pool = frames() if kind == "tcp" else requests()
    one = _send_frames if kind == "tcp" else _send_requests
    each = [Sent() for _ in range(connections)]
    threads = [
        threading.Thread(target=_paced, args=(one, pool[n::connections], place, seconds, rate / connections, each[n]))
        for n in range(connections)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = Sent(began=min(sent.began for sent in each), ended=max(sent.ended for sent in each))
    for number, sent in enumerate(each):
        whole.rows += sent.rows
        whole.bytes += sent.bytes
        whole.acknowledged += sent.acknowledged
        whole.times[number::connections] = sent.times[: len(pool[number::connections])]
    whole.acknowledged.sort()
    return whole


_One = Callable[[socket.socket, Batch, Sent], None]


def _paced(one: _One, pool: list[Batch], place: tuple[str, int], seconds: float, rate: float, sent: Sent) -> None:
    with socket.create_connection(place, timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sent.began = time.time()
        turn = 0
        while time.time() - sent.began < seconds:
            if rate:
                time.sleep(max(sent.began + sent.rows / rate - time.time(), 0))
            one(connection, pool[turn % len(pool)], sent)
            sent.times[turn % len(pool)] += 1
            sent.rows += EACH
            turn += 1
        if one is _send_frames:
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)  # it has read everything
        sent.ended = time.time()


def _send_frames(connection: socket.socket, batch: Batch, sent: Sent) -> None:
    data = batch.stamped(time.time_ns() // 1_000_000)
    connection.sendall(data)
    sent.bytes += len(data)


def _send_requests(connection: socket.socket, batch: Batch, sent: Sent) -> None:
    data = batch.stamped(time.time_ns() // 1_000_000)
    before = time.time()
    connection.sendall(data)
    answer = connection.recv(4096)
    after = time.time()
    while b'"request_id"' not in answer:
        more = connection.recv(4096)
        if not more:
            raise ConnectionError(f"the server went away: {answer!r}")
        answer += more
    if not answer.startswith(b"HTTP/1.1 202"):
        raise RuntimeError(f"not accepted: {answer!r}")
    sent.bytes += len(data)
    sent.acknowledged.append((after, after - before))

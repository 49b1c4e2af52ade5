"""Valid events of about 200 bytes, made once, sent again and again with new times; every answer is looked at."""

from __future__ import annotations

import json
import random
import select
import socket
import sys
import threading
import time
import uuid
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
    cpu: float = 0.0
    "Seconds of the sender's process, all of it."
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
    if kind == "tcp":
        sent = _send_frames(place, seconds, rate, connections)
    else:
        sent = _Requests(place, seconds, rate, connections).sent()
    sent.cpu = time.process_time()
    return sent


def _send_frames(place: tuple[str, int], seconds: float, rate: float, connections: int) -> Sent:
    pool = frames()
    each = [Sent() for _ in range(connections)]
    threads = [
        threading.Thread(target=_paced, args=(pool[n::connections], place, seconds, rate / connections, each[n]))
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
        whole.times[number::connections] = sent.times[: len(pool[number::connections])]
    return whole


def _paced(pool: list[Batch], place: tuple[str, int], seconds: float, rate: float, sent: Sent) -> None:
    with socket.create_connection(place, timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sent.began = time.time()
        turn = 0
        while time.time() - sent.began < seconds:
            if rate:
                time.sleep(max(sent.began + sent.rows / rate - time.time(), 0))
            data = pool[turn % len(pool)].stamped(time.time_ns() // 1_000_000)
            connection.sendall(data)
            sent.bytes += len(data)
            sent.times[turn % len(pool)] += 1
            sent.rows += EACH
            turn += 1
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)  # it has read everything
        sent.ended = time.time()


class _Requests:
    """Requests over several connections in one thread: each sends the next one when its last was answered."""

    def __init__(self, place: tuple[str, int], seconds: float, rate: float, connections: int) -> None:
        self.pool, self.seconds, self.rate = requests(), seconds, rate
        self.open = [socket.create_connection(place, timeout=60) for _ in range(connections)]
        self.since = [0.0] * connections
        self.answers = [b""] * connections
        self.idle = list(range(connections))
        self.all = Sent()
        self.turn = 0

    def sent(self) -> Sent:
        """Until the time is over, and everything is answered."""
        found = select.epoll()
        for connection in self.open:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            found.register(connection.fileno(), select.EPOLLIN)
        numbers = {connection.fileno(): number for number, connection in enumerate(self.open)}
        self.all.began = time.time()
        while True:
            over = time.time() - self.all.began >= self.seconds
            if over and len(self.idle) == len(self.open):
                break
            wait = 60.0 if over else self._send_due()
            for handle, _ in found.poll(wait):
                self._receive(numbers[handle])
        self.all.ended = time.time()
        found.close()
        for connection in self.open:
            connection.close()
        return self.all

    def _send_due(self) -> float:
        """Seconds until the next request may be sent."""
        while self.idle:
            if self.rate and (early := self.all.began + self.all.rows / self.rate - time.time()) > 0:
                return early
            number, place = self.idle.pop(), self.turn % len(self.pool)
            data = self.pool[place].stamped(time.time_ns() // 1_000_000)
            self.since[number], self.answers[number] = time.time(), b""
            self.open[number].sendall(data)
            self.turn += 1
            self.all.times[place] += 1
            self.all.rows += EACH
            self.all.bytes += len(data)
        return 60.0

    def _receive(self, number: int) -> None:
        more = self.open[number].recv(4096)
        answer = self.answers[number] = self.answers[number] + more
        if not more:
            raise ConnectionError(f"the server went away: {answer!r}")
        if b'"request_id"' not in answer:
            return
        if not answer.startswith(b"HTTP/1.1 202"):
            raise RuntimeError(f"not accepted: {answer!r}")
        now = time.time()
        self.all.acknowledged.append((now, now - self.since[number]))
        self.idle.append(number)

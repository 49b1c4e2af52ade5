"""Files → a listener: JSON lines over HTTP, syslog lines over TCP or UDP, frames over TCP."""

from __future__ import annotations

import gzip
import hashlib
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import urllib3

from tailrace.core.errors import SourceError, UsageError

SCHEMES = ("http", "https", "syslog", "syslog+udp", "tcp")
_PATIENCE = 120.0
_DATAGRAMS_A_SECOND = 5000
_LATER = (429, 503)
"Too many requests, or the spool is full: both pass."


@dataclass(slots=True)
class Sent:
    """What came of it."""

    lines: int = 0
    accepted: int = 0
    rejected: int = 0
    requests: int = 0
    retries: int = 0
    first_rejected: str | None = None
    "File, line and what is wrong with it."


@dataclass(frozen=True, slots=True)
class Target:
    """Where lines go, and how."""

    url: str
    key: str = ""
    kind: str = "events"
    batch: int = 1000
    compress: bool = False

    def send(self, paths: list[Path]) -> Sent:
        """All lines of all files."""
        scheme = urlsplit(self.url).scheme
        if scheme not in SCHEMES:
            raise UsageError(f"'{self.url}' is no place to send to", hint=f"begin it with one of {', '.join(SCHEMES)}")
        for path in paths:
            if not path.is_file():
                raise UsageError(f"{path} is no file")
        try:
            if scheme in ("http", "https"):
                return self._over_http(paths)
            return self._over_socket(paths, scheme)
        except (OSError, urllib3.exceptions.HTTPError) as error:
            raise SourceError(f"cannot send to {self.url}: {error}", code="send.failed") from None

    def _over_http(self, paths: list[Path]) -> Sent:
        sent = Sent()
        pool = urllib3.PoolManager(retries=False, timeout=30.0)
        address = f"{self.url.rstrip('/')}/v1/{self.kind}"
        for number, (path, lines) in enumerate(_batches(paths, self.batch)):
            body = b"\n".join(lines.values())
            name = hashlib.sha256(f"{path}:{number}".encode() + body).hexdigest()
            answer = self._posted(pool, address, body, name, sent)
            told = _told(answer.data)
            # A request of which no line is good says how many; other 400s are about all of it.
            if answer.status not in (202, 207) and not (answer.status == 400 and "rejected" in told):
                message = f"{address} answered {answer.status}: {told.get('message', '')}"
                raise SourceError(message, code="send.refused", where=str(path))
            sent.lines += len(lines)
            sent.accepted += told.get("accepted", 0)
            sent.rejected += told.get("rejected", 0)
            if sent.first_rejected is None and (found := _first_error(told)):
                place, text = found
                sent.first_rejected = f"{path}:{[*lines][place]}, sent as {self.kind}: {text}"
        return sent

    def _posted(
        self, pool: urllib3.PoolManager, address: str, body: bytes, name: str, sent: Sent
    ) -> urllib3.BaseHTTPResponse:
        """Tries again, under the same name, as long as the listener is full or away."""
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/x-ndjson",
            "Idempotency-Key": name,
        }
        if self.compress:
            body, headers["Content-Encoding"] = gzip.compress(body, 1), "gzip"
        deadline = time.monotonic() + _PATIENCE
        while True:
            sent.requests += 1
            try:
                answer = pool.request("POST", address, body=body, headers=headers)
                if answer.status not in _LATER or time.monotonic() > deadline:
                    return answer
                pause = _seconds(answer.headers.get("Retry-After", ""))
            except urllib3.exceptions.HTTPError:
                if time.monotonic() > deadline:
                    raise
                pause = 1.0
            sent.retries += 1
            time.sleep(pause)

    def _over_socket(self, paths: list[Path], scheme: str) -> Sent:
        place = urlsplit(self.url)
        if place.hostname is None or place.port is None:
            raise UsageError(f"'{self.url}' needs a host and a port")
        sent = Sent()
        kind = socket.SOCK_DGRAM if scheme == "syslog+udp" else socket.SOCK_STREAM
        family, *_, address = socket.getaddrinfo(place.hostname, place.port, type=kind)[0]
        with socket.socket(family, kind) as connection:
            connection.connect(address)
            if scheme == "tcp":
                for path in paths:
                    sent.lines += _send_frames(connection, path)
                sent.accepted = sent.lines
            else:
                for _, lines in _batches(paths, self.batch):
                    _send_lines(connection, [*lines.values()], scheme)
                    sent.lines += len(lines)
                    sent.accepted += len(lines)
            if kind == socket.SOCK_STREAM:
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(30.0)
                connection.recv(1)  # the listener closes once it has read everything
        return sent


def _told(data: bytes) -> dict[str, Any]:
    """What a listener answers; other servers and proxies say something else."""
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.MsgspecError:
        return {}


def _first_error(told: dict[str, Any]) -> tuple[int, str] | None:
    """Which line of a request was rejected first, counted from zero, and why."""
    match told.get("errors"):
        case [{"line": int(line), "error": str(text)}, *_]:
            return line - 1, text
    return None


def _seconds(retry_after: str) -> float:
    """A second where there is no number: it may be a date."""
    return min(float(retry_after), _PATIENCE) if retry_after.isdecimal() else 1.0


def _send_frames(connection: socket.socket, path: Path) -> int:
    """Their number; what is no whole frame is not sent, since it would end the connection."""
    data, at, frames = path.read_bytes(), 0, 0
    while at < len(data):
        at += 4 + int.from_bytes(data[at : at + 4])
        frames += 1
    if at != len(data):
        hint = "write each behind its length: four bytes, big end first"
        raise UsageError(f"{path} does not end with a frame", hint=hint)
    connection.sendall(data)
    return frames


def _send_lines(connection: socket.socket, lines: list[bytes], scheme: str) -> None:
    if scheme == "syslog":
        connection.sendall(b"".join(line + b"\n" for line in lines))
        return
    for line in lines:
        connection.send(line)
    time.sleep(len(lines) / _DATAGRAMS_A_SECOND)


def _batches(paths: list[Path], size: int) -> Iterator[tuple[Path, dict[int, bytes]]]:
    """Lines by their numbers."""
    for path in paths:
        held: dict[int, bytes] = {}
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    held[number] = line.rstrip(b"\r\n")
                if len(held) == size:
                    yield path, held
                    held = {}
        if held:
            yield path, held

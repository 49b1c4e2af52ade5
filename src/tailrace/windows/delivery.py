"""Results go to an OTLP/HTTP address as well, after their window is finished and before that is written down.

Whoever dies in between sends a result again: a request carries the window and its place in it as `Idempotency-Key`,
by which a receiver can tell that it has it already.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec
import urllib3
from urllib3.exceptions import HTTPError

from tailrace.core.errors import SourceError, one_line
from tailrace.formats.protobuf_wire import SPAN, VARINT, varint, walk

REQUEST = 4 << 20
"Bytes of a request at most, unless one resource has more."
ATTEMPTS = 6
LONGEST_WAIT = 60.0
"Seconds before the next try, whatever the other side asks for."
_TYPES = {".pb": "application/x-protobuf", ".jsonl": "application/json"}
SENT = tuple(_TYPES)
"Ends of names of results that are OTLP; reports are not."
_AGAIN = (429, 502, 503, 504)
"Answers after which the protocol says to try again."
_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where results are sent to; it travels to no task."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    backoff: float = 0.5
    "Seconds before the second try; each one after it waits twice as long."

    @property
    def address(self) -> str:
        """The base address of a collector stands for its logs."""
        return self.url if urlsplit(self.url).path.strip("/") else f"{self.url.rstrip('/')}/v1/logs"

    def send(self, name: str, body: bytes, key: str) -> int:
        """One result, by its name; returns how many logs the other side has not taken."""
        suffix = name[name.rindex(".") :]
        pieces = _lines(body) if suffix == ".jsonl" else _requests(body)
        retry = _Retry(
            total=ATTEMPTS, backoff_factor=self.backoff, status_forcelist=_AGAIN, allowed_methods=None,
            raise_on_status=False,
        )  # fmt: skip
        rejected = 0
        with urllib3.PoolManager(timeout=_SECONDS, retries=retry) as pool:
            for number, piece in enumerate(pieces):
                headers = dict(self.headers) | {
                    "Content-Type": _TYPES[suffix], "Content-Encoding": "gzip", "Idempotency-Key": f"{key}/{number}",
                }  # fmt: skip
                try:
                    answer = pool.request("POST", self.address, body=gzip.compress(piece, 1), headers=headers)
                except HTTPError as error:
                    raise self._failed(one_line(error), name) from None
                if answer.status >= 300:
                    raise self._failed(f"it answers {answer.status}", name)
                rejected += _rejected(answer.data, answer.headers.get("Content-Type") or _TYPES[suffix])
        return rejected

    def _failed(self, reason: str, name: str) -> SourceError:
        hint = "what is not delivered is sent by the next run"
        message = f"{name} cannot be delivered: {reason}"
        return SourceError(message, code="window.delivery", where=self.address, hint=hint)


def _lines(body: bytes) -> Iterator[bytes]:
    return (line for line in body.splitlines() if line)


def _requests(body: bytes) -> Iterator[bytes]:
    """A message cut between resources: each piece is one too."""
    start = at = 0
    while at < len(body):
        size, after = varint(body, at + 1, len(body))
        if after + size - start > REQUEST and at > start:
            yield body[start:at]
            start = at
        at = after + size
    if at > start:
        yield body[start:at]


class _Retry(urllib3.Retry):
    """Whoever asks for hours is asked again by the next run."""

    def get_retry_after(self, response: urllib3.BaseHTTPResponse) -> float | None:
        told = super().get_retry_after(response)
        return None if told is None else min(told, LONGEST_WAIT)


class _Partial(msgspec.Struct, rename="camel"):
    rejected_log_records: int = 0


class _Answer(msgspec.Struct, rename="camel"):
    partial_success: _Partial | None = None


def _rejected(answer: bytes, kind: str) -> int:
    """ExportLogsServiceResponse.partial_success.rejected_log_records; 0 where it is none."""
    if kind.startswith(_TYPES[".jsonl"]):
        try:
            # Numbers of 64 bits are texts in JSON.
            partial = msgspec.json.decode(answer, type=_Answer, strict=False).partial_success
        except msgspec.DecodeError:
            return 0
        return partial.rejected_log_records if partial else 0
    return sum(value for _, number, wire, value, _ in _of(answer, 1) if (number, wire) == (1, VARINT))


def _of(message: bytes, wanted: int) -> list[tuple[int, ...]]:
    data = memoryview(message)
    outer: list[tuple[int, ...]] = []
    inner: list[tuple[int, ...]] = []
    walk(data, 0, 0, len(data), outer)
    for _, number, wire, size, start in outer:
        if (number, wire) == (wanted, SPAN):
            walk(data, 0, start, start + size, inner)
    return inner

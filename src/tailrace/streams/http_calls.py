"""A request and its answer as listeners see them, however the bytes came."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

_JSON = "application/json"


class Call(Protocol):
    """What is asked of a request."""

    held: int
    "Its bytes that are in memory."

    @property
    def headers(self) -> Mapping[str, str]:
        """By their names in small letters, see `by_name`."""

    @property
    def token(self) -> str:
        """A key in the URL."""

    @property
    def peer(self) -> str:
        """The address at the other end of the connection."""

    @property
    def whole(self) -> bytes | None:
        """The body, if all of it has come."""

    def stream(self) -> AsyncIterator[bytes]:
        """The body in pieces, as they come."""


def by_name(given: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Of several headers with one name the first; but all that proxies said, each behind what it was told."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(given)}
    if len(headers) < len(given):
        hops = [value.decode("latin-1") for name, value in given if name == b"x-forwarded-for"]
        headers["x-forwarded-for"] = ", ".join(hops)
    return headers


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is told."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = _JSON

    def packed(self, always: Iterable[tuple[bytes, bytes]], keep_alive: bool) -> bytes:
        """As it goes over the wire; `always` are headers that every answer has."""
        told = [b"%s: %s\r\n" % header for header in always]
        told += [f"{name.lower()}: {value}\r\n".encode("latin-1") for name, value in self.headers.items()]
        if not keep_alive and not self.closes:
            told.append(b"connection: close\r\n")
        rest = b"content-length: %d\r\ncontent-type: %s\r\n\r\n" % (len(self.body), self.media_type.encode())
        return b"".join((STATUS_LINE[self.status], *told, rest, self.body))

    @property
    def closes(self) -> bool:
        """Is it the last one on its connection?"""
        return self.headers.get("Connection") == "close"


Handle = Callable[[Call], Awaitable[Answer]]


def answer(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer in JSON."""
    return Answer(status, msgspec.json.encode(body), headers or {})

"""Services that are asked for slices of time, page by page. A kind of source declares an `Api`."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import BinaryIO
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw

from tailrace.config.model import ConnectionSpec
from tailrace.core import Artifact, ConfigError, SourceError, TimeRange
from tailrace.sources.base import DENIED, Asked, Found
from tailrace.sources.credentials import text_of
from tailrace.sources.json_paths import moment_at
from tailrace.sources.pages import ONE_PAGE, Page, Paging, pages
from tailrace.sources.slices import HOURLY, Pairs, Slice, Slicing, named, slice_of, sliced, stamp, undated
from tailrace.sources.streaming import LINE_ENDS_TO_BLANKS, streamed
from tailrace.sources.web import USUAL, Auth, Manners, Request, Web

DENIED_FOR = 10.0
"Seconds."
_denied: dict[Api, tuple[SourceError, float]] = {}
_EPOCH = datetime(1970, 1, 1)
TIME_FORMATS: Mapping[str, Callable[[datetime], str]] = {
    "rfc3339": stamp,
    "date": lambda moment: moment.strftime("%Y-%m-%d"),
    "epoch": lambda moment: str((moment - _EPOCH) // timedelta(seconds=1)),
    "epoch_ms": lambda moment: str((moment - _EPOCH) // timedelta(milliseconds=1)),
}


@dataclass(frozen=True, slots=True)
class Api:
    """How a service is asked. `{from}` and `{to}` in `url`, `params` and `body` stand for the slice."""

    address: str
    "How the URIs of its artifacts begin."
    url: str = field(repr=False)
    "May hold a key, as may `params` and `body`: `asked` tells what of them may be shown."
    auth: Auth
    asked: Pairs = ()
    "What else decides on the answer: part of the URIs."
    params: Pairs = field(default=(), repr=False)
    body: bytes | None = field(default=None, repr=False)
    headers: Pairs = ()
    records: str = ""
    "Dotted path of the array with the records."
    may_lack_records: bool = False
    paging: Paging = ONE_PAGE
    times: str = "rfc3339"
    cut: str = ""
    "Dotted path of a record's time, for services that give more than the slice."
    newest_first: bool = False
    "The service goes back in time on its own: it is read until the slice begins."
    manners: Manners = USUAL


@dataclass(frozen=True, slots=True)
class ApiSource(Asked):
    """The records of an API as JSON lines."""

    kind: str
    api: Api
    slicing: Slicing | None = HOURLY
    "None = the service knows no time: it is asked for everything, every time."

    def discover(self, window: TimeRange) -> Iterator[Found]:
        if self.slicing is None:
            yield undated(self.kind, named(self.api.address, self.api.asked))
        else:
            yield from sliced(self.kind, self.api.address, self.api.asked, self.slicing, window)

    def open(self, artifact: Artifact) -> BinaryIO:
        return streamed(self._lines(artifact))

    def _lines(self, artifact: Artifact) -> Generator[bytes]:
        return self.lines(slice_of(artifact) if self.slicing else None, artifact.location)

    def lines(self, piece: Slice | None, where: str) -> Generator[bytes]:
        """The records of a slice, or all there are, page by page; `where` is what errors name."""
        api = self.api
        request = self._request(piece)
        web = Web(api.manners, api.auth, request.url, where)
        found = pages(web, request, api.paging, api.records, api.may_lack_records)
        for page in _unless_denied(api, found, where):
            records, reached = page.records, False
            if piece and api.cut:
                records, reached = _within(records, piece, api.cut)
            if records:
                yield _lines_of(records, page)
            if reached and api.newest_first:
                return

    def _request(self, piece: Slice | None) -> Request:
        api = self.api
        told = TIME_FORMATS[api.times]
        marks = {"{from}": told(piece.start), "{to}": told(piece.end)} if piece else {}

        def filled(text: str) -> str:
            for mark, value in marks.items():
                text = text.replace(mark, value)
            return text

        params = tuple((name, filled(value)) for name, value in api.params)
        body = filled(api.body.decode()).encode() if api.body is not None else None
        method = "GET" if api.body is None else "POST"
        return Request(filled(api.url), params, method, body, headers=api.headers)


def _unless_denied(api: Api, found: Iterator[Page], where: str) -> Iterator[Page]:
    """Where credentials were refused a moment ago, the next slice is not asked for: accounts get locked that way."""
    denied, since = _denied.get(api, (None, 0.0))
    if denied and time.monotonic() - since < DENIED_FOR:
        raise SourceError(denied.message, code=DENIED, where=where)
    try:
        yield from found
    except SourceError as error:
        if error.code == DENIED:
            _denied[api] = error, time.monotonic()
        raise


def _within(records: list[Raw], piece: Slice, path: str) -> tuple[list[Raw], bool]:
    """Records of the slice, and whether one lay before it; a record that tells no time is kept."""
    moments = [moment_at(record, path) for record in records]
    kept = [r for r, at in zip(records, moments, strict=True) if at is None or piece.start <= at < piece.end]
    return kept, any(at is not None and at < piece.start for at in moments)


def _lines_of(records: list[Raw], page: Page) -> bytes:
    if b"\n" in page.body or b"\r" in page.body:
        # Texts cannot hold line ends in JSON: these stand between values.
        return b"\n".join(bytes(record).translate(LINE_ENDS_TO_BLANKS) for record in records) + b"\n"
    return b"\n".join(records) + b"\n"


def manners_of(args: Mapping[str, object], connection: ConnectionSpec | None = None) -> Manners:
    """As the arguments of the source say."""

    def number(name: str, otherwise: float) -> float:
        value = args.get(name)
        return float(value) if isinstance(value, (int, float)) else otherwise

    return Manners(
        number("request_timeout", USUAL.timeout),
        int(number("max_retries", USUAL.retries)),
        number("max_backoff", USUAL.max_backoff),
        number("rate_limit", 0) or None,
        text_of(connection, "ca_file"),
    )


def server(given: str, kind: str, argument: str) -> str:
    """The address of a server, however it was written, without a slash at its end."""
    url = given if "://" in given else f"https://{given}"
    parts = urlsplit(url)
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if not parts.hostname or parts.username or parts.query or parts.scheme not in ("https", "http"):
        raise ConfigError(
            f"`{argument}` of source '{kind}' must be the address of a server",
            code="config.bad-argument", hint=f'{argument} = "https://example.com"; credentials belong to a connection',
        )  # fmt: skip
    if parts.scheme == "http" and not local:
        raise ConfigError(f"`{argument}` must begin with https://", code="config.bad-argument")
    return url.rstrip("/")


def json_body(value: object) -> bytes:
    return msgspec.json.encode(value)

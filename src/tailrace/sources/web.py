"""Requests to services: patient, polite, bounded, and silent about credentials."""

from __future__ import annotations

import random
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.exceptions import HTTPError

from tailrace.core import SourceError
from tailrace.sources.answers import Answer, limit_ends, pause_asked, refusal, words_for
from tailrace.sources.base import DENIED, IO
from tailrace.sources.pacing import wait_for_turn
from tailrace.sources.slices import Pairs
from tailrace.version import __version__

LARGEST_ANSWER = 64 << 20
LONGEST_PAUSE = 900.0
"Seconds that a service may ask for; beyond that the next run tries again."
_CONNECT = 15.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 509, 520, 521, 522, 523, 524, 529})
_PIECE = 256 * 1024


@dataclass(frozen=True, slots=True)
class Manners:
    """How a service is treated."""

    timeout: float = 60
    retries: int = 5
    max_backoff: float = 30
    rate: float | None = None
    "Requests a second."
    ca_file: str | None = None


USUAL = Manners()


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked; it holds no credentials."""

    url: str
    params: Pairs = ()
    method: str = "GET"
    body: bytes | None = None
    content_type: str = "application/json"
    headers: Pairs = ()

    @property
    def address(self) -> str:
        if not self.params:
            return self.url
        return f"{self.url}{'&' if '?' in self.url else '?'}{urlencode(self.params)}"


class Auth(Protocol):
    """Credentials, revealed when a request is made."""

    def headers(self) -> Mapping[str, str]: ...

    def params(self) -> Pairs: ...

    def forget(self) -> bool:
        """Whether another try may get other credentials."""
        ...


@dataclass(slots=True)
class Web:
    """Asks one service on behalf of one artifact."""

    manners: Manners
    auth: Auth
    home: str
    "Where credentials may go: this origin and no other."
    where: str
    "What errors name in place of the URL."
    not_before: float = field(default=0.0, init=False)

    def ask(self, request: Request) -> Answer:
        """The answer, after as many tries as it takes; SourceError when it is not to be had."""
        reason = ""
        renewed = False
        for attempt in range(self.manners.retries + 1):
            self._wait()
            try:
                answer = self._follow(request)
            except (HTTPError, OSError, EOFError) as error:
                reason, pause = words_for(error, self.manners.timeout), None
            else:
                self.not_before = limit_ends(answer, time.time())
                if answer.status < 300:
                    return answer
                if answer.status == 401 and not renewed and self.auth.forget():
                    renewed = True
                    continue
                pause = pause_asked(answer, time.time())
                if answer.status not in _AGAIN and pause is None:
                    raise refusal(answer, self.where, self._secrets())
                reason = f"the service answers with status {answer.status}"
            if attempt < self.manners.retries:
                self._pause(attempt, pause)
        raise SourceError(
            f"{reason}, also after {self.manners.retries} more tries",
            code=IO, where=self.where, hint="the next run tries again",
        )  # fmt: skip

    def _follow(self, request: Request) -> Answer:
        method, url, body = request.method, request.address, request.body
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._once(method, url, body, request)
            if answer.status not in _REDIRECTS or "location" not in answer.headers:
                return answer
            url = urljoin(url, answer.headers["location"])
            if answer.status == 303 or (answer.status in (301, 302) and method == "POST"):
                method, body = "GET", None
        raise SourceError("the service redirects in circles", code=DENIED, where=self.where)

    def _once(self, method: str, url: str, body: bytes | None, request: Request) -> Answer:
        self._check(url)
        headers = {"User-Agent": f"tailrace/{__version__}", "Accept-Encoding": "gzip", **dict(request.headers)}
        headers.setdefault("Accept", "application/json")
        if body is not None:
            headers["Content-Type"] = request.content_type
        if origin(url) == origin(self.home):
            headers.update(self.auth.headers())
            secret = self.auth.params()
            url = Request(url, secret).address
        began = time.monotonic()
        limit = self.manners.timeout
        response = _pool(self.manners.ca_file, _proxy(url)).request(
            method, url, body=body, headers=headers, redirect=False, retries=False, preload_content=False,
            timeout=urllib3.Timeout(connect=min(limit, _CONNECT), read=limit),
        )  # fmt: skip
        with _released(response):
            parts, size = [], 0
            while piece := response.read1(_PIECE, decode_content=True):
                parts.append(piece)
                size += len(piece)
                if size > LARGEST_ANSWER:
                    raise SourceError(
                        f"an answer is larger than {LARGEST_ANSWER >> 20} MB",
                        code="source.too-large", where=self.where, hint="ask for smaller pages",
                    )  # fmt: skip
                if time.monotonic() - began > limit:
                    raise TimeoutError
            return Answer(response.status, response.headers, b"".join(parts), url)

    def _check(self, url: str) -> None:
        """Credentials, and logs, do not travel in the open."""
        parts = urlsplit(url)
        if parts.scheme == "https" or (parts.scheme == "http" and self.home.startswith("http://")):
            return
        raise SourceError("the service leads to an address without TLS", code=DENIED, where=self.where)

    def _wait(self) -> None:
        if self.manners.rate:
            wait_for_turn(origin(self.home), self.manners.rate)
        if self.not_before > time.time():
            self._pause(0, self.not_before - time.time())

    def _pause(self, attempt: int, asked: float | None) -> None:
        if asked is not None and asked > LONGEST_PAUSE:
            until = time.strftime("%H:%M:%S", time.gmtime(time.time() + asked))
            message = f"the service wants no further request before {until} UTC"
            raise SourceError(message, code=IO, where=self.where, hint="the next run goes on")
        # Jitter: tasks that were refused together do not come back together.
        longest = min(self.manners.max_backoff, 0.5 * 2**attempt)
        time.sleep(asked if asked is not None else longest * random.uniform(0.5, 1))

    def _secrets(self) -> list[str]:
        return [*self.auth.headers().values(), *(value for _, value in self.auth.params())]


def origin(url: str) -> str:
    """Scheme, host and port."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return f"{parts.scheme}://{parts.hostname}:{port}"


def _proxy(url: str) -> str | None:
    parts = urlsplit(url)
    return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


@cache
def _pool(ca_file: str | None, proxy: str | None) -> urllib3.PoolManager:
    """Connections that stay open, per process."""
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(ca_file)
    return urllib3.ProxyManager(proxy, ssl_context=context) if proxy else urllib3.PoolManager(ssl_context=context)


@contextmanager
def _released(response: urllib3.BaseHTTPResponse) -> Iterator[None]:
    """A connection whose answer was read goes back to the pool; any other is closed."""
    try:
        yield
    except BaseException:
        response.close()
        raise
    response.release_conn()

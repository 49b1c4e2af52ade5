"""From page to page: where the next one is, and the records of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urljoin

import msgspec
from msgspec import UNSET, Raw

from tailrace.core import SourceError
from tailrace.sources.answers import Answer
from tailrace.sources.base import GONE, IO, REFUSED
from tailrace.sources.json_paths import array_at, value_at
from tailrace.sources.web import Request, Web

How = Literal["none", "link", "cursor", "page", "offset"]
_NEXT = re.compile(r'<([^>]*)>((?:\s*;\s*[\w-]+\s*=\s*(?:"[^"]*"|[^\s",;]+))*)')
_REL = re.compile(r'rel\s*=\s*"?[^",;]*\bnext\b', re.IGNORECASE)
_LINES = ("ndjson", "jsonl", "json-lines", "jsonlines")


@dataclass(frozen=True, slots=True)
class Paging:
    """How the next page is found."""

    how: How = "none"
    cursor_path: str = ""
    "Where an answer holds the next cursor, or the URL of the next page."
    param: str = ""
    "What takes cursor, page or offset; of the body where the request has one. Without it the cursor is a URL."
    first_page: int = 1


ONE_PAGE = Paging()


@dataclass(frozen=True, slots=True)
class Page:
    """The records of one answer."""

    records: list[Raw]
    body: bytes


def pages(web: Web, request: Request, paging: Paging, records: str, may_lack: bool = False) -> Iterator[Page]:
    """All pages, one after the other; a page that has expired is an error that may pass."""
    number, seen = 0, 0
    current = _numbered(request, paging, number, seen)
    while True:
        try:
            answer = web.ask(current)
        except SourceError as error:
            if number and error.code in (REFUSED, GONE):
                message = f"page {number + 1} has expired: {error.message}"
                raise SourceError(message, code=IO, where=web.where, hint="the next run starts over") from None
            raise
        page = _page(answer, records, may_lack, web.where)
        yield page
        number, seen = number + 1, seen + len(page.records)
        following = _next(answer, request, paging, number, seen, bool(page.records), web.where)
        if following is None:
            return
        if following == current:
            raise SourceError(f"page {number + 1} is page {number} again", code=REFUSED, where=web.where)
        current = following


def _next(
    answer: Answer, request: Request, paging: Paging, number: int, seen: int, any_records: bool, where: str
) -> Request | None:
    if paging.how == "link":
        url = next_link(answer.headers.get("link", ""))
        return _at(request, urljoin(answer.url, url)) if url else None
    if paging.how == "cursor":
        cursor = _cursor(answer, paging.cursor_path, where)
        if not cursor:
            return None
        return _with(request, paging.param, cursor) if paging.param else _at(request, urljoin(request.url, cursor))
    # A page that is not full may be all that the service gives at once: only an empty one is the end.
    return _numbered(request, paging, number, seen) if paging.how in ("page", "offset") and any_records else None


def _numbered(request: Request, paging: Paging, number: int, seen: int) -> Request:
    if paging.how == "page":
        return _with(request, paging.param or "page", str(paging.first_page + number))
    return _with(request, paging.param or "offset", str(seen)) if paging.how == "offset" else request


def _at(request: Request, url: str) -> Request:
    return replace(request, url=url, params=())


def _with(request: Request, name: str, value: str) -> Request:
    if request.body is None:
        return replace(request, params=(*(p for p in request.params if p[0] != name), (name, value)))
    body: dict[str, Any] = msgspec.json.decode(request.body)
    return replace(request, body=msgspec.json.encode({**body, name: int(value) if value.isdigit() else value}))


def _cursor(answer: Answer, path: str, where: str) -> str:
    try:
        found = value_at(answer.body, path, str | int)
    except (msgspec.DecodeError, RecursionError):
        raise SourceError(f"'{path}' of the answer is no cursor", code=REFUSED, where=where) from None
    return "" if found is None or found is UNSET else str(found)


def _page(answer: Answer, path: str, may_lack: bool, where: str) -> Page:
    if any(word in answer.headers.get("content-type", "") for word in _LINES):
        return Page([Raw(line) for line in answer.body.splitlines() if line.strip()], b"")
    try:
        found = array_at(answer.body, path) if answer.body.strip() else []
    except msgspec.ValidationError:
        told = f"'{path}' of the answer" if path else "the answer"
        raise _strange(f"{told} is no array", where) from None
    except (msgspec.DecodeError, RecursionError):
        raise SourceError("the answer is no JSON", code=IO, where=where) from None
    if found is UNSET and not may_lack and answer.body.strip() != b"{}":
        raise _strange(f"the answer has no '{path}'", where)
    return Page(found if isinstance(found, list) else [], answer.body)


def _strange(message: str, where: str) -> SourceError:
    return SourceError(message, code=REFUSED, where=where, hint="`records` is the path of the array with the records")


def next_link(header: str) -> str | None:
    """The URL that a Link header calls next."""
    return next((url for url, rest in _NEXT.findall(header) if _REL.search(rest)), None)

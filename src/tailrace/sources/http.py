"""Source `http`: a paged JSON API, as the configuration describes it.

With `{from}` and `{to}` in `url`, `params` or `body` the service is asked slice by slice. With `time_field` alone it is
read from its newest record back to the beginning of each slice. With neither, everything is asked for every time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import cast
from urllib.parse import parse_qsl, urlsplit

from tailrace.config.secrets import SECRET_NAME
from tailrace.core import ConfigError
from tailrace.sources.api import Api, ApiSource, json_body, manners_of
from tailrace.sources.base import Given
from tailrace.sources.credentials import Fixed, basic, bearer, secret_of, text_of, wrapped
from tailrace.sources.pages import How, Paging
from tailrace.sources.slices import HOURLY, Pairs, slicing_of

KIND = "http"


def make(given: Given) -> ApiSource:
    args = given.args
    url = _url(str(args["url"]))
    params = _pairs(args.get("params"))
    body = json_body(args.get("body") or {}) if args.get("method") == "POST" or args.get("body") else None
    paging = _paging(args)
    cut = _text(args, "time_field")
    asks_for_times = any("{from}" in text for text in (url, *(v for _, v in params), (body or b"").decode()))
    address, _, query = url.partition("?")
    api = Api(
        address=address,
        url=url,
        auth=_auth(given),
        asked=_identity(query, params, body, _text(args, "records")),
        params=(*params, *_page_size(args)),
        body=body,
        records=_text(args, "records"),
        paging=paging,
        times=_text(args, "time_format") or "rfc3339",
        cut=cut,
        newest_first=bool(cut) and not asks_for_times,
        manners=manners_of(args, given.connection),
    )
    return ApiSource(KIND, api, slicing_of(args, HOURLY) if asks_for_times or cut else None)


def _url(given: str) -> str:
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise _bad(
            "`url` must be an http or https address without credentials",
            'url = "https://api.example.com/v1/events", and the credentials in a connection of type http',
        )
    return given.partition("#")[0]


def _paging(args: Mapping[str, object]) -> Paging:
    how = cast(How, args.get("pagination") or "none")
    path = _text(args, "cursor_path")
    if how == "cursor" and not path:
        raise _bad("pagination by cursor needs `cursor_path`", 'cursor_path = "meta.next_cursor"')
    first = args.get("first_page")
    return Paging(how, path, _text(args, "cursor_param"), int(first) if isinstance(first, (int, float)) else 1)


def _auth(given: Given) -> Fixed:
    """Headers of the source and its connection, and how the connection logs in."""
    connection = given.connection
    token, user = secret_of(connection, "token"), text_of(connection, "username")
    login = bearer(token) if token else basic(user, secret_of(connection, "password")) if user else Fixed()
    shared = wrapped(connection.args.get("headers")) if connection else ()
    sent = (*login.sent, *shared, *wrapped(given.args.get("headers")))
    return Fixed(sent, wrapped(given.args.get("secret_params")))


def _identity(query: str, params: Pairs, body: bytes | None, records: str) -> Pairs:
    """What decides on the answer, so that a changed filter is not taken for data that is there already."""
    fixed = (pair for pair in params if pair[1] not in ("{from}", "{to}"))
    asked = (
        (name, _digest(value.encode()) if SECRET_NAME.search(name) else value)
        for name, value in (*parse_qsl(query), *fixed)
    )
    more = (("body", _digest(body) if body is not None else ""), ("records", records))
    return (*asked, *((name, value) for name, value in more if value))


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _page_size(args: Mapping[str, object]) -> Pairs:
    size, name = args.get("page_size"), _text(args, "page_size_param")
    if bool(size) != bool(name):
        raise _bad("`page_size` and `page_size_param` belong together", 'page_size = 100, page_size_param = "limit"')
    return ((name, f"{size:g}"),) if isinstance(size, (int, float)) else ()


def _pairs(value: object) -> Pairs:
    return tuple(value.items()) if isinstance(value, Mapping) else ()


def _text(args: Mapping[str, object], name: str) -> str:
    value = args.get(name)
    return value if isinstance(value, str) else ""


def _bad(message: str, hint: str) -> ConfigError:
    return ConfigError(message, code="config.bad-argument", hint=hint)

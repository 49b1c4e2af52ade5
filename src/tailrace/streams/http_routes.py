"""The routes of HTTP listeners: JSON lines, FlatBuffers, OTLP; health, readiness and metrics."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tailrace.streams.http_calls import Answer, Handle, answer, by_name
from tailrace.streams.http_listener import KINDS, HttpListener
from tailrace.streams.intake import Intake
from tailrace.streams.settings import ListenerOptions


class Streamed(Request):
    """A request whose body is still to come; its headers are looked at several times."""

    held = 0
    whole = None
    _headers_by_name: dict[str, str] | None = None

    @property
    def headers(self) -> Any:
        if self._headers_by_name is None:
            self._headers_by_name = by_name(self.scope["headers"])
        return self._headers_by_name

    @property
    def token(self) -> str:
        return self.query_params.get("token") or ""

    @property
    def peer(self) -> str:
        return self.client.host if self.client else ""


class Application:
    """What is sent goes straight to its listener; everything else, and what is wrong, to Starlette's routes."""

    def __init__(self, takers: Mapping[str, Handle], rest: Starlette) -> None:
        self.takers = takers
        self.rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        take = self.takers.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if take is None:
            await self.rest(scope, receive, send)
        else:
            await (await _taken(take, Streamed(scope, receive, send)))(scope, receive, send)


def application(options: ListenerOptions, intake: Intake, metrics: Callable[[], str]) -> Application:
    """The routes of a listener."""
    if options.type == "otlp":
        from tailrace.streams.otlp_listener import OtlpListener

        receiver = OtlpListener(options, intake)
        return _routed({"/v1/logs": receiver.logs}, receiver, metrics)
    listener = HttpListener(options, intake)
    lines = {f"/v1/{kind}": listener.lines(kind) for kind in KINDS}
    return _routed({**lines, "/v1/ingest": listener.ingest}, listener, metrics)


def _routed(takers: Mapping[str, Handle], listener: HttpListener, metrics: Callable[[], str]) -> Application:
    takers = {path: listener.bounded(take) for path, take in takers.items()}
    told = [
        # Only for the answer that other methods get.
        *(Route(path, _plain(lambda: answer(200, {})), methods=["POST"]) for path in takers),
        Route("/health", _plain(lambda: answer(200, {"status": "ok"}))),
        Route("/ready", _plain(listener.readiness)),
        Route("/metrics", _plain(lambda: Answer(200, metrics().encode(), media_type="text/plain; version=0.0.4"))),
    ]
    return Application(takers, Starlette(routes=told, exception_handlers={HTTPException: _refused}))


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    name = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "error")
    return _response(answer(error.status_code, {"error": name, "message": error.detail}, error.headers))


def _plain(made: Callable[[], Answer]) -> Callable[[Request], Awaitable[Response]]:
    async def respond(_: Request) -> Response:
        return _response(made())

    return respond


def _response(found: Answer) -> Response:
    return Response(found.body, found.status, dict(found.headers), found.media_type)


async def _taken(take: Handle, request: Streamed) -> Response:
    try:
        return _response(await take(request))
    except ClientDisconnect:
        return Response(status_code=400)

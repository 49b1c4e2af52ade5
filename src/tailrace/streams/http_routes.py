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

from tailrace.streams.http_listener import KINDS, Handle, HttpListener, Refusal, answer
from tailrace.streams.intake import RETRY_AFTER, Intake
from tailrace.streams.settings import ListenerOptions
from tailrace.streams.spool import SpoolFull


class Call(Request):
    """A request whose headers are looked at several times."""

    _headers_by_name: dict[str, str] | None = None

    @property
    def headers(self) -> Any:
        """Of several with one name the first."""
        if self._headers_by_name is None:
            given = reversed(self.scope["headers"])
            self._headers_by_name = {name.decode("latin-1"): value.decode("latin-1") for name, value in given}
        return self._headers_by_name


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
            await (await _guarded(take, Call(scope, receive, send)))(scope, receive, send)


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
        *(Route(path, take, methods=["POST"]) for path, take in takers.items()),
        Route("/health", _plain(lambda: answer(200, {"status": "ok"}))),
        Route("/ready", _plain(listener.readiness)),
        Route("/metrics", _plain(lambda: Response(metrics(), media_type="text/plain; version=0.0.4"))),
    ]
    return Application(takers, Starlette(routes=told, exception_handlers={HTTPException: _refused}))


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    name = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "error")
    return answer(error.status_code, {"error": name, "message": error.detail}, error.headers)


def _plain(made: Callable[[], Response]) -> Callable[[Request], Awaitable[Response]]:
    async def respond(_: Request) -> Response:
        return made()

    return respond


async def _guarded(take: Handle, request: Request) -> Response:
    try:
        return await take(request)
    except Refusal as refusal:
        return answer(refusal.status, refusal.body, refusal.headers)
    except SpoolFull as error:
        return answer(503, {"error": "service_unavailable", "message": str(error)}, {"Retry-After": str(RETRY_AFTER)})
    except ClientDisconnect:
        return Response(status_code=400)

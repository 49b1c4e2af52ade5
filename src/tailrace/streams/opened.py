"""One listener: opened, and closed so that nothing that came in is lost."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from tailrace.core.errors import ConfigError, TailraceError
from tailrace.core.extras import install
from tailrace.streams.intake import Intake
from tailrace.streams.settings import ListenerOptions
from tailrace.streams.syslog_listener import SyslogListener
from tailrace.streams.tcp_listener import TcpListener

if TYPE_CHECKING:
    import grpc.aio

    from tailrace.streams.http_server import Server

_BACKLOG = 2048
_PATIENCE = 10.0
"Seconds that what is under way may take at the end."


class PortError(TailraceError):
    """Nothing can be heard there."""

    exit_code = 5
    code = "serve.port"


class Opened:
    """Ends alone: `intake` is its own, the spool behind it is not."""

    def __init__(self, options: ListenerOptions, intake: Intake, metrics: Callable[[], str]) -> None:
        self.options = options
        self.intake = intake
        self.places: dict[str, tuple[str, int]] = {}
        "Where it can be reached."
        self._metrics = metrics
        self._connected: set[asyncio.Task[None]] = set()
        self._syslog: SyslogListener | None = None
        self._http: tuple[Server, asyncio.Task[None]] | None = None
        self._grpc: grpc.aio.Server | None = None
        self._servers: list[asyncio.Server | asyncio.DatagramTransport] = []

    async def open(self) -> None:
        """All of it, or an error."""
        options = self.options
        try:
            await self._open()
        except OSError as error:
            await self.close()
            message = f"cannot listen on {options.host}:{options.port}: {error.strerror or error}"
            raise PortError(message, where=options.id, hint="choose another port") from None

    async def _open(self) -> None:
        options = self.options
        if options.type == "otlp" and options.args["protocol"] == "grpc":
            await self._open_grpc()
        elif options.type == "http" or options.type == "otlp":
            await self._open_http()
        elif options.type == "tcp":
            tcp = TcpListener(options, self.intake)
            self._connected = tcp.connections
            self._serves(await tcp.serve_tcp())
        else:
            await self._open_syslog()

    async def _open_syslog(self) -> None:
        options = self.options
        self._syslog = syslog = SyslogListener(options, self.intake)
        self._connected = syslog.connections
        if options.args["protocol"] in ("tcp", "both"):
            self._serves(await syslog.serve_tcp())
        if options.args["protocol"] in ("udp", "both"):
            transport = await syslog.serve_udp()
            self._servers.append(transport)
            self.places[f"{options.id}/udp"] = transport.get_extra_info("sockname")[:2]

    def _serves(self, server: asyncio.Server) -> None:
        self._servers.append(server)
        self.places[self.options.id] = server.sockets[0].getsockname()[:2]

    async def _open_http(self) -> None:
        options = self.options
        try:
            from tailrace.streams.http_routes import application
            from tailrace.streams.http_server import server
        except ImportError as error:
            raise _missing("HTTP", "serve", error, options) from None
        running = server(
            options,
            application(options, self.intake, self._metrics),
            lambda: self.intake.count("connections_refused", options.id),
        )
        # Bound here: uvicorn would end the process where a port is taken.
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        bound = socket.create_server((options.host, options.port), family=family, backlog=_BACKLOG)
        task = asyncio.get_running_loop().create_task(running.serve([bound]))
        self._http = running, task
        while not running.started and not task.done():
            await asyncio.sleep(0.01)
        self.places[options.id] = bound.getsockname()[:2]

    async def _open_grpc(self) -> None:
        try:
            from tailrace.streams.grpc_listener import GrpcListener
        except ImportError as error:
            raise _missing("OTLP over gRPC", "grpc", error, self.options) from None
        self._grpc, port = await GrpcListener(self.options, self.intake).serve()
        self.places[self.options.id] = (self.options.host, port)

    async def close(self) -> None:
        """Nothing new is accepted, and what is under way is finished."""
        self.intake.draining = True
        for server in self._servers:
            server.close()
        if self._http is not None:
            self._http[0].should_exit = True
        if self._grpc is not None:
            await self._grpc.stop(_PATIENCE)
        if self._http is not None:
            await self._http[1]
        if self._syslog is not None:
            await self._syslog.drained()
        if self._connected:
            await asyncio.wait(set(self._connected), timeout=_PATIENCE)


def _missing(what: str, extra: str, error: ImportError, options: ListenerOptions) -> ConfigError:
    told = f"{what} needs {error.name}"
    return ConfigError(told, code="serve.missing", where=options.id, hint=install(extra))

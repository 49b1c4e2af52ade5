"""The process of listeners: all of them on one event loop, one spool behind them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.core.errors import ConfigError, TailraceError
from tailrace.streams.intake import Intake
from tailrace.streams.live_metrics import page
from tailrace.streams.settings import ListenerOptions
from tailrace.streams.sink_options import SinkOptions
from tailrace.streams.spool import Spool, SpoolLimits
from tailrace.streams.syslog_listener import SyslogListener
from tailrace.streams.tcp_listener import TcpListener

if TYPE_CHECKING:
    import grpc.aio

_PATIENCE = 10.0
"Seconds that what is under way may take at the end."


class Listening:
    """Opens every listener, and closes them so that nothing that came in is lost."""

    def __init__(
        self, listeners: Sequence[ListenerOptions], sinks: Sequence[SinkOptions], root: Path, limits: SpoolLimits
    ) -> None:
        self.listeners = listeners
        self.sinks = sinks
        self.intake = Intake(Spool(root, limits))
        self.places: dict[str, tuple[str, int]] = {}
        "Where each listener can be reached."
        self._connected: list[set[asyncio.Task[None]]] = []
        self._syslog: list[SyslogListener] = []
        self._http: list[tuple[object, asyncio.Task[None]]] = []
        self._grpc: list[grpc.aio.Server] = []
        self._servers: list[asyncio.Server | asyncio.DatagramTransport] = []

    async def open(self) -> None:
        """All of them, or an error."""
        for options in self.listeners:
            try:
                await self._open(options)
            except OSError as error:
                message = f"cannot listen on {options.host}:{options.port}: {error.strerror or error}"
                raise TailraceError(message, code="serve.port", where=options.id, hint="choose another port") from None

    async def _open(self, options: ListenerOptions) -> None:
        if options.type == "otlp" and options.args["protocol"] == "grpc":
            await self._open_grpc(options)
        elif options.type == "http" or options.type == "otlp":
            await self._open_http(options)
        elif options.type == "tcp":
            tcp = TcpListener(options, self.intake)
            self._connected.append(tcp.connections)
            self._serves(options, await tcp.serve_tcp())
        else:
            await self._open_syslog(options)

    async def _open_syslog(self, options: ListenerOptions) -> None:
        syslog = SyslogListener(options, self.intake)
        self._syslog.append(syslog)
        self._connected.append(syslog.connections)
        if options.args["protocol"] in ("tcp", "both"):
            self._serves(options, await syslog.serve_tcp())
        if options.args["protocol"] in ("udp", "both"):
            transport = await syslog.serve_udp()
            self._servers.append(transport)
            self.places[f"{options.id}/udp"] = transport.get_extra_info("sockname")[:2]

    def _serves(self, options: ListenerOptions, server: asyncio.Server) -> None:
        self._servers.append(server)
        self.places[options.id] = server.sockets[0].getsockname()[:2]

    async def _open_http(self, options: ListenerOptions) -> None:
        try:
            from tailrace.streams.http_listener import application
            from tailrace.streams.http_server import server
        except ImportError as error:
            raise _missing("HTTP", "serve", error, options) from None
        running = server(options, application(options, self.intake, lambda: page(self.intake, self.sinks)))
        task = asyncio.get_running_loop().create_task(running.serve())
        while not running.started and not task.done():
            await asyncio.sleep(0.01)
        if task.done():
            with contextlib.suppress(SystemExit):
                task.result()
            raise OSError(f"port {options.port} is taken")
        self._http.append((running, task))
        self.places[options.id] = running.servers[0].sockets[0].getsockname()[:2]

    async def _open_grpc(self, options: ListenerOptions) -> None:
        try:
            from tailrace.streams.grpc_listener import GrpcListener
        except ImportError as error:
            raise _missing("OTLP over gRPC", "grpc", error, options) from None
        server, port = await GrpcListener(options, self.intake).serve()
        self._grpc.append(server)
        self.places[options.id] = (options.host, port)

    async def close(self) -> None:
        """Nothing new is accepted, what is under way is finished, and the last segment is closed."""
        self.intake.draining = True
        for server in self._servers:
            server.close()
        for running, _ in self._http:
            running.should_exit = True  # type: ignore[attr-defined]
        await asyncio.gather(*(server.stop(_PATIENCE) for server in self._grpc))
        for _, task in self._http:
            await task
        for syslog in self._syslog:
            await syslog.drained()
        tasks = [task for connected in self._connected for task in connected]
        if tasks:
            await asyncio.wait(tasks, timeout=_PATIENCE)
        await asyncio.to_thread(self.intake.spool.close)


def _missing(what: str, extra: str, error: ImportError, options: ListenerOptions) -> ConfigError:
    hint = f"install it with pip install 'tailrace[{extra}]'"
    return ConfigError(f"{what} needs {error.name}", code="serve.missing", where=options.id, hint=hint)

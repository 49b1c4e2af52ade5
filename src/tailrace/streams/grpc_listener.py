"""OTLP over gRPC: the one method that exporters of logs call, its messages taken as bytes."""

from __future__ import annotations

import asyncio
import urllib.parse
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from tailrace.streams import records
from tailrace.streams.api_keys import Tenant, key_in
from tailrace.streams.intake import Intake, now
from tailrace.streams.rates import Rates
from tailrace.streams.records import Record, address
from tailrace.streams.settings import ListenerOptions
from tailrace.streams.spool import SpoolFull

_SERVICE = "opentelemetry.proto.collector.logs.v1.LogsService"
_ACCEPTED = b""
"An `ExportLogsServiceResponse` without a complaint."
_PATIENCE = 30.0
"Seconds in which a message has to come."


class GrpcListener:
    """Calls of one listener. Without a file of keys they all belong to its workspace."""

    def __init__(self, options: ListenerOptions, intake: Intake) -> None:
        self.options = options
        self.intake = intake
        self.keys = options.api_keys_file
        self.rates = Rates(options.args["rate_limit"])
        self.proxies = options.proxies
        self.max_body = int(options.args["max_body"])
        # How large a message is, is not told before it is there; then it is there twice.
        self._reading = asyncio.Semaphore(max(intake.room.most // (2 * self.max_body), 1))
        if self.keys is not None:
            intake.load_keys(self.keys)

    async def serve(self) -> tuple[grpc.aio.Server, int]:
        """The running server, and its port."""
        server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", self.max_body),
                ("grpc.so_reuseport", 0),
            ],
            maximum_concurrent_rpcs=int(self.options.args["max_connections"]),
        )
        # Without serializers: bytes as they are. A stream of one message, which is read when it is known whose it is.
        method = grpc.stream_unary_rpc_method_handler(self.export)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, {"Export": method}),))
        place = f"{self.options.host}:{self.options.port}"
        try:
            certificates = _certificates(self.options)
            port = server.add_secure_port(place, certificates) if certificates else server.add_insecure_port(place)
        except RuntimeError as error:
            raise OSError(str(error)) from None
        await server.start()
        return server, port

    async def export(self, _: object, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        """Answers when everything is on disk; what in it is no record goes to the quarantine."""
        if self.intake.full:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the spool is full")
        given = context.invocation_metadata() or ()
        metadata = dict(given)
        forwarded = ",".join(str(value) for name, value in given if name == "x-forwarded-for")
        peer = address(self.proxies.sender(_host(context.peer()), forwarded))
        tenant = self._tenant(metadata)
        if not self.rates.allows(tenant.id if tenant is not None and self.keys is not None else peer):
            self.intake.count("rate_limited", self.options.id)
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many requests")
        if tenant is None:
            self.intake.count("auth_failures", self.options.id)
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, _refusal(metadata))
            raise AssertionError("abort raises")
        body = await self._body(context)
        try:
            if body:
                record = Record(records.OTLP_PROTO, tenant.workspace, now(), peer, self.options.id, body, tenant.id)
                await self.intake.accept(record)
        except SpoolFull as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
        finally:
            self.intake.room.held -= len(body)
        return _ACCEPTED

    async def _body(self, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        """The message, which takes room from now on. Whoever has to wait for others costs no memory meanwhile."""
        room = self.intake.room
        async with self._reading:
            try:
                async with asyncio.timeout(_PATIENCE):
                    body = await context.read()
            except TimeoutError:
                await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "the message came too slowly")
        body = b"" if body is grpc.aio.EOF else body
        if room.held and room.held + len(body) > room.most:
            self.intake.count("backpressure", self.options.id)
            await context.abort(grpc.StatusCode.UNAVAILABLE, "too many requests are under way")
        room.held += len(body)
        return body

    def _tenant(self, metadata: dict[str, Any]) -> Tenant | None:
        if self.keys is None:
            return Tenant(self.options.workspace, bytes(32))
        return self.intake.tenant_of_text(self.keys, _key(metadata))


def _key(metadata: dict[str, Any]) -> str:
    return key_in(str(metadata.get("authorization") or metadata.get("x-api-key") or ""))


def _refusal(metadata: dict[str, Any]) -> str:
    missing = "an API key is missing: send it in the metadata, as authorization (Bearer KEY) or x-api-key"
    return "no such API key" if _key(metadata) else missing


def _certificates(options: ListenerOptions) -> grpc.ServerCredentials | None:
    certificate, key = options.args.get("tls_cert"), options.args.get("tls_key")
    if not certificate:
        return None
    pair = (Path(str(key)).expanduser().read_bytes(), Path(str(certificate)).expanduser().read_bytes())
    return grpc.ssl_server_credentials([pair])


def _host(peer: str) -> str:
    """`ipv4:127.0.0.1:4711` and `ipv6:%5B::1%5D:4711` name a host."""
    kind, _, rest = urllib.parse.unquote(peer).partition(":")
    return rest.rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else ""

"""The HTTP listener: JSON lines and FlatBuffers; whose they are, how large they may be, and what is answered."""

from __future__ import annotations

import asyncio
import hashlib
import random
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from tailrace.streams import records
from tailrace.streams.api_keys import Tenant, key_in
from tailrace.streams.flat_batches import SCHEMAS, Wrappers
from tailrace.streams.flat_wire import Wire
from tailrace.streams.http_calls import Answer, Call, Handle, answer
from tailrace.streams.intake import RETRY_AFTER, Intake, now
from tailrace.streams.json_lines import check
from tailrace.streams.kinds import EVENTS, LOGS, SNAPSHOTS
from tailrace.streams.rates import Rates
from tailrace.streams.records import Identity, Record, address, framed
from tailrace.streams.settings import ListenerOptions, timeout_of
from tailrace.streams.spool import SpoolFull

KINDS = {EVENTS: records.EVENT_LINES, LOGS: records.LOG_LINES, SNAPSHOTS: records.SNAPSHOT_LINES}
_BINARY = ("application/x-flatbuffers", "application/octet-stream", "application/x-tell")
_MOST_ERRORS = 100
_GZIP = 31
_PIECE = 4096
"Bytes that are unpacked at once: behind each member the rest of them is copied."


class Refusal(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, error: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": error, "message": message}
        self.headers = dict(headers or {})


class HttpListener:
    """Requests of one listener."""

    def __init__(self, options: ListenerOptions, intake: Intake) -> None:
        self.options = options
        self.keys = options.api_keys_file
        self.intake = intake
        if self.keys is not None:
            intake.load_keys(self.keys)
        self.max_body = int(options.args["max_body"])
        self.timeout = timeout_of(options)
        self.rates = Rates(options.args["rate_limit"])
        self.proxies = options.proxies

    def readiness(self) -> Answer:
        if self.intake.full:
            return answer(503, {"status": "full"}, {"Retry-After": str(RETRY_AFTER)})
        return answer(200, {"status": "ready"})

    def bounded(self, take: Handle) -> Handle:
        """Gives back the room that a request took, and tells what was refused."""

        async def taken(call: Call) -> Answer:
            try:
                return await take(call)
            except Refusal as refusal:
                return answer(refusal.status, refusal.body, refusal.headers)
            except SpoolFull as error:
                told = {"error": "service_unavailable", "message": str(error)}
                return answer(503, told, {"Retry-After": str(RETRY_AFTER)})
            finally:
                self.intake.room.held -= call.held
                call.held = 0

        return taken

    def _hold(self, call: Call, size: int) -> None:
        """Bodies take no more memory than there is room for, however many come at once."""
        room = self.intake.room
        if room.held and room.held + size > room.most:
            self.intake.count("backpressure", self.options.id)
            raise SpoolFull("too many requests are under way")
        room.held += size
        call.held += size

    def lines(self, kind: str) -> Handle:
        """Takes JSON lines of a kind."""

        async def take(request: Call) -> Answer:
            tenant = self.tenant(request)
            body = await self.body(request)
            args = self.options.args
            found = check(kind, body, int(args["max_lines"]), int(args["max_depth"]))
            if found.errors:
                self.intake.count("lines_rejected", self.options.id, len(found.errors))
            if not found.count:
                if not found.errors:
                    raise Refusal(400, "empty_body", "the body holds no line")
                return answer(400, {"error": "invalid_lines", "message": "no line is good", **self._told(found.errors)})
            await self.keep(request, tenant, KINDS[kind], found.body, self.identity(request, body))
            done = {"accepted": found.count, "request_id": _request_id()}
            if not found.errors:
                return answer(202, done)
            return answer(207, done | self._told(found.errors))

        return take

    async def ingest(self, request: Call) -> Answer:
        """Takes one FlatBuffers batch."""
        if not request.headers.get("content-type", "").startswith(_BINARY):
            raise Refusal(415, "unsupported_media_type", f"send {_BINARY[0]}")
        tenant = self.tenant(request)
        body = await self.body(request)
        if not body:
            raise Refusal(400, "empty_body", "the body is empty")
        wire = Wire(body)
        told = Wrappers.of(wire, np.zeros(1, np.int64), np.array([len(body)], np.int64))
        if not told.ok[0]:
            self.intake.count("decode_errors", self.options.id)
            raise Refusal(400, "invalid_flatbuffer", "the body is no batch")
        at = int(told.key_at[0])
        assert self.keys is not None
        owner = self.intake.tenant(self.keys, body[at : at + 16])
        if owner is None or owner.digest != tenant.digest:
            self.intake.count("auth_failures", self.options.id)
            raise Refusal(403, "api_key_mismatch", "the batch names another key than the request")
        if int(told.schema[0]) not in SCHEMAS:
            raise Refusal(400, "unsupported_schema", f"batches of schema {int(told.schema[0])} are not stored")
        identity = Identity.of(int(told.batch_id[0]), body[int(told.low[0]) : int(told.high[0])])
        await self.keep(request, tenant, records.FRAMES, framed([body]), identity)
        return answer(202, {"accepted": 1, "request_id": _request_id()})

    async def keep(self, request: Call, tenant: Tenant, kind: int, body: bytes, identity: Identity | None) -> None:
        moment = now()
        given = () if identity is None else (identity,)
        while not all(self.intake.fresh(self.options.id, tenant.id, given, moment)):
            # The first of them may still be on its way to the disk, and may fail there.
            if await self.intake.settled(tenant.id, given):
                return
        await self.intake.accept(Record(
            kind, tenant.workspace, moment, self._sender(request), self.options.id, body, tenant.id, given
        ))  # fmt: skip

    def tenant(self, request: Call) -> Tenant:
        """Authorization, X-API-Key or `?token=`, in this order."""
        if self.intake.full:
            raise SpoolFull("the spool is full")
        given = request.headers.get("authorization") or request.headers.get("x-api-key")
        text = key_in(given or request.token)
        assert self.keys is not None
        tenant = self.intake.tenant_of_text(self.keys, text)
        self.limit(request, tenant)
        if tenant is None:
            self.intake.count("auth_failures", self.options.id)
            missing = "an API key is missing: send it as Authorization: Bearer KEY, as X-API-Key or as ?token="
            message = "no such API key" if text else missing
            raise Refusal(401, "unauthorized", message, {"WWW-Authenticate": "Bearer"})
        return tenant

    def limit(self, request: Call, tenant: Tenant | None) -> None:
        """So many requests of a key, and of an address without one, and no more."""
        if not self.rates.allows(tenant.id if tenant is not None else self._sender(request)):
            self.intake.count("rate_limited", self.options.id)
            raise Refusal(429, "rate_limited", "too many requests", {"Retry-After": "1"})

    async def body(self, request: Call) -> bytes:
        """All of it, unpacked, as long as neither form is too large and it comes in time."""
        limit = self.max_body
        if int(request.headers.get("content-length") or 0) > limit:
            raise self._too_large()
        encoding = request.headers.get("content-encoding", "identity").lower()
        if encoding not in ("identity", "gzip"):
            raise Refusal(415, "unsupported_encoding", f"{encoding} is not understood; send gzip")
        if (body := request.whole) is None:
            body = await self._streamed(request)
        elif len(body) > limit:
            raise self._too_large()
        else:
            self._hold(request, len(body))
        if encoding == "gzip":
            body = self._unpacked(body)
            self._hold(request, len(body))
        return body

    async def _streamed(self, request: Call) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.timeout):
                async for part in request.stream():
                    size += len(part)
                    if size > self.max_body:
                        raise self._too_large()
                    self._hold(request, len(part))
                    parts.append(part)
        except TimeoutError:
            raise Refusal(408, "timeout", "the body came too slowly", {"Connection": "close"}) from None
        return b"".join(parts)

    def _unpacked(self, body: bytes) -> bytes:
        """All members: gzip files that were put one behind another are one."""
        parts: list[bytes] = []
        left = self.max_body
        unpacker = zlib.decompressobj(_GZIP)
        for at in range(0, len(body), _PIECE):
            piece = body[at : at + _PIECE]
            while piece := piece.lstrip(b"\0") if unpacker.eof else piece:  # zeros behind a member are padding
                if unpacker.eof:
                    unpacker = zlib.decompressobj(_GZIP)
                try:
                    parts.append(unpacker.decompress(piece, left + 1))
                except zlib.error:
                    raise Refusal(400, "encoding_error", "the body is no gzip") from None
                left -= len(parts[-1])
                if left < 0:
                    raise self._too_large()
                piece = unpacker.unused_data
        if not unpacker.eof:
            raise Refusal(400, "encoding_error", "the gzip stream is cut off")
        return b"".join(parts)

    def _too_large(self) -> Refusal:
        message = f"at most {self.max_body} bytes, before and after decompression"
        return Refusal(413, "payload_too_large", message, {"Connection": "close"})

    def _sender(self, request: Call) -> bytes:
        return address(self.proxies.sender(request.peer, request.headers.get("x-forwarded-for", "")))

    def identity(self, request: Call, body: bytes) -> Identity | None:
        """A client that sends again may say so by `Idempotency-Key`."""
        name = request.headers.get("idempotency-key")
        if not name:
            return None
        number = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest())
        return Identity.of(number or 1, body)

    def _told(self, errors: list[tuple[int, str]]) -> dict[str, Any]:
        told = [{"line": line, "error": text} for line, text in errors[:_MOST_ERRORS]]
        return {"rejected": len(errors), "errors": told}


def _request_id() -> str:
    """To be found again in somebody's logs: nobody need be kept from guessing it, so the system is not asked."""
    return f"req_{now():x}{random.getrandbits(32):08x}"

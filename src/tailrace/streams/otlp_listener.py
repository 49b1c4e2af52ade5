"""OTLP over HTTP: logs as JSON or protobuf."""

from __future__ import annotations

from tailrace.streams import records
from tailrace.streams.api_keys import Tenant
from tailrace.streams.http_calls import Answer, Call
from tailrace.streams.http_listener import HttpListener, Refusal
from tailrace.streams.spool import SpoolFull

_KINDS = {"application/x-protobuf": records.OTLP_PROTO, "application/json": records.OTLP_JSON}


class OtlpListener(HttpListener):
    """Requests of exporters. Without a file of keys they all belong to the listener's workspace."""

    async def logs(self, request: Call) -> Answer:
        """Takes an export of logs; what in it is no record goes to the quarantine."""
        form = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if form not in _KINDS:
            raise Refusal(415, "unsupported_media_type", f"send {' or '.join(_KINDS)}")
        tenant = self.tenant(request)
        body = await self.body(request)
        if body:
            await self.keep(request, tenant, _KINDS[form], body, self.identity(request, body))
        return Answer(200, b"{}" if form == "application/json" else b"", media_type=form)

    def tenant(self, request: Call) -> Tenant:
        if self.keys is not None:
            return super().tenant(request)
        if self.intake.full:
            raise SpoolFull("the spool is full")
        self.limit(request, None)
        return Tenant(self.options.workspace, bytes(32))

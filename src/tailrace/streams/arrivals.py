"""Records of the spool, gathered by listener and form, as a table of the lake takes them."""

from __future__ import annotations

import io
import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.core.arrivals import JSON, OTLP, SYSLOG, Arrived, Refused, Sent
from tailrace.formats.duck import answers
from tailrace.streams import records, segments
from tailrace.streams.decode import LINES, decode, frames
from tailrace.streams.kinds import EVENTS, KINDS, LOGS, SNAPSHOTS
from tailrace.streams.records import Record
from tailrace.streams.shape import as_json

_IP = 16
_OTLP = (records.OTLP_PROTO, records.OTLP_JSON)
_UUID = "lower(hex({0}))::UUID::VARCHAR AS {0}"
_BOTH = "nullif(timestamp, 0) AS timestamp"
_QUERIES = {
    EVENTS: f"SELECT {_BOTH}, event_type AS type, event_name AS event, {_UUID.format('device_id')},"
    f" {_UUID.format('session_id')}, service, payload AS properties FROM given",
    LOGS: f"SELECT {_BOTH}, level, event_type AS type, source, service, {_UUID.format('session_id')},"
    " payload ->> '$.message' AS message, payload AS data FROM given",
    SNAPSHOTS: f"SELECT {_BOTH}, source, entity, payload AS data FROM given",
}
"Rows of FlatBuffers with the names that the same rows have as JSON lines."


class Gathering:
    """What some segments hold for one sink."""

    def __init__(self, kinds: frozenset[str], listeners: frozenset[str] | None) -> None:
        self.kinds = kinds
        self.listeners = listeners
        self.records = 0
        self._found: dict[tuple[str, str], Arrived] = {}
        self._framed: dict[str, list[Record]] = {}

    def read(self, spool: Path, number: int) -> None:
        for record in segments.read(segments.path_of(spool, number, segments.CLOSED)):
            if self.listeners is None or record.listener in self.listeners:
                self._add(record)

    def arrived(self) -> list[Arrived]:
        """All of it; rows of one kind and listener are one body."""
        decoded = (one for listener, framed in self._framed.items() for one in self._rows(listener, framed))
        return [one for one in (*self._found.values(), *decoded) if one.bodies or one.refused]

    def _add(self, record: Record) -> None:
        if record.kind == records.FRAMES:
            self._framed.setdefault(record.listener, []).append(record)
            self.records += 1
            return
        kind = LINES.get(record.kind, LOGS)
        if kind not in self.kinds:
            return
        self.records += 1
        if record.kind in LINES or record.kind in _OTLP:
            into = self._of(record.listener, JSON if record.kind in LINES else OTLP)
            into.bodies.append(bytes(record.body))
            into.sent.append(_sent(record, record.source_ip))
        else:
            self._messages(self._of(record.listener, SYSLOG), record)

    def _of(self, listener: str, form: str) -> Arrived:
        return self._found.setdefault((listener, form), Arrived(listener, form))

    def _messages(self, into: Arrived, record: Record) -> None:
        body = bytes(record.body)
        if record.kind != records.SYSLOG:
            long = record.kind == records.OVERSIZE
            reason = "line: longer than max_message" if long else f"record: kind {record.kind} is not known"
            into.refused.append(Refused(body, reason))
            return
        for start, end in frames(body, _IP):
            into.bodies.append(body[start:end])
            into.sent.append(_sent(record, body[start - 4 - _IP : start - 4]))

    def _rows(self, listener: str, framed: Sequence[Record]) -> Iterator[Arrived]:
        decoded = decode(framed)
        refused = [Refused(one.raw, one.reason) for one in decoded.refused]
        for kind in KINDS:
            table = decoded.table(kind)
            if kind in self.kinds and table.num_rows:
                starts, sent = _runs(table)
                yield Arrived(listener, kind, [_as_file(kind, table)], sent, starts)
        if refused:
            yield Arrived(listener, "frames", refused=refused)


def _sent(record: Record, source_ip: bytes) -> Sent:
    return Sent(record.received_at, record.workspace, address_text(source_ip))


@lru_cache(maxsize=10_000)
def address_text(packed: bytes) -> str | None:
    """An address as people write it; None where it is not known."""
    if packed == bytes(_IP):
        return None
    found = ipaddress.IPv6Address(packed)
    return str(found.ipv4_mapped or found)


def _runs(table: pa.Table) -> tuple[list[int], list[Sent]]:
    """Where rows begin that came in another record than those before, and who sent each of them."""
    origin = [table[name].combine_chunks() for name in ("batch_timestamp", "workspace_id", "source_ip")]
    received, workspaces = (array.to_numpy() for array in origin[:2])
    senders = origin[2].dictionary_encode().indices.to_numpy()
    changes = np.diff(received).astype(bool) | np.diff(workspaces).astype(bool) | np.diff(senders).astype(bool)
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    at = pa.array(starts)
    told: Iterable[tuple[int, int, bytes]] = zip(*(array.take(at).to_pylist() for array in origin), strict=True)
    return starts.tolist(), [Sent(moment, workspace, address_text(ip)) for moment, workspace, ip in told]


def _as_file(kind: str, table: pa.Table) -> bytes:
    documents = as_json(table["payload"].combine_chunks(), table["document"].combine_chunks())
    place = table.schema.get_field_index("payload")
    rows = answers(_QUERIES[kind], table.set_column(place, "payload", documents.cast(pa.string())))
    out = io.BytesIO()
    pq.write_table(rows, out, compression="none", use_dictionary=False, write_statistics=False)
    return out.getvalue()

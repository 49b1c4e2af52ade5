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
from tailrace.streams.decode import LINES, Decoded, decode, frames
from tailrace.streams.kinds import EVENTS, KINDS, LOGS, SNAPSHOTS
from tailrace.streams.otlp_again import transformed
from tailrace.streams.records import Record
from tailrace.streams.shape import as_json
from tailrace.streams.transforms import NOTHING, Chains, transform

_IP = 16
_OTLP = (records.OTLP_PROTO, records.OTLP_JSON)
_KINDS = {
    **LINES, **dict.fromkeys((*_OTLP, records.SYSLOG, records.OVERSIZE), LOGS), records.PULLED: SNAPSHOTS,
}  # fmt: skip
"Of records that hold rows of one kind."
_UUID = "lower(hex({0}))::UUID::VARCHAR AS {0}"
_QUERIES = {
    EVENTS: f"SELECT timestamp, event_type AS type, event_name AS event, {_UUID.format('device_id')},"
    f" {_UUID.format('session_id')}, service, payload AS properties FROM given",
    LOGS: f"SELECT timestamp, level, event_type AS type, source, service, {_UUID.format('session_id')},"
    " payload ->> '$.message' AS message, payload AS data FROM given",
    SNAPSHOTS: "SELECT timestamp, source, entity, payload AS data FROM given",
}
"Rows of FlatBuffers with the names that the same rows have as JSON lines."
_SYSLOG = (
    "SELECT make_timestamp_ms(timestamp) AS timestamp, source AS hostname, service AS app_name, level,"
    " payload ->> '$.message' AS message, (payload ->> '$.priority')::INTEGER AS priority,"
    " payload ->> '$.proc_id' AS proc_id, payload ->> '$.msg_id' AS msg_id,"
    " payload -> '$.structured_data' AS structured_data FROM given"
)
"Rows of syslog with the names of its table, and without the text that they were made of."
_DECODED = (records.FRAMES, records.PULLED)
"Bodies that a table could not read by itself."


class Gathering:
    """What some segments hold for one sink. Records that transforms look at are decoded here, whatever they are."""

    def __init__(
        self,
        kinds: frozenset[str],
        listeners: frozenset[str] | None,
        chains: Chains = NOTHING,
        memory: Path | None = None,
    ) -> None:
        self.kinds = kinds
        self.listeners = listeners
        self.chains = chains
        self.memory = memory
        "Where transforms keep what they learn."
        self.records = 0
        self.dropped = 0
        "Rows that transforms took away, as they were told to."
        self._found: dict[tuple[str, str], Arrived] = {}
        self._decoded: dict[tuple[str, str], list[Record]] = {}

    def read(self, spool: Path, number: int) -> None:
        for record in segments.read(segments.path_of(spool, number, segments.CLOSED)):
            if self.listeners is None or record.listener in self.listeners:
                self._add(record)

    def arrived(self) -> list[Arrived]:
        """All of it; rows of one kind and listener are one body."""
        decoded = [one for (listener, form), held in self._decoded.items() for one in self._rows(listener, form, held)]
        return [one for one in (*self._found.values(), *decoded) if one.bodies or one.refused]

    def _add(self, record: Record) -> None:
        kind = _KINDS.get(record.kind)
        if kind is not None and kind not in self.kinds:
            return
        self.records += 1
        form = JSON if record.kind in LINES else OTLP if record.kind in _OTLP else SYSLOG
        if record.kind in _DECODED or (self.chains.of(record.listener) and record.kind in _KINDS):
            form = "frames" if record.kind in _DECODED or form == JSON else form
            self._decoded.setdefault((record.listener, form), []).append(record)
        elif form == SYSLOG:
            self._messages(self._of(record.listener, SYSLOG), record)
        else:
            into = self._of(record.listener, form)
            into.bodies.append(bytes(record.body))
            into.sent.append(_sent(record, record.source_ip))

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

    def _rows(self, listener: str, form: str, held: Sequence[Record]) -> Iterator[Arrived]:
        if form == OTLP:
            yield self._requests(listener, held)
            return
        decoded = decode(held)
        refused = list(_refused(decoded))
        for kind in KINDS:
            if kind not in self.kinds:
                continue
            left = transform(self.chains.of(listener), kind, decoded.table(kind), self.memory)
            self.dropped += left.dropped
            for failed in left.failed:
                refused += [Refused(row["payload"], row["reason"]) for row in failed.to_pylist()]
            if left.rows.num_rows:
                starts, sent = _runs(left.rows)
                query = _SYSLOG if form == SYSLOG else _QUERIES[kind]
                yield Arrived(listener, f"{SYSLOG} rows" if form == SYSLOG else kind,
                              [_as_file(query, left.rows)], sent, starts)  # fmt: skip
        if refused:
            yield Arrived(listener, "frames", refused=refused)

    def _requests(self, listener: str, held: Sequence[Record]) -> Arrived:
        assert self.memory is not None
        again = transformed(held, self.chains.of(listener), self.memory)
        self.dropped += again.dropped
        sent = [_sent(record, record.source_ip) for record, _ in again.requests]
        refused = [Refused(one.raw, one.reason) for one in again.refused]
        return Arrived(listener, OTLP, [body for _, body in again.requests], sent, refused=refused)


def _refused(decoded: Decoded) -> Iterator[Refused]:
    """A message with several records that are no good is kept once, with the first of them."""
    before = None
    for one in decoded.refused:
        yield Refused(b"" if one.raw is before else one.raw, one.reason)
        before = one.raw


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


def _as_file(query: str, table: pa.Table) -> bytes:
    documents = as_json(table["payload"].combine_chunks(), table["document"].combine_chunks())
    place = table.schema.get_field_index("payload")
    rows = answers(query, table.set_column(place, "payload", documents.cast(pa.string())))
    out = io.BytesIO()
    pq.write_table(rows, out, compression="none", use_dictionary=False, write_statistics=False)
    return out.getvalue()

"""Records of the spool → rows of events, logs and snapshots, with what could not be decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tailrace.streams import records
from tailrace.streams.flat_batches import FlatRows, decode_messages
from tailrace.streams.flat_wire import Wire
from tailrace.streams.json_lines import decode_lines
from tailrace.streams.kinds import EVENTS, KINDS, LOGS, SNAPSHOTS, decoded_schema
from tailrace.streams.plain_events import PlainEvent, plain_columns, plain_events
from tailrace.streams.records import Record

LINES = {records.EVENT_LINES: EVENTS, records.LOG_LINES: LOGS, records.SNAPSHOT_LINES: SNAPSHOTS}
_IP = 16
LAYOUTS = ("auto", "v1", "v2")
"By their number in a record."
_TOGETHER = 10_000
"Plain events that are made into columns at once: more would only need more memory."
_Plain = tuple[Record, list[PlainEvent]]
MESSAGE, WHOLE = -1, -2
"In place of a position: one message as a whole, and all of a record."


@dataclass(frozen=True, slots=True)
class Refused:
    """What cannot be stored, and why."""

    record: Record
    position: int
    "Line, or record inside of a message; below zero: all of it."
    reason: str
    raw: bytes
    "All of a message; the same object for all its records that are no good, however many there are."


@dataclass(slots=True)
class Decoded:
    """Rows of all records by kind, in the columns of `decoded_schema`."""

    tables: dict[str, list[pa.RecordBatch]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    refused: list[Refused] = field(default_factory=list)

    def table(self, kind: str) -> pa.Table:
        return pa.Table.from_batches(self.tables[kind], decoded_schema(kind))

    def add(self, kind: str, columns: dict[str, pa.Array], origin: Origin) -> None:
        """Takes rows in; `origin` says for each whence it came."""
        size = len(columns["timestamp"])
        if size:
            whole = {**columns, **origin.columns()}
            self.tables[kind].append(_batch(kind, whole, size))

    def joined(self, other: Decoded) -> Decoded:
        tables = {kind: [*self.tables[kind], *other.tables[kind]] for kind in KINDS}
        return Decoded(tables, [*self.refused, *other.refused])

    def refuse(self, record: Record, position: int, reason: str, raw: bytes) -> None:
        self.refused.append(Refused(record, position, reason, raw))


@dataclass(frozen=True, slots=True)
class Origin:
    """Record of each row, among several, or the one of all rows."""

    among: Sequence[Record]
    owner: np.ndarray[tuple[int], np.dtype[np.int64]]
    ips: Sequence[bytes] | None = None
    "Senders, where they are not those of the records; counted like these."

    def columns(self) -> dict[str, pa.Array]:
        places = pa.array(self.owner)
        ips = self.ips if self.ips is not None else [record.source_ip for record in self.among]
        return {
            "batch_timestamp": pa.array([r.received_at for r in self.among], pa.int64()).take(places),
            "workspace_id": pa.array([r.workspace for r in self.among], pa.uint64()).take(places),
            "source_ip": pa.array(ips, pa.binary()).take(places),
        }


def decode(given: Sequence[Record]) -> Decoded:
    """All records; one that a decoder fails at is refused, and holds up no other."""
    try:
        return _decoded(given)
    except Exception as error:
        if len(given) == 1:
            found = Decoded()
            found.refuse(given[0], WHOLE, f"decode: {type(error).__name__}: {error}", bytes(given[0].body))
            return found
    half = len(given) // 2
    return decode(given[:half]).joined(decode(given[half:]))


def _decoded(given: Iterable[Record]) -> Decoded:
    """Frames together, plain events together, everything else one by one."""
    found = Decoded()
    framed: dict[int, list[Record]] = {}
    plain: list[_Plain] = []
    held = 0
    for record in given:
        if record.workspace == 0:
            found.refuse(record, WHOLE, "workspace: 0 is nobody's", bytes(record.body))
        elif record.kind == records.FRAMES:
            framed.setdefault(record.layout, []).append(record)
        elif record.kind == records.EVENT_LINES and (lines := _plain_lines(record)):
            plain.append((record, lines))
            held += len(lines)
            if held >= _TOGETHER:
                _plain_rows(found, plain)
                plain, held = [], 0
        else:
            _READERS.get(record.kind, _unknown)(found, record)
    for layout, together in framed.items():
        _frames(found, together, LAYOUTS[layout])
    _plain_rows(found, plain)
    return found


def _plain_lines(record: Record) -> list[PlainEvent] | None:
    body = bytes(record.body)
    try:
        body.decode()
    except UnicodeDecodeError:
        return None
    return plain_events(body)


def _plain_rows(found: Decoded, plain: Sequence[_Plain]) -> None:
    """Columns of all of them; a record that is not plain after all is found by halves."""
    if not plain:
        return
    given = [record for record, _ in plain]
    owner = np.repeat(np.arange(len(plain)), [len(lines) for _, lines in plain])
    arrived = np.array([record.received_at for record in given], np.int64)[owner]
    columns = plain_columns([line for _, lines in plain for line in lines], arrived)
    if columns is not None:
        found.add(EVENTS, columns, Origin(given, owner))
    elif len(plain) == 1:
        _lines(found, given[0])
    else:
        half = len(plain) // 2
        _plain_rows(found, plain[:half])
        _plain_rows(found, plain[half:])


def _frames(found: Decoded, framed: list[Record], layout: str) -> None:
    wire = Wire(b"".join(record.body for record in framed))
    starts, ends, owner, base = [], [], [], 0
    for place, record in enumerate(framed):
        for start, end in frames(record.body, 0):
            starts.append(base + start)
            ends.append(base + end)
            owner.append(place)
        base += len(record.body)
    decoded = decode_messages(wire, np.array(starts, np.int64), np.array(ends, np.int64), layout)
    owners = np.array(owner, np.int64)
    for kind, rows in decoded.rows.items():
        found.add(kind, _filled(kind, rows), Origin(framed, owners[rows.owner]))
    for message, reason in decoded.messages:
        raw = wire.bytes[starts[message] : ends[message]].tobytes()
        found.refuse(framed[owner[message]], MESSAGE, reason, raw)
    raws: dict[int, bytes] = {}
    for message, place, reason in decoded.records:
        if message not in raws:
            raws[message] = wire.bytes[starts[message] : ends[message]].tobytes()
        found.refuse(framed[owner[message]], place, reason, raws[message])


def frames(body: bytes | memoryview, before: int) -> Iterator[tuple[int, int]]:
    """Where messages stand in a body of frames; `before` bytes stand in front of each length."""
    at, end = before, len(body)
    while at + 4 <= end:
        start = at + 4
        size = int.from_bytes(body[at:start])
        yield start, start + size
        at = start + size + before


def _filled(kind: str, rows: FlatRows) -> dict[str, pa.Array]:
    """Texts that a file cannot be without."""
    columns = dict(rows.columns)
    for name in ("source", "entity") if kind == SNAPSHOTS else ():
        columns[name] = columns[name].fill_null("")
    return columns


def _lines(found: Decoded, record: Record) -> None:
    rows = decode_lines(LINES[record.kind], bytes(record.body), record.received_at)
    _alone(found, LINES[record.kind], rows.columns, record)
    for place, text, reason in rows.bad:
        found.refuse(record, place, reason, text)


def _syslog(found: Decoded, record: Record) -> None:
    from tailrace.streams.syslog_rows import syslog_rows

    body = bytes(record.body)
    spans = list(frames(body, _IP))
    columns = syslog_rows([body[start:end] for start, end in spans], record.received_at)
    senders = [body[start - 4 - _IP : start - 4] for start, _ in spans]
    found.add(LOGS, columns, Origin([record] * len(spans), np.arange(len(spans), dtype=np.int64), senders))


def _oversize(found: Decoded, record: Record) -> None:
    found.refuse(record, MESSAGE, "syslog: longer than max_message", bytes(record.body))


def _otlp(found: Decoded, record: Record) -> None:
    from tailrace.streams.otlp_logs import otlp_rows

    rows = otlp_rows(bytes(record.body), record.received_at)
    _alone(found, LOGS, rows.columns, record)
    for bad in rows.bad:
        found.refuse(record, bad.position, bad.reason, bad.raw)


def _pulled(found: Decoded, record: Record) -> None:
    from tailrace.streams.pulled_lines import pulled_rows

    _alone(found, SNAPSHOTS, pulled_rows(record.body), record)


def _unknown(found: Decoded, record: Record) -> None:
    found.refuse(record, WHOLE, f"record: kind {record.kind} is not known", bytes(record.body))


def _alone(found: Decoded, kind: str, columns: dict[str, pa.Array], record: Record) -> None:
    found.add(kind, columns, Origin([record], np.zeros(len(columns["timestamp"]), np.int64)))


_READERS: dict[int, Callable[[Decoded, Record], None]] = {
    **dict.fromkeys(LINES, _lines),
    records.SYSLOG: _syslog,
    records.OVERSIZE: _oversize,
    records.OTLP_PROTO: _otlp,
    records.OTLP_JSON: _otlp,
    records.PULLED: _pulled,
}


def _batch(kind: str, columns: dict[str, pa.Array], size: int) -> pa.RecordBatch:
    wanted = decoded_schema(kind)
    arrays = [columns[f.name] if f.name in columns else pa.nulls(size, f.type) for f in wanted]
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)

"""FlatBuffers batches → rows of events, logs and snapshots; both layouts of events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.streams.flat_wire import Flags, Ints, Spans, Tables, Wire
from tailrace.streams.kinds import EVENT_TYPES, EVENTS, LEVELS, LOG_TYPES, LOGS, SNAPSHOTS

KEY_SIZE = 16
LEAST_MESSAGE = 16
EVENT, LOG, SNAPSHOT = 1, 2, 5
SCHEMAS = {EVENT: EVENTS, LOG: LOGS, SNAPSHOT: SNAPSHOTS}
SCHEMA_NAMES = {0: "unknown", 3: "metric", 4: "trace"}
_LEAST_ELEMENT = 16
_SHARED = 64
"How many times the size of its message texts may be, since writers share equal ones."
_INFO = LEVELS.index("info")
Columns = dict[str, pa.Array]


@dataclass(frozen=True, slots=True)
class Wrappers:
    """What each message says of itself."""

    ok: Flags
    key_at: Ints
    schema: Ints
    batch_id: npt.NDArray[np.uint64]
    low: Ints
    high: Ints
    ip_at: Ints
    "Position of the sender's address; -1 = it names none."

    @classmethod
    def of(cls, wire: Wire, starts: Ints, ends: Ints) -> Wrappers:
        """Messages lie between starts and ends."""
        tables = Tables.roots(wire, starts, ends, ends - starts >= LEAST_MESSAGE)
        key, data, ip = tables.spans(0), tables.spans(4), tables.spans(5)
        schema, bad_schema = tables.number(1, 1)
        batch_id, bad_id = tables.number(3, 8)
        ok = tables.ok & key.present & (key.length == KEY_SIZE) & data.present & ~bad_schema & ~bad_id
        low, high = np.where(ok, data.start, 0), np.where(ok, data.start + data.length, 0)
        given = ip.present & (ip.length == KEY_SIZE)
        return cls(ok, np.where(ok, key.start, 0), schema, batch_id, low, high, np.where(given, ip.start, -1))


@dataclass(frozen=True, slots=True)
class FlatRows:
    """Rows of one kind, with the message and the place in it that each comes from."""

    columns: Columns
    owner: Ints
    "Message, counted in what was given."


@dataclass(slots=True)
class FlatDecoded:
    """What came of messages: rows by kind, messages that are no good, and records of good messages that are not."""

    rows: dict[str, FlatRows] = field(default_factory=dict)
    messages: list[tuple[int, str]] = field(default_factory=list)
    "Message and reason."
    records: list[tuple[int, int, str]] = field(default_factory=list)
    "Message, place in it, and reason."


def decode_messages(wire: Wire, starts: Ints, ends: Ints, layout: str = "auto") -> FlatDecoded:
    """All messages at once; `layout` = auto, v1 or v2 says what events look like."""
    found = FlatDecoded()
    wrappers = Wrappers.of(wire, starts, ends)
    _refuse(found, np.flatnonzero(~wrappers.ok), "flatbuffers: no batch")
    for number in np.unique(wrappers.schema[wrappers.ok]).tolist():
        chosen = np.flatnonzero(wrappers.ok & (wrappers.schema == number))
        if number not in SCHEMAS:
            name = SCHEMA_NAMES.get(number, str(number))
            _refuse(found, chosen, f"flatbuffers: batches of {name} are not stored")
            continue
        _decode_kind(found, wire, wrappers, chosen, number, layout)
    return found


def _decode_kind(found: FlatDecoded, wire: Wire, wrappers: Wrappers, chosen: Ints, number: int, layout: str) -> None:
    low, high = wrappers.low[chosen], wrappers.high[chosen]
    roots = Tables.roots(wire, low, high, np.ones(len(chosen), np.bool_))
    tables, owner, bad = roots.elements(0, _LEAST_ELEMENT)
    bad |= ~roots.ok
    reader = {EVENT: _Events, LOG: _Logs, SNAPSHOT: _Snapshots}[number](tables, layout)
    # What is shared by aliasing would grow beyond all bounds when it is copied out.
    size = high - low
    payload = np.bincount(owner, reader.payload.length, len(chosen))
    texts = np.bincount(owner, reader.text_bytes(), len(chosen))
    swollen = (payload > size) | (texts > _SHARED * size)
    _refuse(found, chosen[bad], f"flatbuffers: no {SCHEMAS[number]}")
    _refuse(found, chosen[swollen & ~bad], "flatbuffers: more than the message holds")
    usable = ~(bad | swollen)[owner]
    columns, good = reader.columns(usable)
    first = np.searchsorted(owner, np.arange(len(chosen)))
    for row in np.flatnonzero(usable & ~good).tolist():
        place = int(owner[row])
        found.records.append((int(chosen[place]), row - int(first[place]), reader.reason(row)))
    found.rows[SCHEMAS[number]] = FlatRows(columns, chosen[owner[good & usable]])


def _refuse(found: FlatDecoded, messages: Ints, reason: str) -> None:
    found.messages += [(message, reason) for message in messages.tolist()]


class _Reader:
    """Fields of the records of one kind."""

    texts: dict[str, Spans]
    payload: Spans
    outside: Flags

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.wire = tables.wire
        self.outside = ~tables.ok
        self.undecodable: dict[str, Flags] = {}

    def text_bytes(self) -> npt.NDArray[np.float64]:
        """Bytes of all texts of a record."""
        total = np.zeros(len(self.outside))
        for spans in self.texts.values():
            total = total + spans.length
        return total

    def number(self, slot: int | Ints, width: int, absent: int = 0) -> npt.NDArray[Any]:
        values, bad = self.tables.number(slot, width, absent)
        self.outside = self.outside | bad
        return values

    def spans(self, slot: int | Ints) -> Spans:
        spans = self.tables.spans(slot)
        self.outside = self.outside | spans.bad
        return spans

    def own(self, good: Flags) -> Columns:
        """Columns of the kind itself, for the rows that are good."""
        raise NotImplementedError

    def columns(self, usable: Flags) -> tuple[Columns, Flags]:
        """Columns of the good rows, and which these are."""
        good = usable & ~self.outside
        texts: Columns = {}
        for name, spans in self.texts.items():
            values = self.wire.binary(spans.start, spans.length, spans.present & good)
            wrong = undecodable(values)
            self.undecodable[name] = wrong
            good = good & ~wrong
            texts[name] = values
        kept = pa.array(good)
        columns = {name: _texts(values.filter(kept)) for name, values in texts.items()}
        return {**self.own(good), **columns, **self._shared(good)}, good

    def _shared(self, good: Flags) -> Columns:
        start, length = self.payload.start[good], self.payload.length[good]
        everything = np.ones(len(start), np.bool_)
        stamps = self.timestamp[good]
        # Beyond what a signed number holds: such a time is refused later, by its sign.
        return {
            "timestamp": pa.array(stamps.astype(np.int64)),
            "payload": self.wire.binary(start, length, everything),
        }

    timestamp: npt.NDArray[np.uint64]

    def reason(self, row: int) -> str:
        """Why a row is not good."""
        for name, wrong in self.undecodable.items():
            if wrong[row]:
                return f"flatbuffers: {name} is not UTF-8"
        return "flatbuffers: a field lies outside"


class _Events(_Reader):
    def __init__(self, tables: Tables, layout: str) -> None:
        super().__init__(tables)
        newer = {"v1": np.zeros(len(tables.slots), np.int64), "v2": np.ones(len(tables.slots), np.int64)}.get(
            layout, (tables.slots >= 7).astype(np.int64)
        )
        self.type = self.number(0, 1)
        self.timestamp = self.number(1, 8)
        service = self.spans(np.where(newer == 1, 2, 1 << 20))
        self.device, self.session = self.spans(2 + newer), self.spans(3 + newer)
        self.texts = {"event_name": self.spans(4 + newer), "service": service}
        self.payload = self.spans(5 + newer)

    def own(self, good: Flags) -> Columns:
        return {
            "event_type": words(self.type[good], EVENT_TYPES),
            "device_id": _ids(self.wire, self.device, good),
            "session_id": _ids(self.wire, self.session, good),
        }


class _Logs(_Reader):
    def __init__(self, tables: Tables, layout: str) -> None:
        super().__init__(tables)
        self.type = self.number(0, 1)
        self.session = self.spans(1)
        # A writer that leaves the level out means the default of the schema, 0; nobody whose log says
        # nothing of its level means an emergency.
        self.level = self.number(2, 1, _INFO)
        self.timestamp = self.number(3, 8)
        self.texts = {"source": self.spans(4), "service": self.spans(5)}
        self.payload = self.spans(6)

    def own(self, good: Flags) -> Columns:
        return {
            "level": words(self.level[good], LEVELS, _INFO),
            "event_type": words(self.type[good], LOG_TYPES),
            "session_id": _ids(self.wire, self.session, good),
        }


class _Snapshots(_Reader):
    def __init__(self, tables: Tables, layout: str) -> None:
        super().__init__(tables)
        self.timestamp = self.number(0, 8)
        self.texts = {"source": self.spans(1), "entity": self.spans(2)}
        self.payload = self.spans(3)

    def own(self, good: Flags) -> Columns:
        return {}


def _texts(values: pa.Array) -> pa.Array:
    """Bytes that are known to be UTF-8."""
    return values.cast(pa.string())


def _ids(wire: Wire, spans: Spans, good: Flags) -> pa.Array:
    """Of another length than sixteen is none."""
    return wire.ids(spans.start[good], (spans.present & (spans.length == KEY_SIZE))[good])


def words(numbers: npt.NDArray[Any], names: tuple[str, ...], other: int = 0) -> pa.Array:
    """Names by number; `other` for numbers that have none."""
    codes = np.where(numbers < len(names), numbers, other).astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names, pa.string())).cast(pa.string())


def undecodable(values: pa.Array) -> Flags:
    """Which values are not UTF-8; mostly none, which takes one look at all of them."""
    wrong = np.zeros(len(values), np.bool_)
    parts = [(0, len(values))]
    while parts:
        start, size = parts.pop()
        try:
            values.slice(start, size).cast(pa.string())
        except pa.ArrowInvalid:
            if size == 1:
                wrong[start] = True
            else:
                half = size // 2
                parts += [(start, half), (start + half, size - half)]
    return wrong

"""Records → structs, by the cheapest way that loses nothing, and learning which places need another type."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from msgspec import Raw

from tailrace.core import Json, Jsonl, Table
from tailrace.formats.base import RAW_LIMIT, Bad, Batch, Positions
from tailrace.formats.json_columns import columns_of
from tailrace.formats.json_extra import extra_of, rest_of
from tailrace.formats.json_fit import (
    UNREADABLE,
    decapitalized,
    fit_record,
    is_utf8,
    mended,
    settle,
)
from tailrace.formats.json_notes import MISFIT, REPAIRED, Notes
from tailrace.formats.json_scan import why_invalid
from tailrace.formats.json_shape import Shape, decoder_at
from tailrace.formats.json_struct import REST, Keys
from tailrace.formats.json_unwrap import Tree, Unwrapped, Unwrapper

_SAMPLES = 50
"Records of a batch whose keys are looked at."
_MENDED_BYTES = 4 * 1024 * 1024
ENVELOPE = "tp_envelope"
"In `tp_extra`: what stood around the record."
RAWS = msgspec.json.Decoder(list[Raw])
Record = bytes | Raw
RAW = msgspec.json.Decoder(Raw)
OBJECT = msgspec.json.Decoder(dict[str, Raw])


@dataclass(slots=True)
class Rows:
    """Records decoded together, not yet columns."""

    structs: list[Any]
    positions: Positions
    raw: Callable[[int], bytes]
    notes: Notes
    records: int
    bad: list[Bad] = field(default_factory=list)
    skipped: int = 0


class Cascade:
    """Decodes records of one table; gets better at it as it goes."""

    def __init__(self, table: Table, fmt: Json | Jsonl, path: Keys = ()) -> None:
        self._table = table
        self._format = fmt
        self._path = path
        self.shape = Shape(table, fmt, path)
        inside = any((column.src or "").startswith(f"/{ENVELOPE}/") for column in table.columns)
        self._rest = next((column.name for column in table.columns if column.src == REST), None)
        self._unwrapper = Unwrapper(fmt.unwrap, ENVELOPE if inside else None) if fmt.unwrap else None
        skip = fmt.skip if isinstance(fmt, Json) else ()
        self._skipped = tuple(json.dumps(key).encode() for key in skip)
        self.raws_at = decoder_at(path, Raw)

    def notes(self) -> Notes:
        return Notes(self._table.keep)

    def strict(
        self, decode: Callable[[], list[Any]], positions: Positions | int, raws: Callable[[], Sequence[bytes]]
    ) -> Rows | None:
        """All records at once; None when any does not fit. Positions: their own, or that of the first."""
        try:
            structs = decode()
        except UNREADABLE as error:
            if not self.shape.lacks(error):
                return None
            self.shape.widen()
            return self.strict(decode, positions, raws)
        if isinstance(positions, int):
            positions = np.arange(positions, positions + len(structs), dtype=np.int64)
        return Rows(structs, positions, _lazily(raws), self.notes(), len(structs))

    def unwrapped(self, records: Sequence[Record]) -> Unwrapped | None:
        """The records that these hold; None: they are no envelopes."""
        unwrapper = self._unwrapper
        if unwrapper is None or not any(unwrapper.may_hold(bytes(record)) for record in records):
            return None
        return unwrapper.unwrap(records)

    def inner(self, found: Unwrapped, positions: Sequence[int], *, strange: bool = False) -> Rows:
        """Records that were unwrapped: all at once if they fit, else each by itself."""
        rows = self._inner_at_once(found.records, np.asarray(positions, np.int64))
        if rows is None:
            return self.each(found.records, positions, strange=strange, envelopes=found.envelopes)
        for row, envelope in found.envelopes.items():
            rows.notes.unknowns[row] = {ENVELOPE: envelope}
        return rows

    def _inner_at_once(self, records: list[bytes], positions: Positions) -> Rows | None:
        """Each must be one object: no value has a line end between } and {."""
        if not all(record[:1] == b"{" and record[-1:] == b"}" for record in records):
            return None
        text = b"\n".join(records)
        if not is_utf8(text):
            return None
        rows = self.strict(lambda: self.shape.record.decode_lines(text), positions, lambda: records)
        return rows if rows is not None and len(rows.structs) == len(records) else None

    def each(
        self,
        records: Sequence[Record],
        positions: Sequence[int],
        *,
        strange: bool = False,
        envelopes: Mapping[int, Tree] | None = None,
    ) -> Rows:
        """Every record by itself. `strange`: they may be no records of this table at all."""
        self.shape.widen()
        notes = self.notes()
        structs: list[Any] = []
        kept: list[int] = []
        bad: list[Bad] = []
        skipped = 0
        for index, record in enumerate(records):
            raw = bytes(record)
            if self._skips(raw):
                skipped += 1
                continue
            try:
                structs.append(self._one(raw, len(structs), notes, strange))
                kept.append(index)
                if envelopes and index in envelopes:
                    notes.unknowns.setdefault(len(structs) - 1, {})[ENVELOPE] = envelopes[index]
            except Refused as refused:
                notes.forget(len(structs))
                bad.append(Bad(positions[index], raw[:RAW_LIMIT], len(raw), str(refused)))
        chosen = np.asarray(positions, np.int64)[kept] if kept else np.empty(0, np.int64)
        return Rows(structs, chosen, lambda row: bytes(records[kept[row]]), notes, len(records), bad, skipped)

    def _skips(self, raw: bytes) -> bool:
        """Is it an object of a kind that is passed over?"""
        if not any(mark in raw for mark in self._skipped):
            return False
        try:
            return any(json.dumps(key).encode() in self._skipped for key in OBJECT.decode(raw))
        except UNREADABLE:
            return False

    def _one(self, raw: bytes, row: int, notes: Notes, strange: bool) -> Any:
        clean = is_utf8(raw)
        if clean:
            try:
                return self.shape.record.decode(raw)
            except UNREADABLE:
                pass
            try:
                return self._field_by_field(raw, row, notes, strange)
            except msgspec.ValidationError:
                raise Refused("json: not an object") from None
            except UNREADABLE:
                notes.forget(row)
        repaired = mended(raw) if len(raw) <= _MENDED_BYTES else None
        if repaired is None:
            raise Refused(why_invalid(raw))
        try:
            struct = self._field_by_field(repaired, row, notes, strange)
        except msgspec.ValidationError:
            raise Refused("json: not an object") from None
        except UNREADABLE:
            raise Refused(why_invalid(repaired)) from None
        notes.mark(row, REPAIRED, "json: repaired" if clean else "invalid utf-8")
        return struct

    def _field_by_field(self, raw: bytes, row: int, notes: Notes, strange: bool) -> Any:
        if self._format.keys == "camel":
            raw = _any_spelling(raw)
        struct = fit_record(self.shape.level, raw, row, notes)
        if strange and not any(getattr(struct, name) is not None for name in struct.__struct_fields__):
            raise Refused(f"json: neither a record nor an object with '{'.'.join(self._path)}'")
        return struct

    def batch(self, rows: Rows) -> Batch:
        """The columns of decoded records; what was learned from them serves the next ones."""
        level, shape = self.shape.level, self.shape
        apart = {MISFIT} if self._rest is None else {MISFIT, ENVELOPE}
        places = {p: read for p, read in shape.rest.items() if p[0] not in apart and rows.notes.keeps(p)}
        settle(level, rows.structs, rows.notes, stay=places)
        columns = shape.complete(columns_of(level, rows.structs, rows.notes), len(rows.structs))
        beside = {place: read(rows.structs) for place, read in places.items()}
        if self._rest is not None:
            columns[self._rest] = rest_of(rows.notes, len(rows.structs), beside, (ENVELOPE,))
            beside = {}
        extra, flagged = extra_of(rows.notes, len(rows.structs), beside)
        step = max(1, len(rows.structs) // _SAMPLES)
        shape.learn(rows.notes, rows.records, columns, map(rows.raw, range(0, len(rows.structs), step)))
        return Batch(columns, rows.positions, rows.raw, extra, flagged, rows.bad, rows.skipped)


class Refused(Exception):
    """The record cannot be stored; the text says why."""


def _any_spelling(raw: bytes) -> bytes:
    try:
        return decapitalized(raw)
    except (ValueError, RecursionError):
        return raw


def _lazily(raws: Callable[[], Sequence[bytes]]) -> Callable[[int], bytes]:
    found: list[Sequence[bytes]] = []

    def raw(row: int) -> bytes:
        if not found:
            found.append(raws())
        return bytes(found[0][row])

    return raw

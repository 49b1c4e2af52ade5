"""OpenTelemetry's logs in protobuf → rows, resource by resource."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.formats.base import RAW_LIMIT, Bad, Stream
from tailrace.formats.fit import Texts
from tailrace.formats.otlp_frames import Resources, resources
from tailrace.formats.otlp_rows import Rows, group_fields
from tailrace.formats.otlp_wire import Documents, attributes, placed, strings, values
from tailrace.formats.protobuf_wire import FIXED32, FIXED64, SPAN, VARINT, Bytes, Fields, Ints, merged, scan, texts

RESOURCE, SCOPE_LOGS, SCHEMA_URL = 1, 2, 3
SCOPE, LOG_RECORDS = 1, 2
ATTRIBUTES, DROPPED = 1, 2
SCOPE_NAME, SCOPE_VERSION, SCOPE_ATTRIBUTES, SCOPE_DROPPED = 1, 2, 3, 4
TIME, SEVERITY, SEVERITY_TEXT, BODY, RECORD_ATTRIBUTES, RECORD_DROPPED = 1, 2, 3, 5, 6, 7
FLAGS, TRACE, SPAN_ID, OBSERVED, EVENT_NAME = 8, 9, 10, 11, 12
_CUT = "otlp: the message ends inside a field"
_Group = dict[str, Any]


def read_messages(stream: Stream) -> Iterator[Rows]:
    """The records of one run of resources after the other."""
    for found in resources(stream):
        yield _rows(found)


def _rows(found: Resources) -> Rows:
    data = np.frombuffer(found.data, np.uint8)
    bad = list(found.bad)
    groups: list[_Group] = []
    inner = scan(data, found.starts, found.ends)
    bad += _refused(data, found.starts, found.ends, inner.broken)
    shared = _resources(data, inner, len(found.starts))
    scopes = inner.of(SCOPE_LOGS, SPAN)
    logs = scan(data, scopes.start, scopes.end)
    bad += _refused(data, scopes.start, scopes.end, logs.broken)
    for own, resource in zip(_scopes(data, logs, len(scopes.owner)), scopes.owner.tolist(), strict=True):
        groups.append(shared[resource] | own)
    return _Records(data, logs.of(LOG_RECORDS, SPAN), groups, bad).rows()


def _resources(data: Bytes, inner: Fields, size: int) -> list[_Group]:
    """What each resource says of itself."""
    url = strings(data, inner.of(SCHEMA_URL, SPAN), size).to_pylist()
    data, held = merged(data, inner.of(RESOURCE, SPAN))
    fields = scan(data, held.start, held.end)
    told = attributes(data, fields.of(ATTRIBUTES, SPAN), len(held.owner)).texts.to_pylist()
    dropped = numbers(fields.of(DROPPED, VARINT), len(held.owner)).to_pylist()
    groups: list[_Group] = [{"resource_schema_url": text or None} for text in url]
    for place, owner in enumerate(held.owner.tolist()):
        groups[owner]["resource_attributes"] = told[place]
        groups[owner]["resource_dropped_attributes_count"] = _text(dropped[place])
    return groups


def _scopes(data: Bytes, logs: Fields, size: int) -> list[_Group]:
    url = strings(data, logs.of(SCHEMA_URL, SPAN), size).to_pylist()
    data, held = merged(data, logs.of(SCOPE, SPAN))
    fields = scan(data, held.start, held.end)
    count = len(held.owner)
    columns = {
        "scope_name": strings(data, fields.of(SCOPE_NAME, SPAN), count),
        "scope_version": strings(data, fields.of(SCOPE_VERSION, SPAN), count),
        "scope_attributes": attributes(data, fields.of(SCOPE_ATTRIBUTES, SPAN), count).texts,
        "scope_dropped_attributes_count": numbers(fields.of(SCOPE_DROPPED, VARINT), count),
    }
    groups: list[_Group] = [{"scope_schema_url": text or None} for text in url]
    told = {name: array.to_pylist() for name, array in columns.items()}
    for place, owner in enumerate(held.owner.tolist()):
        groups[owner] |= {name: _text(several[place]) for name, several in told.items()}
    return groups


class _Records:
    """The log records of a run."""

    def __init__(self, data: Bytes, spans: Fields, groups: list[_Group], bad: list[Bad]) -> None:
        fields = scan(data, spans.start, spans.end)
        self.bad = bad + _refused(data, spans.start, spans.end, fields.broken)
        if fields.broken.any():
            spans = spans.where(~fields.broken)
            fields = scan(data, spans.start, spans.end)
        self.data, self.spans, self.groups, self.fields = data, spans, groups, fields
        self.size = len(spans.owner)

    def rows(self) -> Rows:
        fields, size = self.fields, self.size
        told = attributes(self.data, fields.of(RECORD_ATTRIBUTES, SPAN), size)
        body = self._body()
        columns: Texts = {
            "time_unix_nano": numbers(fields.of(TIME, FIXED64), size),
            "observed_time_unix_nano": numbers(fields.of(OBSERVED, FIXED64), size),
            "severity_number": numbers(fields.of(SEVERITY, VARINT), size),
            "severity_text": self._strings(SEVERITY_TEXT),
            "body": body.texts,
            "attributes": told.texts,
            "dropped_attributes_count": numbers(fields.of(RECORD_DROPPED, VARINT), size),
            "flags": numbers(fields.of(FLAGS, FIXED32), size),
            "event_name": self._strings(EVENT_NAME),
        }
        misfits: Texts = {}
        for name, number, width in (("trace_id", TRACE, 16), ("span_id", SPAN_ID, 8)):
            columns[name], wrong = self._ids(number, width)
            if wrong is not None:
                misfits[name] = wrong
        for name, document in (("body", body), ("attributes", told)):
            if document.broken.any():
                misfits[name] = self._shown(document.broken)
        columns |= group_fields(self.groups, self.spans.owner)
        return Rows(size, columns, misfits, {}, self._raw, self.bad)

    def _strings(self, number: int) -> pa.Array:
        return strings(self.data, self.fields.of(number, SPAN), self.size)

    def _body(self) -> Documents:
        data, held = merged(self.data, self.fields.of(BODY, SPAN))
        found = values(data, held.start, held.end, quote=False)
        broken = np.zeros(self.size, bool)
        broken[held.owner[found.broken]] = True
        return Documents(placed([(found.texts, held.owner)], self.size), broken)

    def _ids(self, number: int, width: int) -> tuple[pa.Array, pa.Array | None]:
        """Ids in hexadecimal, null for zero ones, and those that have another length."""
        held = self.fields.of(number, SPAN).last()
        lengths = held.value.astype(np.int64)
        right = held.where(lengths == width)
        found = self.data[right.start[:, None] + np.arange(width)].reshape(-1, width)
        right, found = right.where(found.any(axis=1)), found[found.any(axis=1)]
        digits = _HEX[found].reshape(-1, 2 * width).copy()
        offsets = np.arange(len(found) + 1, dtype=np.int32) * np.int32(2 * width)
        texted = pa.StringArray.from_buffers(len(found), pa.py_buffer(offsets), pa.py_buffer(digits))
        odd = held.where((lengths != width) & (lengths > 0))
        ids = placed([(texted, right.owner)], self.size)
        if not len(odd.owner):
            return ids, None
        raw = texts(self.data, odd.start, odd.value.astype(np.int64)).to_pylist()
        return ids, placed([(pa.array([value.hex() for value in raw], pa.string()), odd.owner)], self.size)

    def _shown(self, rows: npt.NDArray[np.bool_]) -> pa.Array:
        chosen = np.flatnonzero(rows)
        shown = [base64.b64encode(self._raw(row)[:RAW_LIMIT]).decode() for row in chosen.tolist()]
        return placed([(pa.array(shown, pa.string()), chosen)], self.size)

    def _raw(self, row: int) -> bytes:
        return self.data[int(self.spans.start[row]) : int(self.spans.end[row])].tobytes()


_HEX = np.array([list(f"{byte:02x}".encode()) for byte in range(256)], np.uint8)


def numbers(fields: Fields, size: int) -> pa.Array:
    """Numbers per message; zero is the same as none. Beyond 63 bits they are negative, as no time and no count is."""
    fields = fields.last()
    fields = fields.where(fields.value != 0)
    return placed([(pa.array(fields.value.view(np.int64)), fields.owner)], size)


def _text(value: Any) -> str | None:
    return str(value) if value or value == 0 else None


def _refused(data: Bytes, starts: Ints, ends: Ints, broken: npt.NDArray[np.bool_]) -> list[Bad]:
    spans = zip(starts[broken].tolist(), ends[broken].tolist(), strict=True)
    return [Bad(0, data[s : min(e, s + RAW_LIMIT)].tobytes(), e - s, _CUT) for s, e in spans]

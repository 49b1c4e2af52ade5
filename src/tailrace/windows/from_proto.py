"""OTLP logs in protobuf → OTAP tables, many records at a time."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.formats import otlp_proto as otlp
from tailrace.formats.base import RAW_LIMIT, Bad
from tailrace.formats.otlp_frames import Resources
from tailrace.formats.otlp_wire import KEY, VALUE, placed, strings
from tailrace.formats.protobuf_wire import FIXED32, FIXED64, SPAN, VARINT, Bytes, Fields, Ints, merged, scan, texts
from tailrace.windows.from_nested import Odd, flattened, of_owners
from tailrace.windows.proto_arrow import nested
from tailrace.windows.schema import ATTRS, BODY, EMPTY, LOGS, NANOS, RESOURCE, SCOPE, VALUE_FIELDS, Tables
from tailrace.windows.values import read_values

_CUT = "otlp: the message ends inside a field"
_VALUE = "otlp: a value cannot be read"
_ID = "otlp: trace_id has 16 bytes and span_id 8"
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Read:
    """Tables, and what of the bytes is in none of them."""

    tables: Tables
    bad: list[Bad]


def read_resources(found: Resources) -> Read:
    """The logs of a run of resources; ids count from zero.

    What is as it should be is read by a library at once; whatever is odd, or without that library, field by field.
    """
    batch = nested(found)
    if batch is not None:
        with suppress(Odd):
            return Read(flattened(batch), found.bad)
    return read_fields(found)


def read_fields(found: Resources) -> Read:
    """The same without a library; what cannot be stored is told, record by record."""
    data = np.frombuffer(found.data, np.uint8)
    inner = scan(data, found.starts, found.ends)
    bad = [*found.bad, *_refused(data, found.starts, found.ends, inner.broken, _CUT)]
    scopes = inner.of(otlp.SCOPE_LOGS, SPAN)
    logs = scan(data, scopes.start, scopes.end)
    bad += _refused(data, scopes.start, scopes.end, logs.broken, _CUT)
    records = logs.of(otlp.LOG_RECORDS, SPAN)
    table, log_attrs, wrong = _logs(data, records)
    if wrong:
        for rows, reason in wrong:
            bad += _refused(data, records.start, records.end, rows, reason)
        records = records.where(~np.logical_or.reduce([rows for rows, _ in wrong]))
        table, log_attrs, _ = _logs(data, records)
    resource, resource_attrs = _resources(data, inner, len(found.starts), bad)
    scope, urls, scope_attrs = _scopes(data, logs, len(scopes.owner), bad)
    of_scope = pa.array(records.owner)
    around = {
        "resource": resource.take(pa.array(scopes.owner)).take(of_scope),
        "scope": scope.take(of_scope),
        "schema_url": urls.take(of_scope),
    }
    logs_table = pa.table([(table | around)[field.name] for field in LOGS], schema=LOGS)
    kept = np.flatnonzero(np.bincount(records.owner))
    return Read(
        Tables(
            logs_table,
            log_attrs,
            of_owners(resource_attrs, np.unique(scopes.owner[kept])),
            of_owners(scope_attrs, kept),
        ),
        bad,
    )


def _refused(data: Bytes, starts: Ints, ends: Ints, rows: Flags, reason: str) -> list[Bad]:
    places = zip(starts[rows].tolist(), ends[rows].tolist(), strict=True)
    return [Bad(0, data[s : min(e, s + RAW_LIMIT)].tobytes(), e - s, reason) for s, e in places]


def _logs(data: Bytes, records: Fields) -> tuple[dict[str, pa.Array], pa.Table, list[tuple[Flags, str]]]:
    """Columns, attributes, and which records cannot be stored as they are, by reason."""
    fields = scan(data, records.start, records.end)
    size = len(records.owner)
    pairs = fields.of(otlp.RECORD_ATTRIBUTES, SPAN)
    attributes, unread = _attributes(data, pairs)
    bytes_of_body, body = merged(data, fields.of(otlp.BODY, SPAN))
    bodies, unread_bodies = _bodies(bytes_of_body, body, size)
    unreadable = np.concatenate([pairs.owner[unread], body.owner[unread_bodies]])
    wrong = _wrong(fields, unreadable)
    owners = attributes["parent_id"].to_numpy()
    having = np.zeros(size, bool)
    having[owners] = True
    ids = np.where(having, np.cumsum(having) - 1, -1)
    attributes = attributes.set_column(0, ATTRS.field(0), pa.array(ids[owners], pa.uint32()))
    columns = {
        "id": pa.array(ids, mask=ids < 0).cast(pa.uint32()),
        "time_unix_nano": _integers(fields.of(otlp.TIME, FIXED64), size).cast(NANOS),
        "observed_time_unix_nano": _integers(fields.of(otlp.OBSERVED, FIXED64), size).cast(NANOS),
        "trace_id": _identifiers(data, fields.of(otlp.TRACE, SPAN), size, 16),
        "span_id": _identifiers(data, fields.of(otlp.SPAN_ID, SPAN), size, 8),
        "severity_number": _severities(fields.of(otlp.SEVERITY, VARINT), size),
        "severity_text": _texts(data, fields.of(otlp.SEVERITY_TEXT, SPAN), size),
        "body": bodies,
        "dropped_attributes_count": _counts(fields.of(otlp.RECORD_DROPPED, VARINT), size),
        "event_name": _texts(data, fields.of(otlp.EVENT_NAME, SPAN), size),
        "flags": _counts(fields.of(otlp.FLAGS, FIXED32), size),
    }
    return columns, attributes, wrong


def _wrong(fields: Fields, unreadable: Ints) -> list[tuple[Flags, str]]:
    """Records by the first reason for which they cannot be stored."""
    odd = np.zeros(len(fields.broken), bool)
    for number, width in ((otlp.TRACE, 16), (otlp.SPAN_ID, 8)):
        held = fields.of(number, SPAN).last()
        odd[held.owner[(held.value != 0) & (held.value != width)]] = True
    values = np.zeros(len(odd), bool)
    values[unreadable] = True
    found = ((fields.broken, _CUT), (odd & ~fields.broken, _ID), (values & ~odd & ~fields.broken, _VALUE))
    return [(rows, reason) for rows, reason in found if rows.any()]


def _resources(data: Bytes, inner: Fields, size: int, bad: list[Bad]) -> tuple[pa.StructArray, pa.Table]:
    own, held = merged(data, inner.of(otlp.RESOURCE, SPAN))
    fields = scan(own, held.start, held.end)
    attributes = _shared(own, fields.of(otlp.ATTRIBUTES, SPAN), held.owner, bad)
    dropped = _counts(fields.of(otlp.DROPPED, VARINT), len(held.owner))
    columns = [
        pa.array(np.arange(size), pa.uint32()),
        _texts(data, inner.of(otlp.SCHEMA_URL, SPAN), size),
        placed([(dropped, held.owner)], size),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(RESOURCE)), attributes


def _scopes(data: Bytes, logs: Fields, size: int, bad: list[Bad]) -> tuple[pa.StructArray, pa.Array, pa.Table]:
    own, held = merged(data, logs.of(otlp.SCOPE, SPAN))
    fields = scan(own, held.start, held.end)
    count = len(held.owner)
    attributes = _shared(own, fields.of(otlp.SCOPE_ATTRIBUTES, SPAN), held.owner, bad)
    told = [
        _texts(own, fields.of(otlp.SCOPE_NAME, SPAN), count),
        _texts(own, fields.of(otlp.SCOPE_VERSION, SPAN), count),
        _counts(fields.of(otlp.SCOPE_DROPPED, VARINT), count),
    ]
    columns = [pa.array(np.arange(size), pa.uint32()), *(placed([(one, held.owner)], size) for one in told)]
    urls = _texts(data, logs.of(otlp.SCHEMA_URL, SPAN), size)
    return pa.StructArray.from_arrays(columns, fields=list(SCOPE)), urls, attributes


def _shared(data: Bytes, pairs: Fields, owners: Ints, bad: list[Bad]) -> pa.Table:
    """Attributes of resources or scopes; one that cannot be read does not take the logs with it."""
    found, broken = _attributes(data, pairs)
    bad += _refused(data, pairs.start, pairs.end, broken, _VALUE)
    found = found.set_column(0, ATTRS.field(0), pa.array(owners[pairs.owner], pa.uint32()))
    return found.filter(pa.array(~broken)) if broken.any() else found


def _attributes(data: Bytes, pairs: Fields) -> tuple[pa.Table, Flags]:
    """A row per pair, with the number of its message, and which of them cannot be read."""
    inner = scan(data, pairs.start, pairs.end)
    count = len(pairs.owner)
    own, held = merged(data, inner.of(VALUE, SPAN))
    found = read_values(own, held.start, held.end)
    broken = inner.broken.copy()
    broken[held.owner[found.broken]] = True
    columns = {name: placed([(array, held.owner)], count) for name, array in found.columns.items()}
    columns["type"] = columns["type"].fill_null(EMPTY)
    keys = strings(data, inner.of(KEY, SPAN), count).fill_null("")
    values = [columns[field.name] for field in VALUE_FIELDS]
    return pa.table([pa.array(pairs.owner, pa.uint32()), keys, *values], schema=ATTRS), broken


def _bodies(data: Bytes, held: Fields, size: int) -> tuple[pa.StructArray, Flags]:
    found = read_values(data, held.start, held.end)
    columns = [placed([(found.columns[field.name], held.owner)], size) for field in VALUE_FIELDS]
    filled = columns[0].fill_null(EMPTY).to_numpy(zero_copy_only=False) != EMPTY
    return pa.StructArray.from_arrays(columns, fields=list(BODY), mask=pa.array(~filled)), found.broken


def _texts(data: Bytes, fields: Fields, size: int) -> pa.Array:
    """Texts; an empty one is none."""
    held = fields.last()
    return strings(data, held.where(held.value != 0), size)


def _integers(fields: Fields, size: int) -> pa.Array:
    values = np.zeros(size, np.uint64)
    held = fields.last()
    values[held.owner] = held.value
    return pa.array(values.view(np.int64))


def _counts(fields: Fields, size: int) -> pa.Array:
    values = np.zeros(size, np.uint64)
    held = fields.last()
    values[held.owner] = held.value & np.uint64(0xFFFFFFFF)
    return pa.array(values.astype(np.uint32))


def _severities(fields: Fields, size: int) -> pa.Array:
    values = np.asarray(_integers(fields, size)).astype(np.int32)
    return pa.array(values, mask=values == 0)


def _identifiers(data: Bytes, fields: Fields, size: int, width: int) -> pa.Array:
    """Bytes of ids; one of zeros is none."""
    held = fields.last()
    held = held.where(held.value == width)
    found = data[held.start[:, None] + np.arange(width)].reshape(-1, width)
    filled = found.any(axis=1)
    held = held.where(filled)
    cut = texts(data, held.start, held.value.astype(np.int64))
    return placed([(cut, held.owner)], size).cast(pa.binary(width))

"""OTAP tables → OTLP logs in JSON, one message per line, column by column."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.fit import joined, quoted
from tailrace.windows.batches import LARGEST_BATCH, batches, in_order
from tailrace.windows.groups import Groups, Offsets, groups
from tailrace.windows.schema import VALUE_FIELDS, Tables
from tailrace.windows.values import json_values

_TEXT = pa.scalar(None, pa.string())
_HEX = np.array([list(f"{byte:02x}".encode()) for byte in range(256)], np.uint8)


def lines(tables: Tables, limit: int = LARGEST_BATCH, threads: int = 1) -> Iterator[bytes]:
    """Messages with their line ends, one per batch."""
    return in_order(line, batches(tables, limit), threads)


def line(batch: Tables) -> bytes:
    """One batch, its ids dense and its rows ordered."""
    found = groups(batch)
    scopes = _scopes(batch, found, _records(batch, found.log_attrs))
    resources = _lists(_resources(batch, found, scopes), np.array([0, len(found.resources) - 1]))
    text: str = resources[0].as_py()
    return f'{{"resourceLogs":{text}}}\n'.encode()


def _records(batch: Tables, offsets: Offsets) -> pa.Array:
    logs = {name: batch.logs[name].combine_chunks() for name in batch.logs.column_names}
    body = logs["body"]
    values = json_values({field.name: pc.struct_field(body, field.name) for field in VALUE_FIELDS})
    return _object(
        _member("timeUnixNano", _long(logs["time_unix_nano"])),
        _member("observedTimeUnixNano", _long(logs["observed_time_unix_nano"])),
        _member("severityNumber", _number(logs["severity_number"])),
        _member("severityText", _said(logs["severity_text"])),
        _member("body", pc.if_else(body.is_valid(), values, _TEXT)),
        _member("attributes", _attributes(batch.log_attrs, offsets)),
        _member("droppedAttributesCount", _number(logs["dropped_attributes_count"])),
        _member("flags", _number(logs["flags"])),
        _member("traceId", _hexadecimal(logs["trace_id"])),
        _member("spanId", _hexadecimal(logs["span_id"])),
        _member("eventName", _said(logs["event_name"])),
    )


def _scopes(batch: Tables, found: Groups, records: pa.Array) -> pa.Array:
    first = batch.logs.take(found.scope_rows)
    scope = first["scope"].combine_chunks()
    described = _object(
        _member("name", _said(pc.struct_field(scope, "name"))),
        _member("version", _said(pc.struct_field(scope, "version"))),
        _member("attributes", _attributes(batch.scope_attrs, found.scope_attrs)),
        _member("droppedAttributesCount", _number(pc.struct_field(scope, "dropped_attributes_count"))),
    )
    return _object(
        _member("scope", described),
        _member("logRecords", _lists(records, found.scopes)),
        _member("schemaUrl", _said(first["schema_url"].combine_chunks())),
    )


def _resources(batch: Tables, found: Groups, scopes: pa.Array) -> pa.Array:
    resource = batch.logs["resource"].take(found.resource_rows).combine_chunks()
    described = _object(
        _member("attributes", _attributes(batch.resource_attrs, found.resource_attrs)),
        _member("droppedAttributesCount", _number(pc.struct_field(resource, "dropped_attributes_count"))),
    )
    return _object(
        _member("resource", described),
        _member("scopeLogs", _lists(scopes, found.resources)),
        _member("schemaUrl", _said(pc.struct_field(resource, "schema_url"))),
    )


def _attributes(table: pa.Table, offsets: Offsets) -> pa.Array:
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    pairs = joined('{"key":', quoted(columns["key"].fill_null("")), ',"value":', json_values(columns), "}")
    return pc.if_else(pa.array(np.diff(offsets) > 0), _lists(pairs, offsets), _TEXT)


def _lists(texts: pa.Array, offsets: Offsets) -> pa.Array:
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), texts)
    return joined("[", pc.binary_join(lists, ","), "]")


def _object(*members: pa.Array) -> pa.Array:
    # `null_handling="skip"` would lose the rows where all members are null (Arrow 26).
    inner = pc.binary_join_element_wise(*members, "", null_handling="replace", null_replacement="")
    return joined("{", pc.ascii_rtrim(inner, ","), "}")


def _member(name: str, values: pa.Array) -> pa.Array:
    return joined(f'"{name}":', values, ",")


def _said(texts: pa.Array) -> pa.Array:
    return quoted(pc.if_else(pc.greater(pc.binary_length(texts), 0).fill_null(False), texts, _TEXT))


def _number(values: pa.Array) -> pa.Array:
    return pc.if_else(pc.not_equal(values, pa.scalar(0, values.type)).fill_null(False), values.cast(pa.string()), _TEXT)


def _long(times: pa.Array) -> pa.Array:
    """Nanoseconds as texts, as the protocol has numbers of 64 bits; those beyond 63 are what they were."""
    values = times.cast(pa.int64()).view(pa.uint64())
    return joined('"', _number(values), '"')


def _hexadecimal(ids: pa.Array) -> pa.Array:
    width = ids.type.byte_width
    data = b"".join(ids.fill_null(b"\0" * width).to_pylist())
    digits = _HEX[np.frombuffer(data, np.uint8)].reshape(-1)
    offsets = np.arange(len(ids) + 1, dtype=np.int32) * np.int32(2 * width)
    texts = pa.StringArray.from_buffers(len(ids), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(digits)))
    return joined('"', pc.if_else(ids.is_valid(), texts, _TEXT), '"')

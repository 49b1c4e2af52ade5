"""OTAP tables → OTLP logs in protobuf, column by column."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats import otlp_proto as otlp
from tailrace.formats.otlp_frames import TAG
from tailrace.formats.otlp_wire import KEY, VALUE
from tailrace.windows.batches import LARGEST_BATCH, batches, in_order
from tailrace.windows.groups import Groups, Offsets, groups
from tailrace.windows.schema import VALUE_FIELDS, Tables
from tailrace.windows.values import write_values
from tailrace.windows.wire_columns import concatenated, fixed32, fixed64, gathered, numbers, spans


def messages(tables: Tables, limit: int = LARGEST_BATCH, threads: int = 1) -> Iterator[bytes]:
    """ExportLogsServiceRequest, one per batch; written behind each other they are one."""
    return in_order(message, batches(tables, limit), threads)


def message(batch: Tables) -> bytes:
    """One batch, its ids dense and its rows ordered."""
    found = groups(batch)
    records = spans(otlp.LOG_RECORDS, _records(batch, found.log_attrs))
    scopes = spans(otlp.SCOPE_LOGS, _scopes(batch, found, records))
    resources = spans(TAG >> 3, _resources(batch, found, scopes))
    joined = gathered(resources, np.array([0, len(resources)]))
    body: bytes = joined[0].as_py()
    return body


def _records(batch: Tables, offsets: Offsets) -> pa.Array:
    logs = {name: batch.logs[name].combine_chunks() for name in batch.logs.column_names}
    body = logs["body"]
    values = write_values({field.name: pc.struct_field(body, field.name) for field in VALUE_FIELDS})
    return concatenated(
        fixed64(otlp.TIME, _filled(logs["time_unix_nano"].cast(pa.int64()))),
        numbers(otlp.SEVERITY, _filled(logs["severity_number"])),
        spans(otlp.SEVERITY_TEXT, _filled(logs["severity_text"])),
        spans(otlp.BODY, pc.if_else(body.is_valid(), values, pa.scalar(None, pa.binary()))),
        _attributes(otlp.RECORD_ATTRIBUTES, batch.log_attrs, offsets),
        numbers(otlp.RECORD_DROPPED, _filled(logs["dropped_attributes_count"])),
        fixed32(otlp.FLAGS, _filled(logs["flags"])),
        spans(otlp.TRACE, logs["trace_id"]),
        spans(otlp.SPAN_ID, logs["span_id"]),
        fixed64(otlp.OBSERVED, _filled(logs["observed_time_unix_nano"].cast(pa.int64()))),
        spans(otlp.EVENT_NAME, _filled(logs["event_name"])),
    )


def _scopes(batch: Tables, found: Groups, records: pa.Array) -> pa.Array:
    first = batch.logs.take(found.scope_rows)
    scope = first["scope"].combine_chunks()
    described = concatenated(
        spans(otlp.SCOPE_NAME, _filled(pc.struct_field(scope, "name"))),
        spans(otlp.SCOPE_VERSION, _filled(pc.struct_field(scope, "version"))),
        _attributes(otlp.SCOPE_ATTRIBUTES, batch.scope_attrs, found.scope_attrs),
        numbers(otlp.SCOPE_DROPPED, _filled(pc.struct_field(scope, "dropped_attributes_count"))),
    )
    url = _filled(first["schema_url"].combine_chunks())
    return concatenated(
        spans(otlp.SCOPE, _filled(described)), gathered(records, found.scopes), spans(otlp.SCHEMA_URL, url)
    )


def _resources(batch: Tables, found: Groups, scopes: pa.Array) -> pa.Array:
    resource = batch.logs["resource"].take(found.resource_rows).combine_chunks()
    described = concatenated(
        _attributes(otlp.ATTRIBUTES, batch.resource_attrs, found.resource_attrs),
        numbers(otlp.DROPPED, _filled(pc.struct_field(resource, "dropped_attributes_count"))),
    )
    url = _filled(pc.struct_field(resource, "schema_url"))
    return concatenated(
        spans(otlp.RESOURCE, _filled(described)), gathered(scopes, found.resources), spans(otlp.SCHEMA_URL, url)
    )


def _attributes(number: int, table: pa.Table, offsets: Offsets) -> pa.Array:
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    pairs = concatenated(spans(KEY, _filled(columns["key"])), spans(VALUE, write_values(columns)))
    return gathered(spans(number, pairs), offsets)


def _filled(values: pa.Array) -> pa.Array:
    """Values that say something; zero and nothing are left out."""
    if values.null_count == len(values):
        return values
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        said = pc.greater(pc.binary_length(values), 0)
    else:
        said = pc.not_equal(values, pa.scalar(0, values.type))
    if said.true_count == len(values):
        return values
    return pc.if_else(said.fill_null(False), values, pa.scalar(None, values.type))

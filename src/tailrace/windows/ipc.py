"""OTAP tables → OTAP messages in Arrow's IPC format: BatchArrowRecords, one per batch, each behind its length.

A message stands by itself: every table has its schema in it, under an id that no other message uses. Columns that hold
nothing are left out, ids have 16 bits and are written as they are, which their metadata says.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.protobuf_wire import VARINT
from tailrace.windows.batches import LARGEST_BATCH, batches, in_order
from tailrace.windows.nested import span, tagged, varint
from tailrace.windows.schema import ATTRS, LOGS, RESOURCE, SCOPE, TABLES, Tables

PAYLOADS = {"logs": 30, "log_attrs": 31, "resource_attrs": 1, "scope_attrs": 2}
"Numbers of ArrowPayloadType."
_BATCH_ID, _PAYLOAD = 1, 2
_SCHEMA_ID, _TYPE, _RECORD = 1, 2, 3
_PLAIN = {"encoding": "plain"}
_SHORT = pa.uint16()


def records(tables: Tables, limit: int = LARGEST_BATCH, threads: int = 1) -> Iterator[bytes]:
    """Messages of at most `limit` logs, written behind each other."""
    return in_order(_framed, enumerate(batches(tables, min(limit, LARGEST_BATCH))), threads)


def _framed(numbered: tuple[int, Tables]) -> bytes:
    message = _message(*numbered)
    return varint(len(message)) + message


def _message(number: int, batch: Tables) -> bytes:
    parts = [tagged(_BATCH_ID, VARINT) + varint(number)]
    for name in TABLES:
        table = batch.of(name)
        if len(table):
            record = _stream(wire_logs(table) if name == "logs" else wire_attributes(table))
            told = span(_SCHEMA_ID, f"{number}-{name}".encode())
            told += tagged(_TYPE, VARINT) + varint(PAYLOADS[name]) + span(_RECORD, record)
            parts.append(span(_PAYLOAD, told))
    return b"".join(parts)


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def wire_logs(logs: pa.Table) -> pa.Table:
    """Logs of a batch as they travel."""
    columns: dict[str, pa.Array] = {name: logs[name].combine_chunks() for name in LOGS.names}
    columns["id"] = columns["id"].cast(_SHORT)
    for name, kind in (("resource", RESOURCE), ("scope", SCOPE)):
        inner = {kind.field(n).name: pc.struct_field(columns[name], [n]) for n in range(kind.num_fields)}
        inner["id"] = inner["id"].cast(_SHORT)
        columns[name] = _struct(inner)
    body = columns["body"]
    members = {field.name: pc.struct_field(body, field.name) for field in LOGS.field("body").type}
    columns["body"] = _struct(members, mask=body.is_null())
    return _table(columns, "id")


def wire_attributes(attributes: pa.Table) -> pa.Table:
    """Attributes of a batch as they travel."""
    columns = {name: attributes[name].combine_chunks() for name in ATTRS.names}
    columns["parent_id"] = columns["parent_id"].cast(_SHORT)
    return _table(columns, "parent_id")


def _struct(members: dict[str, pa.Array], mask: pa.Array | None = None) -> pa.Array:
    """Null as a whole where nothing is in it."""
    held = {name: array for name, array in members.items() if array.null_count < len(array)}
    if not held:
        return pa.nulls(len(next(iter(members.values()))), pa.struct([]))
    fields = [_field(name, array) for name, array in held.items()]
    return pa.StructArray.from_arrays(list(held.values()), fields=fields, mask=mask)


def _table(columns: dict[str, pa.Array], identity: str) -> pa.Table:
    held = {name: array for name, array in columns.items() if array.null_count < len(array)}
    fields = [_field(name, array, name == identity) for name, array in held.items()]
    return pa.table(list(held.values()), schema=pa.schema(fields))


def _field(name: str, array: pa.Array, identity: bool | None = None) -> pa.Field:
    plain = name == "id" if identity is None else identity
    return pa.field(name, array.type, metadata=_PLAIN if plain else None)

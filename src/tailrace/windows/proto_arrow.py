"""OTLP's protobuf → nested Arrow, by the package `ptars` where it is installed (`pip install tailrace[otlp]`).

Our own description of the messages: lists and maps inside a value are bytes there, which is the same on the wire and
does not nest without end. They are repeated there, as one that comes in pieces is not for this reader to put together.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa

from tailrace.formats import otlp_proto as otlp
from tailrace.formats import otlp_wire as wire
from tailrace.formats.otlp_frames import Resources

_ANY, _PAIR = "AnyValue", "KeyValue"
# Name of a field: its number, its type in a descriptor, and the message that it is.
_Field = tuple[int, str, str]
_MANY = "*"
_MESSAGES: dict[str, dict[str, _Field]] = {
    _ANY: {
        "str": (wire.STRING, "STRING", ""), "bool": (wire.BOOL, "BOOL", ""), "int": (wire.INT, "INT64", ""),
        "double": (wire.DOUBLE, "DOUBLE", ""), "array": (wire.ARRAY, "BYTES", _MANY),
        "kvlist": (wire.KVLIST, "BYTES", _MANY), "bytes": (wire.BYTES, "BYTES", ""),
    },
    _PAIR: {"key": (wire.KEY, "STRING", ""), "value": (wire.VALUE, "MESSAGE", _ANY)},
    "Resource": {
        "attributes": (otlp.ATTRIBUTES, "MESSAGE", _PAIR + _MANY), "dropped": (otlp.DROPPED, "UINT32", ""),
    },
    "Scope": {
        "name": (otlp.SCOPE_NAME, "STRING", ""), "version": (otlp.SCOPE_VERSION, "STRING", ""),
        "attributes": (otlp.SCOPE_ATTRIBUTES, "MESSAGE", _PAIR + _MANY),
        "dropped": (otlp.SCOPE_DROPPED, "UINT32", ""),
    },
    "LogRecord": {
        "time": (otlp.TIME, "FIXED64", ""), "observed": (otlp.OBSERVED, "FIXED64", ""),
        "severity_number": (otlp.SEVERITY, "INT32", ""), "severity_text": (otlp.SEVERITY_TEXT, "STRING", ""),
        "body": (otlp.BODY, "MESSAGE", _ANY), "attributes": (otlp.RECORD_ATTRIBUTES, "MESSAGE", _PAIR + _MANY),
        "dropped": (otlp.RECORD_DROPPED, "UINT32", ""), "flags": (otlp.FLAGS, "FIXED32", ""),
        "trace_id": (otlp.TRACE, "BYTES", ""), "span_id": (otlp.SPAN_ID, "BYTES", ""),
        "event_name": (otlp.EVENT_NAME, "STRING", ""),
    },
    "ScopeLogs": {
        "scope": (otlp.SCOPE, "MESSAGE", "Scope"), "records": (otlp.LOG_RECORDS, "MESSAGE", "LogRecord" + _MANY),
        "schema_url": (otlp.SCHEMA_URL, "STRING", ""),
    },
    "ResourceLogs": {
        "resource": (otlp.RESOURCE, "MESSAGE", "Resource"), "scopes": (otlp.SCOPE_LOGS, "MESSAGE", "ScopeLogs" + _MANY),
        "schema_url": (otlp.SCHEMA_URL, "STRING", ""),
    },
}  # fmt: skip


def nested(found: Resources) -> pa.RecordBatch | None:
    """A row per resource; None where that is not for this reader to do, as some bytes are not what they should be."""
    handler = _handler()
    if handler is None:
        return None
    places = zip(found.starts.tolist(), found.ends.tolist(), strict=True)
    try:
        batch: pa.RecordBatch = handler.list_to_record_batch([found.data[start:end] for start, end in places])
    except ValueError:
        return None
    return batch


@cache
def _handler() -> Any:
    try:
        from google.protobuf.descriptor_pool import DescriptorPool
        from ptars import HandlerPool
    except ImportError:
        return None
    pool = DescriptorPool()
    pool.AddSerializedFile(_description())
    message = pool.FindMessageTypeByName("tailrace.ResourceLogs")
    return HandlerPool([message.file]).get_for_message(message)


def _description() -> bytes:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

    file = FileDescriptorProto(name="tailrace.proto", package="tailrace", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if name == _ANY:
            message.oneof_decl.add(name="value")
        for field, (number, kind, of) in fields.items():
            label = "LABEL_REPEATED" if of.endswith(_MANY) else "LABEL_OPTIONAL"
            made = message.field.add(
                name=field, number=number, type=getattr(FieldDescriptorProto, f"TYPE_{kind}"),
                label=getattr(FieldDescriptorProto, label),
            )  # fmt: skip
            if message_name := of.removesuffix(_MANY):
                made.type_name = f".tailrace.{message_name}"
            if name == _ANY and not of:
                made.oneof_index = 0
    body: bytes = file.SerializeToString()
    return body

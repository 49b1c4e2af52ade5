"""Log records of OpenTelemetry written as JSON and as protobuf, by the book and one by one."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable
from typing import Any

Record = dict[str, Any]
"Keys are those of `RECORD` below; values plain Python, `attributes` a dict."
Pairs = dict[str, Any] | tuple[tuple[str, Any], ...]
"A map; as pairs keys may repeat."


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def span(number: int, body: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(body)) + body


def counted(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def any_value(value: Any) -> bytes:
    """AnyValue; bool before int, which it is one of."""
    if value is None:
        return b""
    if isinstance(value, bool):
        return counted(2, int(value))
    if isinstance(value, int):
        return counted(3, value)
    if isinstance(value, str):
        return span(1, value.encode())
    if isinstance(value, float):
        return varint(4 << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, bytes):
        return span(7, value)
    if isinstance(value, list):
        return span(5, b"".join(span(1, any_value(inner)) for inner in value))
    return span(6, attributes(1, value))


def in_order(pairs: Pairs) -> Iterable[tuple[str, Any]]:
    return pairs.items() if isinstance(pairs, dict) else pairs


def attributes(number: int, pairs: Pairs) -> bytes:
    return b"".join(span(number, span(1, k.encode()) + span(2, any_value(v))) for k, v in in_order(pairs))


def record(fields: Record) -> bytes:
    out = b""
    for name, number in (("time", 1), ("observed", 11)):
        if name in fields:
            out += varint(number << 3 | 1) + struct.pack("<Q", fields[name])
    for name, number in (("severity", 2), ("dropped", 7)):
        out += counted(number, fields[name]) if name in fields else b""
    for name, number in (("severity_text", 3), ("event_name", 12)):
        out += span(number, fields[name].encode()) if name in fields else b""
    out += span(5, any_value(fields["body"])) if "body" in fields else b""
    out += attributes(6, fields.get("attributes", {}))
    out += varint(8 << 3 | 5) + struct.pack("<I", fields["flags"]) if "flags" in fields else b""
    for name, number in (("trace", 9), ("span", 10)):
        out += span(number, fields[name]) if name in fields else b""
    return out


def resource_logs(resource: dict[str, Any], scope: str, records: list[Record]) -> bytes:
    logs = span(1, span(1, scope.encode())) + b"".join(span(2, record(r)) for r in records)
    return span(1, span(1, attributes(1, resource)) + span(2, logs) + span(3, b"https://example.com/schema"))


def json_value(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, float):
        odd = value != value or abs(value) == float("inf")
        text = "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
        return {"doubleValue": text if odd else value}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return {"arrayValue": {"values": [json_value(inner) for inner in value]}}
    return {"kvlistValue": {"values": json_attributes(value)}}


def json_attributes(pairs: Pairs) -> list[dict[str, Any]]:
    return [{"key": key, "value": json_value(value)} for key, value in in_order(pairs)]


_KEYS = {"severity": "severityNumber", "dropped": "droppedAttributesCount", "flags": "flags"}
_TEXTS = {"severity_text": "severityText", "event_name": "eventName"}


def json_record(fields: Record) -> dict[str, Any]:
    out: dict[str, Any] = {key: fields[name] for name, key in (_KEYS | _TEXTS).items() if name in fields}
    out |= {
        k: str(fields[n]) for n, k in (("time", "timeUnixNano"), ("observed", "observedTimeUnixNano")) if n in fields
    }
    out |= {k: fields[n].hex() for n, k in (("trace", "traceId"), ("span", "spanId")) if n in fields}
    if "body" in fields:
        out["body"] = json_value(fields["body"])
    return out | ({"attributes": json_attributes(fields["attributes"])} if fields.get("attributes") else {})


def json_resource_logs(resource: dict[str, Any], scope: str, records: list[Record]) -> dict[str, Any]:
    logs = {"scope": {"name": scope}, "logRecords": [json_record(r) for r in records]}
    described = {"attributes": json_attributes(resource)}
    return {"resource": described, "scopeLogs": [logs], "schemaUrl": "https://example.com/schema"}

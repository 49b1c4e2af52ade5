"""OTLP logs in JSON → the same in protobuf, which one reader understands: a resource with its logs at a time."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from tailrace.core import Json
from tailrace.formats import otlp_proto as otlp
from tailrace.formats.base import RAW_LIMIT, Bad, Stream
from tailrace.formats.json_decode import DocumentDecoder
from tailrace.formats.otlp_frames import Resources
from tailrace.formats.otlp_json import ENVELOPE
from tailrace.formats.otlp_values import SEVERITIES, hexadecimal
from tailrace.formats.protobuf_wire import FIXED32, FIXED64, VARINT
from tailrace.windows.cbor import DEEPEST, Value
from tailrace.windows.nested import span, tagged, varint, write_pair, write_value

_Object = dict[str, Any]
_WRONG = (ValueError, TypeError, AttributeError, KeyError, OverflowError, struct.error)
_LONGEST = 200
"Letters of a reason."
_NO_LIST = "otlp: scopeLogs or logRecords are no list of objects"


def json_resources(stream: Stream) -> Iterator[Resources]:
    """Runs of resources in the order of the stream."""
    assert isinstance(ENVELOPE.format, Json)
    for batch in DocumentDecoder(ENVELOPE, ENVELOPE.format).decode(stream):
        bad = [Bad(0, b.raw, b.length, b.reason) for b in batch.bad]
        columns = (batch.columns[name].to_pylist() for name in ("resource", "scope_logs", "schema_url"))
        made = [_resource(resource, scopes, url, bad) for resource, scopes, url in zip(*columns, strict=True)]
        sizes = np.array([len(message) for message in made], np.int64)
        ends = np.cumsum(sizes)
        yield Resources(b"".join(made), ends - sizes, ends, bad)


def _resource(resource: str | None, scopes: str | None, url: str | None, bad: list[Bad]) -> bytes:
    """ResourceLogs; what cannot be read is told and left out."""
    out = b""
    if resource is not None:
        found = _told(resource.encode(), bad, lambda: _described(msgspec.json.decode(resource), otlp.ATTRIBUTES))
        out += span(otlp.RESOURCE, found or b"")
    for scope in _list(scopes, bad):
        out += span(otlp.SCOPE_LOGS, _scope(scope, bad))
    return out + _text(otlp.SCHEMA_URL, url)


def _list(text: str | None, bad: list[Bad]) -> list[_Object]:
    if text is None:
        return []
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        found = text
    if found is None:
        return []
    if isinstance(found, list) and all(isinstance(one, dict) for one in found):
        return found
    bad.append(_refused(found, _NO_LIST))
    return []


def _scope(logs: _Object, bad: list[Bad]) -> bytes:
    out = b""
    scope, records = logs.get("scope"), logs.get("logRecords")
    if scope is not None:
        found = _told(scope, bad, lambda: _described(scope, otlp.SCOPE_ATTRIBUTES, otlp.SCOPE_DROPPED))
        out += span(otlp.SCOPE, found or b"")
    if not isinstance(records, list | None):
        bad.append(_refused(records, _NO_LIST))
        records = None
    for record in records or ():
        found = _told(record, bad, lambda record=record: _record(record))
        out += span(otlp.LOG_RECORDS, found) if found is not None else b""
    return out + (_told(logs, bad, lambda: _member(otlp.SCHEMA_URL, logs, "schemaUrl")) or b"")


def _told(value: object, bad: list[Bad], make: Any) -> bytes | None:
    try:
        made: bytes = make()
        return made
    except ValueError as error:
        reason = str(error)
    except (*_WRONG, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
    if len(reason) > _LONGEST:
        # The field comes first, and what is wrong last.
        reason = f"{reason[: _LONGEST // 2]} … {reason[-_LONGEST // 4 :]}"
    bad.append(_refused(value, f"otlp: {reason}"))
    return None


def _refused(value: object, reason: str) -> Bad:
    raw = value if isinstance(value, bytes) else msgspec.json.encode(value)
    return Bad(0, raw[:RAW_LIMIT], len(raw), reason)


def _described(members: _Object, attributes: int, dropped: int = otlp.DROPPED) -> bytes:
    """Resource or InstrumentationScope; a resource has neither name nor version."""
    if not isinstance(members, dict):
        raise ValueError("a resource or scope is no object")
    out = b""
    if attributes == otlp.SCOPE_ATTRIBUTES:
        out += _member(otlp.SCOPE_NAME, members, "name") + _member(otlp.SCOPE_VERSION, members, "version")
    return out + _pairs(attributes, members) + _dropped(dropped, members)


def _record(members: _Object) -> bytes:
    out = _fixed(otlp.TIME, FIXED64, "<Q", members, "timeUnixNano")
    out += _fixed(otlp.OBSERVED, FIXED64, "<Q", members, "observedTimeUnixNano")
    out += _severity(members.get("severityNumber")) + _member(otlp.SEVERITY_TEXT, members, "severityText")
    if members.get("body") is not None:
        out += span(otlp.BODY, write_value(_value(members["body"])))
    out += _pairs(otlp.RECORD_ATTRIBUTES, members) + _dropped(otlp.RECORD_DROPPED, members)
    out += _fixed(otlp.FLAGS, FIXED32, "<I", members, "flags")
    for number, name, size in ((otlp.TRACE, "traceId", 16), (otlp.SPAN_ID, "spanId", 8)):
        out += _identity(number, members, name, size)
    return out + _member(otlp.EVENT_NAME, members, "eventName")


def _pairs(number: int, members: _Object) -> bytes:
    pairs = _objects("attributes", members.get("attributes"))
    return b"".join(span(number, write_pair(_key(pair), _value(pair.get("value")))) for pair in pairs)


def _objects(name: str, value: Any) -> list[_Object]:
    found = value or []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ValueError(f"{name} are no list of objects")
    return found


def _key(pair: _Object) -> str:
    key = pair.get("key")
    if not isinstance(key, str | None):
        raise ValueError(f"key: {key!r} is no text")
    return key or ""


def _value(wrapped: _Object | None, depth: int = 0) -> Value:
    """AnyValue in JSON as a plain value."""
    if depth > DEEPEST:
        raise ValueError("a value nests too deep")
    if not isinstance(wrapped, dict | None):
        raise ValueError(f"{wrapped!r} is no object with a value")
    for kind, value in (wrapped or {}).items():
        if value is None:
            continue
        match kind:
            case "stringValue" | "boolValue":
                return _typed(kind, value, str if kind == "stringValue" else bool)
            case "intValue":
                return _whole(value)
            case "doubleValue":
                return float(_number(value))
            case "bytesValue":
                return _bytes(value)
            case "arrayValue":
                return [_value(inner, depth + 1) for inner in _inner(kind, value)]
            case "kvlistValue":
                return tuple((_key(pair), _value(pair.get("value"), depth + 1)) for pair in _inner(kind, value))
    return None


def _inner(kind: str, value: Any) -> list[Any]:
    """What a list or map holds."""
    if not isinstance(value, dict):
        raise ValueError(f"{kind}: {value!r} is no object with values")
    if kind == "kvlistValue":
        return _objects(f"{kind}: values", value.get("values"))
    found = value.get("values") or []
    if not isinstance(found, list):
        raise ValueError(f"{kind}: {found!r} is no list of values")
    return found


def _typed(name: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{name}: {value!r} is no {'text' if kind is str else 'true or false'}")
    return value


def _number(value: Any) -> Any:
    """Python takes more for a number than JSON does: `true`, `1_000`, digits of other scripts."""
    if isinstance(value, bool) or (isinstance(value, str) and ("_" in value or not value.isascii())):
        raise ValueError(f"{value!r} is no number")
    return value


def _whole(value: int | float | str) -> int:
    try:
        found = int(_number(value))
    except _WRONG:
        raise ValueError(f"{value!r} is no whole number") from None
    if isinstance(value, float) and found != value:
        raise ValueError(f"{value} is no whole number")
    if not -(2**63) <= found < 2**63:
        raise ValueError(f"{value} has more than 64 bits")
    return found


def _bytes(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (ValueError, TypeError):
        raise ValueError("bytesValue is no base64") from None


def _text(number: int, value: str | None) -> bytes:
    return span(number, value.encode()) if value else b""


def _member(number: int, members: _Object, name: str) -> bytes:
    value = members.get(name)
    if value and not isinstance(value, str):
        raise ValueError(f"{name}: {value!r} is no text")
    return _text(number, value)


def _identity(number: int, members: _Object, name: str, size: int) -> bytes:
    value = members.get(name)
    try:
        found = hexadecimal(value, size)
    except (ValueError, TypeError):
        raise ValueError(f"{name}: {value!r} is no id of {size} bytes") from None
    return span(number, bytes.fromhex(found)) if found else b""


def _severity(value: int | str | None) -> bytes:
    if isinstance(value, str) and value.startswith("SEVERITY"):
        value = SEVERITIES.get(value, value)
    try:
        return tagged(otlp.SEVERITY, VARINT) + varint(_whole(value)) if value else b""
    except ValueError as error:
        raise ValueError(f"severityNumber: {error}") from None


def _dropped(number: int, members: _Object) -> bytes:
    name = "droppedAttributesCount"
    return tagged(number, VARINT) + varint(_unsigned(members, name, 32)) if members.get(name) else b""


def _fixed(number: int, wire: int, form: str, members: _Object, name: str) -> bytes:
    if not members.get(name):
        return b""
    return tagged(number, wire) + struct.pack(form, _unsigned(members, name, 8 * struct.calcsize(form)))


def _unsigned(members: _Object, name: str, bits: int) -> int:
    value = members[name]
    try:
        found = int(_number(value))
    except _WRONG:
        found = -1
    if not 0 <= found < 1 << bits or (isinstance(value, float) and found != value):
        raise ValueError(f"{name}: {value!r} is no whole number of {bits} bits without a sign")
    return found

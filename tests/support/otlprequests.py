"""Requests of OpenTelemetry made at random, written by the book, and read value by value: the judge of round trips."""

from __future__ import annotations

import base64
import json
import random
import struct
from collections import Counter
from collections.abc import Iterator
from typing import Any

from otlpwrite import any_value, attributes, counted, json_attributes, json_value, span, varint

Pairs = tuple[tuple[str, Any], ...]
"A map, in order, keys may repeat. Lists are lists."
Request = list[dict[str, Any]]
"Resources: attributes, dropped, url, scopes: name, version, attributes, dropped, url, records."
TEXTS = ("", "a", "service.name", "größe", '"quoted"\\', "line\nend", "\x00\x1f", "日本語 🙂", "x" * 300)
INTS = (0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), 300)
FLOATS = (0.0, -0.0, 1.5, float("nan"), float("inf"), float("-inf"), 5e-324, 1.7976931348623157e308, 3.0)
TIMES = (0, 1, 1_790_000_040_000_000_001, 2**63 - 1, 2**64 - 1)


def random_value(dice: random.Random, depth: int = 0) -> Any:
    kind = dice.randrange(9 if depth < 4 else 6)
    if kind == 0:
        return None
    if kind == 1:
        return dice.random() < 0.5
    if kind == 2:
        return dice.choice((*INTS, dice.randrange(-(2**63), 2**63)))
    if kind == 3:
        return dice.choice((*FLOATS, dice.uniform(-1e9, 1e9)))
    if kind == 4:
        return dice.randbytes(dice.randrange(6))
    if kind in (5, 8):
        return dice.choice((*TEXTS, str(dice.random())))
    if kind == 6:
        return [random_value(dice, depth + 1) for _ in range(dice.randrange(4))]
    return random_pairs(dice, depth + 1)


def random_pairs(dice: random.Random, depth: int = 0) -> Pairs:
    return tuple((dice.choice(TEXTS), random_value(dice, depth)) for _ in range(dice.choice((0, 0, 1, 2, 5))))


def random_request(dice: random.Random) -> Request:
    few = (1, 1, 1, 2, 3, 0)
    return [_resource(dice, few) for _ in range(dice.choice(few))]


def _resource(dice: random.Random, few: tuple[int, ...]) -> dict[str, Any]:
    return {**_described(dice), "scopes": [_scope(dice, few) for _ in range(dice.choice(few))]}


def _scope(dice: random.Random, few: tuple[int, ...]) -> dict[str, Any]:
    named = {"name": dice.choice(TEXTS), "version": dice.choice(TEXTS)} if dice.random() < 0.7 else {}
    return {**_described(dice), **named, "records": [_record(dice) for _ in range(dice.choice((*few, 6)))]}


def _described(dice: random.Random) -> dict[str, Any]:
    if dice.random() < 0.2:
        return {}
    url = dice.choice(("", "https://example.com/schema"))
    return {"attributes": random_pairs(dice), "dropped": dice.choice((0, 0, 7, 2**32 - 1)), "url": url}


def _record(dice: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = {"time": dice.choice(TIMES), "observed": dice.choice(TIMES)}
    if dice.random() < 0.7:
        made |= {"severity": dice.randrange(25), "severity_text": dice.choice(TEXTS), "event": dice.choice(TEXTS)}
    if dice.random() < 0.7:
        made |= {"body": random_value(dice), "attributes": random_pairs(dice)}
    if dice.random() < 0.5:
        made |= {"dropped": dice.choice((0, 3, 2**32 - 1)), "flags": dice.choice((0, 1, 2**32 - 1))}
        made |= {"trace": dice.choice((b"", bytes(16), dice.randbytes(16))), "span": dice.randbytes(8)}
    return made


def _fixed(number: int, form: str, value: int) -> bytes:
    return varint(number << 3 | (1 if form == "<Q" else 5)) + struct.pack(form, value)


def proto_request(request: Request) -> bytes:
    out = b""
    for resource in request:
        inner = span(1, attributes(1, resource.get("attributes", ())) + counted(2, resource.get("dropped", 0)))
        for scope in resource["scopes"]:
            told = b"".join(span(n, scope[k].encode()) for n, k in ((1, "name"), (2, "version")) if k in scope)
            told += attributes(3, scope.get("attributes", ())) + counted(4, scope.get("dropped", 0))
            body = span(1, told) + b"".join(span(2, proto_record(record)) for record in scope["records"])
            inner += span(2, body + span(3, scope.get("url", "").encode()))
        out += span(1, inner + span(3, resource.get("url", "").encode()))
    return out


def proto_record(record: dict[str, Any]) -> bytes:
    out = _fixed(1, "<Q", record["time"]) + _fixed(11, "<Q", record["observed"])
    out += counted(2, record.get("severity", 0)) + counted(7, record.get("dropped", 0))
    out += span(3, record.get("severity_text", "").encode()) + span(12, record.get("event", "").encode())
    out += span(5, any_value(record["body"])) if "body" in record else b""
    out += attributes(6, record.get("attributes", ())) + _fixed(8, "<I", record.get("flags", 0))
    return out + span(9, record.get("trace", b"")) + span(10, record.get("span", b""))


def json_request(request: Request) -> str:
    resources = []
    for resource in request:
        scopes = []
        for scope in resource["scopes"]:
            told = {k: scope[k] for k in ("name", "version") if k in scope}
            told |= {"attributes": json_attributes(scope.get("attributes", ()))}
            told |= {"droppedAttributesCount": scope.get("dropped", 0)}
            records = [_json_record(record) for record in scope["records"]]
            scopes.append({"scope": told, "logRecords": records, "schemaUrl": scope.get("url", "")})
        told = {"attributes": json_attributes(resource.get("attributes", ()))}
        told |= {"droppedAttributesCount": resource.get("dropped", 0)}
        resources.append({"resource": told, "scopeLogs": scopes, "schemaUrl": resource.get("url", "")})
    return json.dumps({"resourceLogs": resources})


def _json_record(record: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {"timeUnixNano": str(record["time"]), "observedTimeUnixNano": record["observed"]}
    named = {"severity": "severityNumber", "severity_text": "severityText", "event": "eventName", "flags": "flags"}
    out |= {there: record[here] for here, there in named.items() if here in record}
    out |= {there: record[here].hex() for here, there in (("trace", "traceId"), ("span", "spanId")) if here in record}
    if "body" in record:
        out |= {"body": json_value(record["body"]), "attributes": json_attributes(record["attributes"])}
    return out | {"droppedAttributesCount": record.get("dropped", 0)}


# Reading: every log record by itself, with what stands around it; what is the default is left out.

Told = Counter[str]


def told_by_request(request: Request) -> Told:
    return told_by_proto(proto_request(request))


def told_by_proto(data: bytes) -> Told:
    """How often each record is there, with its resource and scope, whatever the order."""
    return Counter(_records(data))


def _records(data: bytes) -> Iterator[str]:
    for _, resource in _fields(data):
        members = _members(resource)
        around = _around(members.get(1, [b""])[-1], 1, 2), _last_text(members, 3)
        for logs in members.get(2, []):
            inner = _members(logs)
            scope = inner.get(1, [b""])[-1]
            names = _members(scope)
            own = _around(scope, 3, 4), _last_text(names, 1), _last_text(names, 2), _last_text(inner, 3)
            for record in inner.get(2, []):
                yield repr((around, own, _record_told(record)))


def _around(message: bytes, number: int, dropped: int) -> tuple[Any, ...]:
    members = _members(message)
    return _pairs_told(members.get(number, [])), members.get(dropped, [0])[-1]


def _record_told(data: bytes) -> tuple[Any, ...]:
    members = _members(data)
    numbers = [members.get(n, [0])[-1] for n in (1, 2, 7, 8, 11)]
    ids = [i if any(i) else b"" for i in (members.get(n, [b""])[-1] for n in (9, 10))]
    body = _value_told(members.get(5, [b""])[-1])
    return (*numbers, *ids, _last_text(members, 3), _last_text(members, 12), body, _pairs_told(members.get(6, [])))


def _pairs_told(pairs: list[Any], *, ordered: bool = False) -> tuple[str, ...]:
    found = []
    for pair in pairs:
        members = _members(pair)
        found.append(repr((_last_text(members, 1), _value_told(members.get(2, [b""])[-1]))))
    return tuple(found if ordered else sorted(found))


def _value_told(data: bytes) -> Any:
    for number, value in _fields(data):
        if number in (1, 7):
            return number, value
        if number == 5:
            return "list", tuple(_value_told(inner) for _, inner in _fields(value))
        if number == 6:
            return "map", _pairs_told([inner for _, inner in _fields(value)], ordered=True)
        return number, value
    return None


def _last_text(members: dict[int, list[Any]], number: int) -> str:
    text: str = members.get(number, [b""])[-1].decode()
    return text


def _members(data: bytes) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for number, value in _fields(data):
        found.setdefault(number, []).append(value)
    return found


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
        elif kind == 2:
            size, at = _varint(data, at)
            assert at + size <= len(data)
            yield tag >> 3, data[at : at + size]
            at += size
        else:
            width = 8 if kind == 1 else 4
            assert kind in (1, 5)
            yield tag >> 3, int.from_bytes(data[at : at + width], "little")
            at += width


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def proto_of_json(text: str) -> bytes:
    """A message in JSON as protobuf, with Python's own reader."""
    out = b""
    for resource in json.loads(text).get("resourceLogs") or []:
        described = resource.get("resource") or {}
        inner = span(1, _proto_described(described, 1, 2))
        for logs in resource.get("scopeLogs") or []:
            scope = logs.get("scope") or {}
            told = span(1, scope.get("name", "").encode()) + span(2, scope.get("version", "").encode())
            body = span(1, told + _proto_described(scope, 3, 4))
            body += b"".join(span(2, _proto_of_record(record)) for record in logs.get("logRecords") or [])
            inner += span(2, body + span(3, (logs.get("schemaUrl") or "").encode()))
        out += span(1, inner + span(3, (resource.get("schemaUrl") or "").encode()))
    return out


def _proto_described(members: dict[str, Any], number: int, dropped: int) -> bytes:
    pairs = _plain_pairs(members.get("attributes"))
    return attributes(number, pairs) + counted(dropped, int(members.get("droppedAttributesCount") or 0))


def _proto_of_record(members: dict[str, Any]) -> bytes:
    record: dict[str, Any] = {
        "time": int(members.get("timeUnixNano") or 0),
        "observed": int(members.get("observedTimeUnixNano") or 0),
        "severity": _severity(members.get("severityNumber") or 0),
        "severity_text": members.get("severityText") or "",
        "event": members.get("eventName") or "",
        "dropped": int(members.get("droppedAttributesCount") or 0),
        "flags": int(members.get("flags") or 0),
        "trace": _identifier(members.get("traceId") or "", 16),
        "span": _identifier(members.get("spanId") or "", 8),
        "body": _plain(members.get("body")),
        "attributes": _plain_pairs(members.get("attributes")),
    }
    return proto_record(record)


def _identifier(text: str, size: int) -> bytes:
    return bytes.fromhex(text) if len(text) == 2 * size else base64.b64decode(text)


def _severity(value: int | str) -> int:
    if str(value).isdigit():
        return int(value)
    name = str(value).removeprefix("SEVERITY_NUMBER_").rstrip("234")
    nth = int(str(value)[-1]) - 1 if str(value)[-1].isdigit() else 0
    return 1 + 4 * ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL").index(name) + nth


def _plain_pairs(pairs: list[dict[str, Any]] | None) -> Pairs:
    return tuple((pair.get("key", ""), _plain(pair.get("value"))) for pair in pairs or [])


def _plain(wrapped: dict[str, Any] | None) -> Any:
    for kind, value in (wrapped or {}).items():
        if kind == "intValue":
            return int(value)
        if kind == "doubleValue":
            return float(value)
        if kind == "bytesValue":
            return base64.b64decode(value)
        if kind == "arrayValue":
            return [_plain(inner) for inner in value.get("values") or []]
        if kind == "kvlistValue":
            return _plain_pairs(value.get("values"))
        return value
    return None

"""OpenTelemetry's logs through transforms, as requests again: sinks that store all that a request tells take those.

What a transform sees has the names that it has before a Parquet sink. What is no text of anybody goes beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from tailrace.streams.decode import WHOLE, Refused
from tailrace.streams.kinds import LOGS, decoded_schema
from tailrace.streams.otlp_logs import REST, otlp_rows
from tailrace.streams.records import Record
from tailrace.streams.transforms import Transform, transform

_PLACE = "place"
_SCHEMA = decoded_schema(LOGS).append(pa.field(REST, pa.binary())).append(pa.field(_PLACE, pa.int64()))
Fields = dict[str, Any]


@dataclass(slots=True)
class Again:
    """What is left of requests."""

    requests: list[tuple[Record, bytes]] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    dropped: int = 0
    "Logs that a transform took away, as it was told to."


def transformed(given: Sequence[Record], chain: Sequence[Transform], memory: Path) -> Again:
    """Requests, in JSON, with the logs that the chain leaves of them; what it learns is kept in `memory`."""
    found = Again()
    tables = [_rows(found, record, place) for place, record in enumerate(given)]
    left = transform(chain, LOGS, pa.concat_tables([_SCHEMA.empty_table(), *tables]).combine_chunks(), memory)
    found.dropped = left.dropped
    for failed in left.failed:
        for row in failed.select([_PLACE, "payload", "reason"]).to_pylist():
            found.refused.append(Refused(given[row[_PLACE]], WHOLE, row["reason"], row["payload"]))
    columns = [left.rows[name].to_pylist() for name in (_PLACE, "document", "source", "service", REST)]
    logs: dict[int, list[tuple[bytes, str | None, str | None, bytes]]] = {}
    for place, *log in zip(*columns, strict=True):
        logs.setdefault(place, []).append(tuple(log))
    found.requests = [(given[place], _request(logs[place])) for place in sorted(logs)]
    return found


def _rows(found: Again, record: Record, place: int) -> pa.Table:
    try:
        rows = otlp_rows(bytes(record.body), record.received_at, whole=True)
    except Exception as error:
        found.refused.append(Refused(record, WHOLE, f"decode: {type(error).__name__}: {error}", bytes(record.body)))
        return _SCHEMA.empty_table()
    found.refused += [Refused(record, bad.position, bad.reason, bad.raw) for bad in rows.bad]
    size = len(rows.columns["timestamp"])
    same = {
        "batch_timestamp": record.received_at, "workspace_id": record.workspace, "source_ip": record.source_ip,
        _PLACE: place,
    }  # fmt: skip
    columns = rows.columns | {name: pa.repeat(pa.scalar(v, _SCHEMA.field(name).type), size) for name, v in same.items()}
    return pa.table([columns.get(f.name, pa.nulls(size, f.type)) for f in _SCHEMA], schema=_SCHEMA)


def _request(logs: Sequence[tuple[bytes, str | None, str | None, bytes]]) -> bytes:
    """Logs of one resource and scope stand together."""
    groups: dict[tuple[bytes, bytes], list[Fields]] = {}
    for text, source, service, beside in logs:
        told, rest = _object(msgspec.json.decode(text)), msgspec.json.decode(beside, type=Fields)
        resource, scope = (_resource(told, rest, source, service), _scope(told, rest))
        groups.setdefault((msgspec.json.encode(resource), msgspec.json.encode(scope)), []).append(_log(told, rest))
    made = [
        msgspec.json.decode(resource) | {"scopeLogs": [msgspec.json.decode(scope) | {"logRecords": records}]}
        for (resource, scope), records in groups.items()
    ]
    return msgspec.json.encode({"resourceLogs": made})


def _resource(told: Fields, rest: Fields, source: str | None, service: str | None) -> Fields:
    """Host and service are columns as well: what a transform has made of those holds."""
    attributes = _object(told.pop("resource", None))
    for name, value in (("host.name", source), ("service.name", service)):
        if name in attributes and value is not None:
            attributes[name] = value
    dropped = rest.get("resource_dropped_attributes_count")
    inner = _filled({"attributes": _attributes(attributes), "droppedAttributesCount": dropped})
    return _filled({"resource": inner, "schemaUrl": rest.get("resource_schema_url")})


def _scope(told: Fields, rest: Fields) -> Fields:
    scope = _filled({
        "name": told.pop("scope_name", None),
        "version": rest.get("scope_version"),
        "attributes": _attributes(_object(told.pop("scope", None))),
        "droppedAttributesCount": rest.get("scope_dropped_attributes_count"),
    })  # fmt: skip
    return _filled({"scope": scope, "schemaUrl": rest.get("scope_schema_url")})


def _log(told: Fields, rest: Fields) -> Fields:
    """What is none of its own fields, such as what transforms have added, is an attribute."""
    attributes, body = _object(told.pop("attributes", None)), told.pop("message", None)
    known = {name: told.pop(name, None) for name in ("event_name", "trace_id", "span_id", "severity_text")}
    return _filled({
        "timeUnixNano": _text(rest.get("time_unix_nano")),
        "observedTimeUnixNano": _text(rest.get("observed_time_unix_nano")),
        "severityNumber": rest.get("severity_number"),
        "severityText": known["severity_text"],
        "eventName": known["event_name"],
        "body": None if body is None else _value(body),
        "attributes": _attributes(attributes | told),
        "droppedAttributesCount": rest.get("dropped_attributes_count"),
        "flags": rest.get("flags"),
        "traceId": _hexadecimal(known["trace_id"]),
        "spanId": _hexadecimal(known["span_id"]),
    })  # fmt: skip


def _filled(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if value is not None and value != []}


def _object(value: Any) -> Fields:
    return value if isinstance(value, dict) else {}


def _text(number: Any) -> str | None:
    return None if number is None else str(number)


def _hexadecimal(text: Any) -> str | None:
    """None where a transform has made something of it that no id can be."""
    try:
        return bytes.fromhex(text).hex() if isinstance(text, str) else None
    except ValueError:
        return None


def _attributes(fields: Fields) -> list[Fields]:
    return [{"key": name, "value": _value(value)} for name, value in fields.items()]


def _value(value: Any) -> Fields:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if -(2**63) <= value < 2**63 else {"doubleValue": float(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": _attributes(value)}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(inner) for inner in value]}}
    return {} if value is None else {"stringValue": str(value)}

"""OpenTelemetry's log records → rows of logs, through the engine that reads OTLP files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import msgspec
import pyarrow as pa

from tailrace.formats.base import Bad, Batch
from tailrace.formats.otlp import OtlpDecoder
from tailrace.streams.body import Body
from tailrace.streams.kinds import LEVEL_WORDS
from tailrace.tables.otlp_log import TABLE

_SEVERITIES = ("trace", "debug", "info", "warning", "error", "critical")
"Four numbers each, from 1."
_KEPT = ("event_name", "trace_id", "span_id", "scope_name", "severity_text")
_DOCUMENTS = {"attributes": "attributes", "resource": "resource_attributes"}
_WHOLE = _DOCUMENTS | {"scope": "scope_attributes"}
REST = "rest"
"Column of what a request tells beside texts and attributes."
_REST = (
    "time_unix_nano", "observed_time_unix_nano", "severity_number", "flags", "dropped_attributes_count",
    "resource_dropped_attributes_count", "resource_schema_url", "scope_version", "scope_dropped_attributes_count",
    "scope_schema_url",
)  # fmt: skip
_TOGETHER = 10_000
Row = dict[str, object]


@cache
def _decoder() -> OtlpDecoder:
    return OtlpDecoder(TABLE)


@dataclass(frozen=True, slots=True)
class OtlpRows:
    """Rows of a request, and records that are none."""

    columns: dict[str, pa.Array]
    bad: list[Bad]


def otlp_rows(body: bytes, received_at: int, *, whole: bool = False) -> OtlpRows:
    """The log records of a request, JSON or protobuf; `whole`: with all that it tells, to make one of them again."""
    parts: list[dict[str, pa.Array]] = []
    bad: list[Bad] = []
    for batch in _decoder().decode(Body(body)):
        parts += (_columns(rows, received_at, whole=whole) for rows in _rows(batch))
        bad += batch.bad
    parts = parts or [_columns([], received_at, whole=whole)]
    return OtlpRows({name: pa.concat_arrays([part[name] for part in parts]) for name in parts[0]}, bad)


def _rows(batch: Batch) -> Iterator[list[Row]]:
    """Some at a time: two bytes may be a record, and as an object of Python it takes a thousand."""
    size = len(batch.positions)
    for start in range(0, size, _TOGETHER):
        columns = (values.slice(start, _TOGETHER).to_pylist() for values in batch.columns.values())
        yield [dict(zip(batch.columns, row, strict=True)) for row in zip(*columns, strict=True)]


def _columns(rows: Sequence[Row], received_at: int, *, whole: bool) -> dict[str, pa.Array]:
    documents = pa.array([_document(row, _WHOLE if whole else _DOCUMENTS) for row in rows], pa.binary())
    columns = {
        "timestamp": pa.array([_millis(row, received_at) for row in rows], pa.int64()),
        "level": pa.array([_level(row) for row in rows], pa.string()),
        "event_type": pa.array(["log"] * len(rows), pa.string()),
        "source": pa.array([row.get("host_name") for row in rows], pa.string()),
        "service": pa.array([row.get("service_name") for row in rows], pa.string()),
        "payload": documents,
        "document": documents,
    }
    if whole:
        columns[REST] = pa.array([_rest(row) for row in rows], pa.binary())
    return columns


def _millis(row: Row, received_at: int) -> int:
    for name in ("time_unix_nano", "observed_time_unix_nano"):
        moment = row.get(name)
        if isinstance(moment, int) and moment > 0:
            return moment // 1_000_000
    return received_at


def _level(row: Row) -> str:
    number = row.get("severity_number")
    if isinstance(number, int) and 1 <= number <= 24:
        return _SEVERITIES[(number - 1) // 4]
    return LEVEL_WORDS.get(str(row.get("severity_text")).lower(), "info")


def _rest(row: Row) -> bytes:
    return msgspec.json.encode({name: row[name] for name in _REST if row.get(name) is not None})


def _document(row: Row, documents: Mapping[str, str]) -> bytes:
    told: Row = {"message": row.get("body")}
    told |= {name: row[name] for name in _KEPT if row.get(name)}
    told |= {name: msgspec.Raw(str(row[field]).encode()) for name, field in documents.items() if row.get(field)}
    return msgspec.json.encode(told)

"""The kinds of rows that a sink stores, their columns, and the words that stand in them."""

from __future__ import annotations

import pyarrow as pa

EVENTS, LOGS, SNAPSHOTS = "events", "logs", "snapshots"
KINDS = (EVENTS, LOGS, SNAPSHOTS)
EVENT_TYPES = ("unknown", "track", "identify", "group", "alias", "enrich", "context")
LOG_TYPES = ("unknown", "log", "enrich")
LEVELS = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "debug", "trace")
"By their number on the wire."
LEVEL_WORDS = {
    **{level: level for level in LEVELS},
    "emerg": "emergency",
    "panic": "emergency",
    "crit": "critical",
    "fatal": "critical",
    "err": "error",
    "warn": "warning",
    "information": "info",
}
"Other spellings of levels."
_TEXT, _BYTES = pa.string(), pa.binary()
_TIMES = (("timestamp", pa.int64(), False), ("batch_timestamp", pa.int64(), False))
_COLUMNS: dict[str, tuple[tuple[str, pa.DataType, bool], ...]] = {
    EVENTS: (
        ("event_type", _TEXT, False),
        ("event_name", _TEXT, True),
        ("device_id", _BYTES, True),
        ("session_id", _BYTES, True),
        ("source_ip", _BYTES, False),
        ("payload", _BYTES, False),
    ),
    LOGS: (
        ("level", _TEXT, False),
        ("event_type", _TEXT, False),
        ("source", _TEXT, True),
        ("service", _TEXT, True),
        ("session_id", _BYTES, True),
        ("source_ip", _BYTES, False),
        ("payload", _BYTES, False),
    ),
    SNAPSHOTS: (
        ("source", _TEXT, False),
        ("entity", _TEXT, False),
        ("source_ip", _BYTES, False),
        ("payload", _BYTES, False),
    ),
}


def schema(kind: str, workspace_id_type: str = "uint64", data_format: str = "json") -> pa.Schema:
    """Columns of a stored file, filter columns first, payload last.

    With `binary` payloads stay as they were sent, so that the service of an event has a column of its own.
    """
    number = pa.uint64() if workspace_id_type == "uint64" else pa.int64()
    columns = (*_TIMES, ("workspace_id", number, False), *_COLUMNS[kind])
    if kind == EVENTS and data_format == "binary":
        columns = (*columns, ("service", _TEXT, True))
    return pa.schema([pa.field(name, type_, nullable=null) for name, type_, null in columns])


def decoded_schema(kind: str) -> pa.Schema:
    """Columns of decoded rows: those of a file, with what tells how the payload is to be stored.

    `document` is the payload as JSON, where it is known to be that; null = look at `payload`.
    """
    return schema(kind, data_format="binary").append(pa.field("document", _BYTES))

"""Syslog messages → rows of logs, through the engine that reads syslog files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache

import msgspec
import numpy as np
import pyarrow as pa

from tailrace.core import Common, Syslog, Table, col
from tailrace.formats.base import Dated
from tailrace.formats.syslog import SyslogDecoder, is_start
from tailrace.streams.body import Body
from tailrace.streams.kinds import LEVEL_WORDS, LEVELS

_TABLE = Table(
    name="live_syslog",
    doc="Messages as they arrive.",
    format=Syslog(),
    columns=(
        col("timestamp", "timestamp", doc="When it was written."),
        col("hostname", doc="Who sent it."),
        col("app_name", doc="Program."),
        col("proc_id", doc="Process."),
        col("message", doc="The message."),
        col("priority", "integer", doc="Facility times eight plus severity."),
        col("level", doc="The level as a word."),
        col("msg_id", doc="Kind of message."),
        col("structured_data", "json", doc="Parameters by element."),
    ),
    common=Common(time=("timestamp",)),
)
_PRIORITY = re.compile(rb"<(1[0-8]\d|19[01]|\d{1,2})>")
_IN_LINE = b"\x0b"
"Stands for a line end inside of a message while it is parsed."
_KEPT = ("priority", "proc_id", "msg_id")
Fields = dict[str, object]


@cache
def _decoder() -> SyslogDecoder:
    return SyslogDecoder(_TABLE)


def syslog_rows(messages: Sequence[bytes], received_at: int) -> dict[str, pa.Array]:
    """A row for each message. One that is no syslog has the time of its arrival, and is a message all the same."""
    parsed = _parsed(messages, received_at)
    documents, levels = [], []
    for raw, fields in zip(messages, parsed, strict=True):
        levels.append(_level(raw, fields))
        documents.append(_document(raw, fields))
    moments = [_millis(f.get("timestamp"), received_at) for f in parsed]
    return {
        "timestamp": pa.array(moments, pa.int64()),
        "level": pa.array(levels, pa.string()),
        "event_type": pa.array(["log"] * len(messages), pa.string()),
        "source": pa.array([f.get("hostname") for f in parsed], pa.string()),
        "service": pa.array([f.get("app_name") for f in parsed], pa.string()),
        "payload": pa.array(messages, pa.binary()),
        "document": pa.array(documents, pa.binary()),
    }


def _parsed(messages: Sequence[bytes], received_at: int) -> list[Fields]:
    lines = [message.replace(b"\n", _IN_LINE) if is_start(message) else b"" for message in messages]
    sizes = np.fromiter((len(line) + 1 for line in lines), np.int64, len(lines))
    starts = np.cumsum(sizes) - sizes
    moment = datetime.fromtimestamp(received_at / 1000, UTC).replace(tzinfo=None)
    found: list[Fields] = [{} for _ in messages]
    for batch in _decoder().decode(Dated(Body(b"\n".join(lines) + b"\n"), moment)):
        places = np.searchsorted(starts, batch.positions).tolist()
        names = [name for name in batch.columns if name in _NAMES]
        values = zip(*(batch.columns[name].to_pylist() for name in names), strict=True)
        for place, row in zip(places, values, strict=True):
            found[place] = dict(zip(names, row, strict=True))
    return found


_NAMES = frozenset(column.name for column in _TABLE.columns)


def _millis(moment: object, received_at: int) -> int:
    if not isinstance(moment, datetime):
        return received_at
    return round(moment.replace(tzinfo=UTC).timestamp() * 1000)


def _level(raw: bytes, fields: Fields) -> str:
    priority = fields.get("priority")
    if priority is None and (found := _PRIORITY.match(raw)):
        priority = int(found[1])
    if isinstance(priority, int):
        return LEVELS[priority % 8]
    return LEVEL_WORDS.get(str(fields.get("level")).lower(), "info")


def _document(raw: bytes, fields: Fields) -> bytes:
    text = raw.decode("utf-8", "replace")
    message = fields.get("message")
    told: Fields = {"message": text if message is None else str(message).replace("\x0b", "\n")}
    told |= {name: fields[name] for name in _KEPT if fields.get(name) is not None}
    if data := fields.get("structured_data"):
        told["structured_data"] = msgspec.Raw(str(data).encode())
    return msgspec.json.encode(told | {"raw": text})

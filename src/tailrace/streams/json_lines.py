"""JSON lines of events, logs and snapshots: checked when they arrive, decoded when they are stored.

Both are the same decoding, so that what was accepted can be stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec
import numpy as np
import pyarrow as pa

from tailrace.streams.kinds import EVENT_TYPES, EVENTS, LEVEL_WORDS, LOG_TYPES, LOGS, SNAPSHOTS

MAX_DEPTH = 32
_ID = 16
_ABSENT = msgspec.Raw(b"")
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"')
Text = str | None


class _Line(msgspec.Struct, kw_only=True):
    timestamp: int | float | None = None


class EventLine(_Line, kw_only=True):
    """An event; whatever else stands in the line belongs to its payload."""

    type: str
    device_id: UUID
    event: Text = None
    session_id: Text = None
    user_id: msgspec.Raw = _ABSENT
    group_id: msgspec.Raw = _ABSENT
    properties: msgspec.Raw = _ABSENT
    traits: msgspec.Raw = _ABSENT
    context: msgspec.Raw = _ABSENT


class LogLine(_Line, kw_only=True):
    """A log entry."""

    message: msgspec.Raw
    level: str = "info"
    source: Text = None
    service: Text = None
    session_id: Text = None
    data: msgspec.Raw = _ABSENT
    type: str = "log"


class SnapshotLine(_Line, kw_only=True):
    """The state of something, as a connector saw it."""

    source: str
    entity: str


_STRUCTS: dict[str, type[_Line]] = {EVENTS: EventLine, LOGS: LogLine, SNAPSHOTS: SnapshotLine}
_DECODERS = {kind: msgspec.json.Decoder(struct) for kind, struct in _STRUCTS.items()}
_EXACT = {
    kind: msgspec.json.Decoder(
        msgspec.defstruct(f"Exact{kind}", [], bases=(struct,), forbid_unknown_fields=True, kw_only=True)
    )
    for kind, struct in _STRUCTS.items()
}
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_KNOWN = {kind: frozenset(struct.__struct_fields__) for kind, struct in _STRUCTS.items()}


@dataclass(slots=True)
class Lines:
    """Lines of a body that are records, and those that are none."""

    texts: list[bytes]
    numbers: list[int]
    "Of each, counted from one."
    errors: list[tuple[int, str]] = field(default_factory=list)
    "Number and what is wrong, in the order of lines."

    def body(self) -> bytes:
        """The good lines alone."""
        return b"\n".join(self.texts)


def check(kind: str, body: bytes, max_lines: int, max_depth: int = MAX_DEPTH) -> Lines:
    """Which lines can be stored. Lines beyond `max_lines` are one error."""
    given = [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]
    found = Lines([line for _, line in given[:max_lines]], [number for number, _ in given[:max_lines]])
    joined = b"\n".join(found.texts)
    try:
        joined.decode()  # what no field is declared for is passed over unread
        _DECODERS[kind].decode_lines(joined)
        wrong: dict[int, str] = {}
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        wrong = dict(_wrong(kind, found))
    for place in _deep(found.texts, max_depth):
        wrong.setdefault(place, f"deeper than {max_depth} levels")
    if wrong:
        found.errors = [(found.numbers[place], text) for place, text in sorted(wrong.items())]
        found.texts = [text for place, text in enumerate(found.texts) if place not in wrong]
        found.numbers = [number for place, number in enumerate(found.numbers) if place not in wrong]
    if len(given) > max_lines:
        found.errors.append((given[max_lines][0], f"more than {max_lines} lines"))
    return found


def _wrong(kind: str, lines: Lines) -> Iterator[tuple[int, str]]:
    decode = _DECODERS[kind].decode
    for place, text in enumerate(lines.texts):
        try:
            text.decode()
            decode(text)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            yield place, str(error)


def _deep(texts: Sequence[bytes], limit: int) -> Iterator[int]:
    for place, text in enumerate(texts):
        if text.count(b"{") + text.count(b"[") > limit and _depth(text) > limit:
            yield place


def _depth(text: bytes) -> int:
    signs = np.frombuffer(_STRINGS.sub(b"", text), np.uint8)
    step = np.isin(signs, (0x7B, 0x5B)).astype(np.int32) - np.isin(signs, (0x7D, 0x5D))
    return int(np.cumsum(step).max(initial=0))


@dataclass(frozen=True, slots=True)
class JsonRows:
    """Rows of a body, and the texts of lines that are none."""

    columns: dict[str, pa.Array]
    bad: list[tuple[int, bytes, str]]


def decode_lines(kind: str, body: bytes, received_at: int) -> JsonRows:
    """The rows of a body of lines; a line without a time has that of its arrival."""
    try:
        body.decode()
        lines: list[Any] = _EXACT[kind].decode_lines(body)
        others: list[dict[str, msgspec.Raw]] | None = None
        bad: list[tuple[int, bytes, str]] = []
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        lines, others, bad = _carefully(kind, body)
    columns = _BUILDERS[kind](lines, others)
    moments = [received_at if line.timestamp is None else _whole(line.timestamp) for line in lines]
    return JsonRows({"timestamp": pa.array(moments, pa.int64()), **columns}, bad)


def _carefully(kind: str, body: bytes) -> tuple[list[Any], list[dict[str, msgspec.Raw]], list[tuple[int, bytes, str]]]:
    """Lines with keys of their own, or that are none: each with its other fields."""
    known = _KNOWN[kind]
    lines, others, bad = [], [], []
    for place, text in enumerate(body.split(b"\n")):
        try:
            text.decode()
            line, fields = _DECODERS[kind].decode(text), _FIELDS.decode(text)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            if text.strip():
                bad.append((place, text, f"json: {error}"))
            continue
        lines.append(line)
        others.append({name: value for name, value in fields.items() if name not in known})
    return lines, others, bad


def _whole(moment: int | float) -> int:
    """Milliseconds; what no column can hold is refused like a time below zero."""
    return int(moment) if -(2**63) <= moment < 2**63 else -1


def _events(lines: list[EventLine], others: list[dict[str, msgspec.Raw]] | None) -> dict[str, pa.Array]:
    known = dict.fromkeys(EVENT_TYPES)
    extra: Sequence[dict[str, msgspec.Raw] | None] = others or [None] * len(lines)
    document = pa.array([_event_payload(e, more) for e, more in zip(lines, extra, strict=True)], pa.binary())
    return {
        "event_type": pa.array([e.type if e.type in known else "unknown" for e in lines], pa.string()),
        "event_name": pa.array([e.event for e in lines], pa.string()),
        "device_id": pa.array([e.device_id.bytes for e in lines], pa.binary()),
        "session_id": pa.array([_id(e.session_id) for e in lines], pa.binary()),
        "payload": document,
        "document": document,
    }


def _event_payload(event: EventLine, more: dict[str, msgspec.Raw] | None) -> bytes:
    plain = bytes(event.properties)
    if not more and plain[:1] == b"{" and not (event.user_id or event.group_id or event.traits or event.context):
        return plain
    merged: dict[str, msgspec.Raw] = {}
    for name in ("user_id", "group_id"):
        value = getattr(event, name)
        if bytes(value) not in (b"", b"null"):
            merged[name] = value
    merged.update(more or {})
    _merge(merged, event.properties, "properties")
    _merge(merged, event.traits, "traits")
    if bytes(event.context) not in (b"", b"null"):
        merged["_context"] = event.context
    return msgspec.json.encode(merged)


def _merge(into: dict[str, msgspec.Raw], value: msgspec.Raw, name: str) -> None:
    """The fields of an object; what is none stays under its own name."""
    text = bytes(value)
    if text[:1] == b"{":
        into.update(_FIELDS.decode(text))
    elif text not in (b"", b"null"):
        into[name] = value


def _id(text: Text) -> bytes | None:
    """A UUID with or without hyphens; anything else is none."""
    if not text:
        return None
    if len(text) in (32, 36):
        # Several times as fast as the class for it, which is asked about other spellings.
        try:
            found = bytes.fromhex(text.replace("-", ""))
        except ValueError:
            return None
        if len(found) == _ID:
            return found
    try:
        return UUID(text).bytes
    except ValueError:
        return None


def _logs(lines: list[LogLine], others: list[dict[str, msgspec.Raw]] | None) -> dict[str, pa.Array]:
    extra: Sequence[dict[str, msgspec.Raw] | None] = others or [None] * len(lines)
    document = pa.array([_log_payload(e, more) for e, more in zip(lines, extra, strict=True)], pa.binary())
    return {
        "level": pa.array([LEVEL_WORDS.get(e.level.lower(), "info") for e in lines], pa.string()),
        "event_type": pa.array([e.type if e.type in LOG_TYPES else "unknown" for e in lines], pa.string()),
        "source": pa.array([e.source for e in lines], pa.string()),
        "service": pa.array([e.service for e in lines], pa.string()),
        "session_id": pa.array([_id(e.session_id) for e in lines], pa.binary()),
        "payload": document,
        "document": document,
    }


def _log_payload(log: LogLine, more: dict[str, msgspec.Raw] | None) -> bytes:
    merged = {"message": log.message, **(more or {})}
    _merge(merged, log.data, "data")
    return msgspec.json.encode(merged)


def _snapshots(lines: list[SnapshotLine], others: list[dict[str, msgspec.Raw]] | None) -> dict[str, pa.Array]:
    document = pa.array([msgspec.json.encode(more) for more in others or [{}] * len(lines)], pa.binary())
    return {
        "source": pa.array([e.source for e in lines], pa.string()),
        "entity": pa.array([e.entity for e in lines], pa.string()),
        "payload": document,
        "document": document,
    }


_BUILDERS: dict[str, Callable[..., dict[str, pa.Array]]] = {EVENTS: _events, LOGS: _logs, SNAPSHOTS: _snapshots}

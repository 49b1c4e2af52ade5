"""JSON lines of events, logs and snapshots: checked when they arrive, decoded when they are stored.

Both are the same decoding, so that what was accepted can be stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from tailrace.streams.kinds import EVENT_TYPES, EVENTS, LEVEL_WORDS, LOG_TYPES, LOGS, SNAPSHOTS
from tailrace.streams.line_ids import binary, optional_ids, required_ids
from tailrace.streams.plain_events import plain_events

MAX_DEPTH = 32
_ABSENT = msgspec.Raw(b"")
_NOT_OPENING = bytes(sign for sign in range(256) if sign not in b"{[\n")
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"')
Text = str | None


class _Line(msgspec.Struct, kw_only=True, gc=False):
    timestamp: int | float | None = None


class EventLine(_Line, kw_only=True, gc=False):
    """An event; whatever else stands in the line belongs to its payload."""

    type: str
    device_id: str
    event: Text = None
    session_id: Text = None
    user_id: msgspec.Raw = _ABSENT
    group_id: msgspec.Raw = _ABSENT
    properties: msgspec.Raw = _ABSENT
    traits: msgspec.Raw = _ABSENT
    context: msgspec.Raw = _ABSENT


class LogLine(_Line, kw_only=True, gc=False):
    """A log entry."""

    message: msgspec.Raw
    level: str = "info"
    source: Text = None
    service: Text = None
    session_id: Text = None
    data: msgspec.Raw = _ABSENT
    type: str = "log"


class SnapshotLine(_Line, kw_only=True, gc=False):
    """The state of something, as a connector saw it."""

    source: str
    entity: str


_STRUCTS: dict[str, type[_Line]] = {EVENTS: EventLine, LOGS: LogLine, SNAPSHOTS: SnapshotLine}
_DECODERS = {kind: msgspec.json.Decoder(struct) for kind, struct in _STRUCTS.items()}
_EXACT = {
    kind: msgspec.json.Decoder(
        msgspec.defstruct(f"Exact{kind}", [], bases=(struct,), forbid_unknown_fields=True, kw_only=True, gc=False)
    )
    for kind, struct in _STRUCTS.items()
}
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_KNOWN = {kind: frozenset(struct.__struct_fields__) for kind, struct in _STRUCTS.items()}


_MISTAKES = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)


@dataclass(slots=True)
class Lines:
    """Lines of a body that are records, and what is wrong with the others."""

    body: bytes
    "The good lines alone."
    count: int
    errors: list[tuple[int, str]] = field(default_factory=list)
    "Number and what is wrong, in the order of lines; counted from one."


def check(kind: str, body: bytes, max_lines: int, max_depth: int = MAX_DEPTH) -> Lines:
    """Which lines can be stored. Lines beyond `max_lines` are one error."""
    return _all_good(kind, body.rstrip(b"\n"), max_lines, max_depth) or _each(kind, body, max_lines, max_depth)


def _all_good(kind: str, body: bytes, max_lines: int, max_depth: int) -> Lines | None:
    """None = there is something that has to be looked at line by line."""
    opening = body.translate(None, _NOT_OPENING).split(b"\n")
    if not body or len(opening) > max_lines or max(map(len, opening)) > max_depth:
        return None
    try:
        body.decode()  # what no field is declared for is passed over unread
        plain = plain_events(body) if kind == EVENTS else None
        lines: Sequence[Any] = _DECODERS[kind].decode_lines(body) if plain is None else plain
    except _MISTAKES:
        return None
    if not _are_lines(body, len(opening), len(lines)):
        return None
    if kind == EVENTS and required_ids([line.device_id for line in lines]) is None:
        return None
    return Lines(body, len(lines))


def _are_lines(body: bytes, lines: int, found: int) -> bool:
    """Is each line one record? The decoder minds neither several in a line nor one over several lines.

    None goes on where a line ends with `}` and the next begins with `{`: a comma would have to be between them.
    """
    return found == lines and body.count(b"}\n{") == lines - 1 and body[:1] + body[-1:] == b"{}"


def _each(kind: str, body: bytes, max_lines: int, max_depth: int) -> Lines:
    given = [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]
    kept = given[:max_lines]
    wrong = dict(_wrong(kind, [line for _, line in kept]))
    for place in _deep([line for _, line in kept], max_depth):
        wrong.setdefault(place, f"deeper than {max_depth} levels")
    errors = [(kept[place][0], text) for place, text in sorted(wrong.items())]
    if len(given) > max_lines:
        errors.append((given[max_lines][0], f"more than {max_lines} lines"))
    good = [line for place, (_, line) in enumerate(kept) if place not in wrong]
    return Lines(b"\n".join(good), len(good), errors)


def _wrong(kind: str, texts: Sequence[bytes]) -> Iterator[tuple[int, str]]:
    for place, text in enumerate(texts):
        try:
            _decoded(kind, text)
        except _MISTAKES as error:
            yield place, str(error)


def _decoded(kind: str, text: bytes) -> Any:
    """One line, or what is wrong with it."""
    text.decode()
    line = _DECODERS[kind].decode(text)
    if isinstance(line, EventLine) and required_ids([line.device_id]) is None:
        raise msgspec.ValidationError("Invalid UUID - at `$.device_id`")
    return line


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
        if kind == EVENTS and required_ids([line.device_id for line in lines]) is None:
            raise msgspec.ValidationError
    except _MISTAKES:
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
            line, fields = _decoded(kind, text), _FIELDS.decode(text)
        except _MISTAKES as error:
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
        "device_id": binary(required_ids([e.device_id for e in lines]) or b""),
        "session_id": optional_ids([e.session_id for e in lines]),
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


def _logs(lines: list[LogLine], others: list[dict[str, msgspec.Raw]] | None) -> dict[str, pa.Array]:
    extra: Sequence[dict[str, msgspec.Raw] | None] = others or [None] * len(lines)
    document = pa.array([_log_payload(e, more) for e, more in zip(lines, extra, strict=True)], pa.binary())
    return {
        "level": pa.array([LEVEL_WORDS.get(e.level.lower(), "info") for e in lines], pa.string()),
        "event_type": pa.array([e.type if e.type in LOG_TYPES else "unknown" for e in lines], pa.string()),
        "source": pa.array([e.source for e in lines], pa.string()),
        "service": pa.array([e.service for e in lines], pa.string()),
        "session_id": optional_ids([e.session_id for e in lines]),
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

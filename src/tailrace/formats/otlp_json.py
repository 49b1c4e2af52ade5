"""OpenTelemetry's logs in JSON → rows: strictly where that works, else record by record and field by field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw

from tailrace.core import Common, Json, Table, col
from tailrace.formats.base import Stream
from tailrace.formats.feed import Once
from tailrace.formats.json_decode import DocumentDecoder
from tailrace.formats.json_fit import UNREADABLE, is_utf8
from tailrace.formats.lines import cut_lines
from tailrace.formats.otlp_rows import Group, Records
from tailrace.formats.otlp_values import AnyValue, Attributes, LogRecord, Message, ScopeLogs, attributes_text, unwrapped

ENVELOPE = Table(
    "resource_logs",
    "",
    Json("resourceLogs", "camel"),
    (col("resource", "json"), col("scope_logs", "json"), col("schema_url")),
    Common(time=()),
)
_SCOPES = msgspec.json.Decoder(list[ScopeLogs])
_MESSAGE = msgspec.json.Decoder(Message)
_LIST = msgspec.json.Decoder(list[Raw])
_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_TEXT = msgspec.json.Decoder(str)
_ATTRIBUTES = msgspec.json.Decoder(Attributes)
_FIELDS = {f.encode_name: (f.name, msgspec.json.Decoder(f.type)) for f in msgspec.structs.fields(LogRecord)}
_REMEMBERED = 1_000
"Resources and scopes that are kept parsed: they repeat."


class JsonRecords:
    """Reads the documents of streams, one resource with its logs at a time."""

    def __init__(self) -> None:
        assert isinstance(ENVELOPE.format, Json)
        self._documents = DocumentDecoder(ENVELOPE, ENVELOPE.format)
        self._parsed: dict[bytes, Group] = {}

    def read_lines(self, stream: Stream) -> Iterator[Records]:
        """A message per line; a line that is none, or an odd one, is read as a document of its own."""
        for block in cut_lines(stream):
            found = Records()
            for line in map(block.raw, range(len(block))):
                message = _message(line)
                if message is not None:
                    self._take(message, found)
                elif line.strip():
                    for inner in self.read(Once(line)):
                        found.append(inner)
            for bad in block.bad:
                found.refuse(bad.raw, bad.reason, bad.length)
            yield found

    def _take(self, message: Message, found: Records) -> None:
        for logs in message.resource_logs:
            around = Group({"resource_schema_url": logs.schema_url}, {}, {})
            around = around.joined(self._described(bytes(logs.resource).decode(), "resource_"))
            if logs.scope_logs is None:
                found.skipped += 1
            self._add(logs.scope_logs or [], around, found)

    def read(self, stream: Stream) -> Iterator[Records]:
        """The records of one run of resources after the other."""
        for batch in self._documents.decode(stream):
            found = Records()
            found.skipped = batch.skipped
            columns = (batch.columns[name].to_pylist() for name in ("resource", "scope_logs", "schema_url"))
            extras = batch.extra.to_pylist() if batch.extra is not None else [None] * batch.rows
            for resource, scopes, url, extra in zip(*columns, extras, strict=True):
                around = Group({"resource_schema_url": url}, {}, {"resource_logs": extra} if extra else {})
                around = around.joined(self._described(resource, "resource_"))
                self._take_scopes(scopes, around, found)
            for bad in batch.bad:
                found.refuse(bad.raw, bad.reason, bad.length)
            yield found

    def _take_scopes(self, text: str | None, around: Group, found: Records) -> None:
        if text is None:
            found.skipped += 1
            return
        try:
            scopes = _SCOPES.decode(text)
        except UNREADABLE:
            return self._take_odd_scopes(text, around, found)
        self._add(scopes, around, found)

    def _add(self, scopes: list[ScopeLogs], around: Group, found: Records) -> None:
        for scope in scopes:
            own = around.joined(Group({"scope_schema_url": scope.schema_url}, {}, {}))
            own = own.joined(self._described(bytes(scope.scope).decode(), "scope_"))
            found.add(own, scope.log_records or [])

    def _take_odd_scopes(self, text: str, around: Group, found: Records) -> None:
        try:
            scopes = [_OBJECT.decode(raw) for raw in _LIST.decode(text)]
            logs = [_LIST.decode(scope.pop("logRecords", b"[]")) for scope in scopes]
        except UNREADABLE:
            return found.refuse(text.encode(), "otlp: scopeLogs or logRecords are no list of objects")
        for scope, records in zip(scopes, logs, strict=True):
            own = around.joined(self._described(bytes(scope.pop("scope", b"")).decode(), "scope_"))
            url = scope.pop("schemaUrl", None)
            own = own.joined(Group({"scope_schema_url": _text(url)}, {}, {}))
            if scope:
                own = own.joined(Group({}, {}, {"scope_logs": msgspec.json.encode(scope).decode()}))
            for raw in records:
                self._take_odd_record(bytes(raw), own, found)

    def _take_odd_record(self, raw: bytes, around: Group, found: Records) -> None:
        """One record by itself; fields that do not fit are told, the others are taken."""
        try:
            members = _OBJECT.decode(raw)
        except UNREADABLE:
            return found.refuse(raw, "otlp: not a log record")
        record = LogRecord()
        misfits: dict[str, str] = {}
        unknown: dict[str, str] = {}
        for key, value in members.items():
            known = _FIELDS.get(key)
            if known is None:
                unknown[key] = bytes(value).decode()
                continue
            name, reader = known
            try:
                setattr(record, name, reader.decode(value))
            except UNREADABLE:
                misfits[name] = bytes(value).decode()
                if name == "body":
                    record.body = _unwrapped(value)
        found.add(around.joined(Group({}, misfits, unknown)), [record])

    def _described(self, text: str | None, prefix: str) -> Group:
        """What a resource or a scope says, under names that begin with `prefix`."""
        if not text or text == "null":
            return Group({}, {}, {})
        key = prefix.encode() + text.encode()
        if key not in self._parsed:
            if len(self._parsed) >= _REMEMBERED:
                self._parsed.clear()
            self._parsed[key] = _describe(text, prefix)
        return self._parsed[key]


def _message(line: bytes) -> Message | None:
    """The line as a message by the book; None for any other."""
    try:
        return _MESSAGE.decode(line) if is_utf8(line) else None
    except UNREADABLE:
        return None


def _describe(text: str, prefix: str) -> Group:
    try:
        members = _OBJECT.decode(text)
    except UNREADABLE:
        return Group({}, {prefix.rstrip("_"): text}, {})
    fields: dict[str, Any] = {}
    misfits: dict[str, str] = {}
    attributes = members.pop("attributes", None)
    if attributes is not None:
        try:
            found = attributes_text(_ATTRIBUTES.decode(attributes))
            fields[f"{prefix}attributes"] = None if found is None else found.decode()
        except UNREADABLE:
            misfits[f"{prefix}attributes"] = bytes(attributes).decode()
    for key, name in (("name", "name"), ("version", "version"), ("droppedAttributesCount", "dropped_attributes_count")):
        if key in members:
            fields[prefix + name] = _text(members.pop(key))
    rest = {prefix.rstrip("_"): msgspec.json.encode(members).decode()} if members else {}
    return Group(fields, misfits, rest)


def _text(raw: Raw | None) -> str | None:
    if raw is None or bytes(raw) == b"null":
        return None
    try:
        text: str = _TEXT.decode(raw)
    except UNREADABLE:
        return bytes(raw).decode()
    return text


def _unwrapped(raw: Raw) -> AnyValue | None:
    try:
        return unwrapped(msgspec.json.decode(raw))
    except UNREADABLE:
        return None

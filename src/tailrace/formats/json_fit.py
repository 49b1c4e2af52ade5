"""Records that do not fit their struct: field by field, and what has no place goes to `tp_extra`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec
from msgspec import Raw

from tailrace.formats.json_notes import Notes
from tailrace.formats.json_struct import REST, Field, Keys, Level

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_LIST = msgspec.json.Decoder(list[Raw])
_TEXT = msgspec.json.Decoder(str)
_ANY = msgspec.json.Decoder(Raw)
_CAPITAL = re.compile(rb'\s*\{\s*"[A-Z]')
_SURROGATES = re.compile("[\ud800-\udfff]")


class Misfit(Exception):
    """The value does not fit the column."""


def fit_record(level: Level, raw: bytes | Raw, row: int, notes: Notes) -> Any:
    """A struct of `level` from any object; raises what msgspec raises when it is none."""
    return _fit_object(level, _OBJECT.decode(raw), (), row, notes)


def settle(
    level: Level, rows: list[Any], notes: Notes, numbers: list[int] | None = None, stay: Collection[Keys] = ()
) -> None:
    """Fit what was decoded as Raw on purpose, in every row that has it, but for places that stay as they are."""
    for key in level.late:
        fields = level.by_key[key]
        if fields[0].keys in stay or (fields[0].kind == "rest" and REST in level.by_key):
            continue
        first = fields[0].attribute
        for index, holder in enumerate(rows):
            raw = getattr(holder, first)
            if raw.__class__ is not Raw:
                continue
            row = numbers[index] if numbers else index
            for field in fields:
                setattr(holder, field.attribute, fit(field, raw, row, notes))
    if REST in level.by_key:
        _gather(level, rows)
    for field in level.fields:
        if field.level is not None and not field.repeats and _has_late(field.level, stay):
            below, places = [getattr(holder, field.attribute) for holder in rows], numbers
            if below.count(None):
                places = [n for n, child in zip(numbers or range(len(rows)), below, strict=True) if child is not None]
                below = [child for child in below if child is not None]
            settle(field.level, below, notes, places, stay)


def _has_late(level: Level, stay: Collection[Keys]) -> bool:
    if any(level.by_key[key][0].keys not in stay for key in level.late):
        return True
    return any(f.level is not None and not f.repeats and _has_late(f.level, stay) for f in level.fields)


def _fit_object(level: Level, values: dict[str, Raw], keys: Keys, row: int, notes: Notes) -> Any:
    fitted: dict[str, Any] = {}
    others: dict[str, Raw] | None = {} if REST in level.by_key else None
    for key, raw in values.items():
        fields = level.by_key.get(key)
        if others is not None and (fields is None or fields[0].kind == "rest"):
            others[key] = raw
            notes.seen[(*keys, key)] += 1
            continue
        if fields is None:
            notes.unknown(row, (*keys, key), raw)
            continue
        for field in fields:
            fitted[field.attribute] = fit(field, raw, row, notes)
    if others:
        fitted[level.by_key[REST][0].attribute] = _together(others)
    return level.struct(**fitted)


def _gather(level: Level, rows: list[Any]) -> None:
    """Fields without a column that were learned, for the column that takes them all."""
    learned = {field.key: field.attribute for field in level.fields if field.kind == "rest"}
    column = level.by_key[REST][0].attribute
    for holder in rows if learned else ():
        found = {key: getattr(holder, attribute) for key, attribute in learned.items()}
        others = {key: raw for key, raw in found.items() if raw is not None}
        if others:
            setattr(holder, column, _together(others))


def _together(others: dict[str, Raw]) -> Raw:
    """What has no column of its own in one value; an object that is all there is stands for itself."""
    first, *more = others.values()
    if not more and bytes(first)[:1] == b"{":
        return first
    return Raw(msgspec.json.encode(others, order="sorted"))


def fit(field: Field, raw: Raw, row: int, notes: Notes) -> Any:
    """The value for a column; None and a note where there is none that loses nothing."""
    if field.kind == "rest":
        notes.unknown(row, field.keys, raw)
        return None
    text = bytes(raw)
    if text == b"null":
        return None
    if field.repeats or field.learned:
        return raw
    try:
        if field.kind == "struct":
            return _fit_struct(field, raw, row, notes)
        return _fit_value(field, raw, text, row, notes)
    except (Misfit, *UNREADABLE):
        notes.misfit(row, field, raw)
        return None


def _fit_struct(field: Field, raw: Raw, row: int, notes: Notes) -> Any:
    assert field.level is not None
    source = unwrapped(raw) if field.column and field.column.decode == "json" else raw
    try:
        return _strict(field.level.struct).decode(source)
    except UNREADABLE:
        return _fit_object(field.level, _OBJECT.decode(source), field.keys, row, notes)


def _fit_value(field: Field, raw: Raw, text: bytes, row: int, notes: Notes) -> Any:
    quoted = text[:1] == b'"'
    if quoted and field.nulls and _TEXT.decode(raw) in field.nulls:
        return None
    if field.kind in ("source", "number"):
        return raw
    if field.kind == "json":
        return unwrapped(raw) if field.column and field.column.decode == "json" else raw
    if field.kind == "list":
        return _fit_list(field, raw, text, row, notes)
    try:
        return _strict(field.hint).decode(raw)
    except UNREADABLE:
        pass
    notes.seen[field.keys] += 1  # taken, but only here: worth learning when it is common
    if field.kind == "text":
        return text.decode()
    if field.kind in ("checked", "moment"):
        return raw
    value = _lax(field.hint).decode(raw)
    if isinstance(value, float) and not math.isfinite(value):
        raise Misfit
    return value


def _fit_list(field: Field, raw: Raw, text: bytes, row: int, notes: Notes) -> Any:
    item = field.item
    assert item is not None
    with suppress(*UNREADABLE):
        return _strict(field.hint).decode(raw)
    separator = field.column.list_separator if field.column else None
    if text[:1] == b"[":
        values = _LIST.decode(raw)
    elif text[:1] == b"{":
        raise Misfit
    elif text[:1] == b'"' and separator:
        values = [Raw(msgspec.json.encode(part)) for part in _TEXT.decode(raw).split(separator)]
    else:
        values = [raw]
    notes.seen[field.keys] += 1
    return [None if bytes(value) == b"null" else _fit_value(item, value, bytes(value), row, notes) for value in values]


def unwrapped(raw: Raw) -> Raw:
    """JSON that was sent as a string; a string that holds none stays as it is."""
    if bytes(raw)[:1] != b'"':
        return raw
    inner = _TEXT.decode(raw).encode()
    try:
        return _ANY.decode(inner).copy()
    except UNREADABLE:
        return raw


def text_of(value: Any) -> str | None:
    """A JSON value as text: strings without their quotes, everything else as it was sent."""
    if value.__class__ is not Raw:
        return value if value is None or isinstance(value, str) else str(value)
    text = bytes(value)
    if text == b"null":
        return None
    return _TEXT.decode(text) if text[:1] == b'"' else text.decode()


@cache
def _strict(hint: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(hint)


@cache
def _lax(hint: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(hint, strict=False)


def mended(raw: bytes) -> bytes | None:
    """The record as JSON allows it: U+FFFD for broken characters, null for NaN. None: it is not JSON."""
    try:
        value = json.loads(raw.decode(errors="replace"), strict=False, parse_constant=_null, parse_float=_finite)
        return _SURROGATES.sub("\ufffd", json.dumps(value, ensure_ascii=False)).encode()
    except (ValueError, RecursionError):
        return None


def decapitalized(raw: bytes) -> bytes:
    """A record whose keys all begin with a capital, with small ones at every level; any other as it is."""
    if not _CAPITAL.match(raw):
        return raw
    record = json.loads(raw)
    if not all(key[:1].isupper() for key in record):
        return raw
    return json.dumps(_small(record), ensure_ascii=False).encode()


def _small(value: Any) -> Any:
    if isinstance(value, list):
        return [_small(item) for item in value]
    if isinstance(value, dict):
        return {key[:1].lower() + key[1:]: _small(inner) for key, inner in value.items()}
    return value


def _null(_word: str) -> None:
    return None


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def is_utf8(text: bytes) -> bool:
    """Checked once for a block: msgspec takes any bytes for Raw, Arrow and DuckDB do not."""
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True

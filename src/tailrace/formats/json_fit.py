"""Records that do not fit their struct: field by field, and what has no place goes to `tp_extra`."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Raw

from tailrace.formats.json_struct import REST, Field, Keys, Level

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
REPAIRED = "tp_record"
"Under `tp_misfit`: the record itself was not JSON and has been repaired."
MISFIT = "tp_misfit"
_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_LIST = msgspec.json.Decoder(list[Raw])
_TEXT = msgspec.json.Decoder(str)
_ANY = msgspec.json.Decoder(Raw)
_CAPITAL = re.compile(rb'\s*\{\s*"[A-Z]')
_SURROGATES = re.compile("[\ud800-\udfff]")
Tree = dict[str, Any]


class Misfit(Exception):
    """The value does not fit the column."""


class Notes:
    """What is to be told of the rows of a batch beside their columns, and which places keep coming up."""

    def __init__(self, keep: tuple[str, ...]) -> None:
        self._keeps_all = "*" in keep
        self._keep = keep
        self.unknowns: dict[int, Tree] = {}
        self.misfits: dict[int, dict[str, Any]] = {}
        self.seen: Counter[Keys] = Counter()
        self.distinct: dict[Keys, tuple[int, int]] = {}
        "Objects that are taken to repeat: how many there were, and how many of them differ."

    def of_distinct(self) -> Notes:
        """Notes on values that stand for many rows each."""
        return Notes(self._keep)

    def spread(self, notes: Notes, numbers: npt.NDArray[np.int64]) -> None:
        """Takes over notes on distinct values; `numbers` are which of them a row has, -1 for none."""
        for number in notes.unknowns.keys() | notes.misfits.keys():
            for row in np.flatnonzero(numbers == number).tolist():
                if number in notes.unknowns:
                    self.unknowns.setdefault(row, {}).update(notes.unknowns[number])
                for path, value in notes.misfits.get(number, {}).items():
                    self.mark(row, path, value)

    def keeps(self, keys: Keys) -> bool:
        """Is a field without a column kept?"""
        return self._keeps_all or any(fnmatchcase(".".join(keys), glob) for glob in self._keep)

    def unknown(self, row: int, keys: Keys, value: Raw) -> None:
        """A key without a column, kept at its own place."""
        self.seen[keys] += 1
        if not self.keeps(keys):
            return
        if keys == (MISFIT,):  # the record's own key of that name gives way
            return self.mark(row, MISFIT, value)
        tree = self.unknowns.setdefault(row, {})
        for key in keys[:-1]:
            tree = tree.setdefault(key, {})
        tree[keys[-1]] = value

    def misfit(self, row: int, field: Field, value: Any) -> None:
        """A value that its column cannot hold, kept as it was sent."""
        self.seen[field.keys] += 1
        self.mark(row, field.path, value)

    def mark(self, row: int, path: str, value: Any) -> None:
        self.misfits.setdefault(row, {})[path] = value

    def forget(self, row: int) -> None:
        self.unknowns.pop(row, None)
        self.misfits.pop(row, None)

    def told(self) -> Iterator[tuple[int, Tree]]:
        """Rows that have anything to tell, with what becomes their `tp_extra`."""
        for row in self.unknowns.keys() | self.misfits.keys():
            misfits = self.misfits.get(row)
            yield row, {**self.unknowns.get(row, {}), **({MISFIT: misfits} if misfits else {})}


def fit_record(level: Level, raw: bytes | Raw, row: int, notes: Notes) -> Any:
    """A struct of `level` from any object; raises what msgspec raises when it is none."""
    return _fit_object(level, _OBJECT.decode(raw), (), row, notes)


def settle(
    level: Level, rows: list[Any], notes: Notes, numbers: list[int] | None = None, stay: Collection[str] = ()
) -> None:
    """Fit what was decoded as Raw on purpose, in every row that has it, but for keys that stay as they are."""
    for key in level.late.difference(stay):
        fields = level.by_key[key]
        first = fields[0].attribute
        for index, holder in enumerate(rows):
            raw = getattr(holder, first)
            if raw.__class__ is not Raw:
                continue
            row = numbers[index] if numbers else index
            for field in fields:
                setattr(holder, field.attribute, fit(field, raw, row, notes))
    for field in level.fields:
        if field.level is not None and not field.repeats and _has_late(field.level):
            below = [(index, getattr(holder, field.attribute)) for index, holder in enumerate(rows)]
            held = [(numbers[i] if numbers else i, child) for i, child in below if child is not None]
            settle(field.level, [child for _, child in held], notes, [row for row, _ in held])


def _has_late(level: Level) -> bool:
    return bool(level.late) or any(f.level is not None and not f.repeats and _has_late(f.level) for f in level.fields)


def _fit_object(level: Level, values: dict[str, Raw], keys: Keys, row: int, notes: Notes) -> Any:
    fitted: dict[str, Any] = {}
    others: dict[str, Raw] | None = {} if REST in level.by_key else None
    for key, raw in values.items():
        fields = level.by_key.get(key)
        if fields is None and others is not None:
            others[key] = raw
            continue
        if fields is None:
            notes.unknown(row, (*keys, key), raw)
            continue
        for field in fields:
            fitted[field.attribute] = fit(field, raw, row, notes)
    if others:
        fitted[level.by_key[REST][0].attribute] = _together(others)
    return level.struct(**fitted)


def _together(others: dict[str, Raw]) -> Raw:
    """What has no column of its own in one value; an object that is all there is stands for itself."""
    first, *more = others.values()
    if not more and bytes(first)[:1] == b"{":
        return first
    return Raw(msgspec.json.encode(others))


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
    source = _unwrapped(raw) if field.column and field.column.decode == "json" else raw
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
        return _unwrapped(raw) if field.column and field.column.decode == "json" else raw
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


def _unwrapped(raw: Raw) -> Raw:
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

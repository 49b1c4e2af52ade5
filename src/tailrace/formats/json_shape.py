"""The struct that records are decoded into: made from a table's columns, changed by what the records hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
from msgspec import UNSET, Raw, UnsetType

from tailrace.core import Json, Jsonl, Table
from tailrace.formats.json_columns import values_at
from tailrace.formats.json_fit import UNREADABLE
from tailrace.formats.json_notes import Notes
from tailrace.formats.json_struct import REST, Field, Keys, Level, narrowed, top_level

LEARNED_PLACES = 32
_LEARN_FROM = 20
"Records that must show a place before it is learned: making a struct costs as much as a hundred of them."
_ONE_IN = 1_000
"Records of which one must show it: each that does not fit makes those that are decoded with it dearer."
_UNLIKE_FROM = 100
"Objects after which it is decided whether they repeat."
_NARROW_FROM = 100
"Records after which fields that none of them had are left out of the struct,"
_WORTH_NARROWING = 8
"if there are so many of them,"
_NARROWINGS = 16
"and so often: then the records are too unlike."
_OBJECT = msgspec.json.Decoder(dict[str, Raw])
Columns = dict[str, pa.Array]
_UNKNOWN = re.compile("unknown field `(.*?)`")


class Shape:
    """What the decoders of a table's records are made from; gets better at it as it goes."""

    def __init__(self, table: Table, fmt: Json | Jsonl, path: Keys = ()) -> None:
        self._table = table
        self._format = fmt
        self._path = path
        self._envelopes = frozenset(place.partition(".")[0] for place in fmt.unwrap)
        self.forbids = bool(table.keep or fmt.unwrap)
        "Whether the struct refuses fields that it does not know."
        self._records = 0
        self._seen: Counter[Keys] = Counter()
        self._learned: frozenset[Keys] = frozenset()
        self._met: Counter[Keys] = Counter()
        self._differ: Counter[Keys] = Counter()
        self._unlike: frozenset[Keys] = frozenset()
        self._used: set[str] = set()
        self._unused: frozenset[str] = frozenset()
        self._narrowings = 0
        self._kinds: dict[str, pa.DataType] = {}
        self._prepare()

    def _prepare(self) -> None:
        self.wide = top_level(self._table, self._format, self._learned, self._unlike)
        self._take(self.wide)

    def _take(self, level: Level) -> None:
        self.level = level
        self._unused = frozenset(self.wide.by_key.keys() - level.by_key.keys())
        self.rest = {place: partial(values_at, route) for place, route in _routes(level)}
        "How the values of a place without a column are read from records."
        self.record = msgspec.json.Decoder(level.struct)
        self.array = msgspec.json.Decoder(list[level.struct])  # type: ignore[name-defined]
        self.document = decoder_at(self._path, level.struct)

    def widen(self) -> None:
        """Take all fields that have a column."""
        if self._unused:
            self._take(self.wide)

    def lacks(self, error: Exception) -> bool:
        """Was it a field that no record had before? Then the records may fit all fields."""
        found = _UNKNOWN.search(str(error)) if self._unused else None
        if found is None or found[1] not in self._unused:
            return False
        self._used.add(found[1])
        return True

    def complete(self, columns: Columns, rows: int) -> Columns:
        """With the columns of fields that no record had so far, each in its place."""
        if not self._unused:
            return columns
        return {n: columns[n] if n in columns else pa.nulls(rows, kind) for n, kind in self._kinds.items()}

    def learn(self, notes: Notes, records: int, columns: Columns, some: Iterable[bytes]) -> None:
        """What these records show serves the next ones; `some` of them as they were sent."""
        self._records += records
        unlike = self._unlike | self._found_unlike(notes)
        learned = self._learned | self._found_common(notes)
        if learned != self._learned or unlike != self._unlike:
            self._learned, self._unlike = learned, unlike
            self._prepare()
        if self.forbids and not self._unused and self._records >= _NARROW_FROM and self._narrowings < _NARROWINGS:
            self._narrow(columns, some)

    def _narrow(self, columns: Columns, some: Iterable[bytes]) -> None:
        """Leave out what no record had: a field costs time in every record, whether it is there or not."""
        filled = {name for name, array in columns.items() if array.null_count < len(array)}
        self._used |= {key for key, fields in self.wide.by_key.items() if any(_shows(f, filled) for f in fields)}
        if len(self.wide.by_key.keys() - self._used) < _WORTH_NARROWING:
            return
        for record in some:  # many write down what they do not know, as null
            with suppress(*UNREADABLE):
                self._used |= _OBJECT.decode(record).keys()
        unused = self.wide.by_key.keys() - self._used
        if len(unused) >= _WORTH_NARROWING:
            self._narrowings += 1
            self._kinds = {name: array.type for name, array in columns.items()}
            self._take(narrowed(self.wide, unused))

    def _found_unlike(self, notes: Notes) -> set[Keys]:
        """Objects of which most were not met before: to look for them is in vain."""
        for place, (met, differ) in notes.distinct.items():
            self._met[place] += met
            self._differ[place] += differ
        return {p for p in notes.distinct if self._met[p] >= _UNLIKE_FROM and 2 * self._differ[p] > self._met[p]}

    def _found_common(self, notes: Notes) -> set[Keys]:
        """Places that many records show and that the struct does not take."""
        if not notes.seen:
            return set()
        self._seen.update(notes.seen)
        common = [
            place
            for place, times in self._seen.most_common()
            if times >= _LEARN_FROM
            and times * _ONE_IN > self._records
            and place not in self._learned
            and place[0] not in self._envelopes  # it shows where the envelopes are
        ]
        return set(common[: LEARNED_PLACES - len(self._learned)])


def _routes(level: Level, route: tuple[Field, ...] = ()) -> Iterator[tuple[Keys, tuple[Field, ...]]]:
    """Places without a column, and the fields that lead there."""
    for field in level.fields:
        if field.kind == "rest" and REST not in level.by_key:
            yield field.keys, (*route, field)
        elif field.level is not None and not field.repeats:
            yield from _routes(field.level, (*route, field))


def _shows(field: Field, filled: set[str]) -> bool:
    """Has any record the field, as far as columns tell?"""
    if field.column is None and field.kind != "source":
        return True
    return (field.column.name if field.column else field.key) in filled


def decoder_at(path: Keys, record: Any) -> msgspec.json.Decoder[Any]:
    """Decodes the records at a path of a document, whatever else it holds."""
    hint: Any = list[record]
    for key in reversed(path):
        hint = msgspec.defstruct("Document", [("inner", hint | None | UnsetType, UNSET)], rename={"inner": key})
    return msgspec.json.Decoder(hint)


def at_path(document: Any, path: Keys) -> Any:
    """What a decoder made by `decoder_at` found: a list (empty for null), or UNSET."""
    for _ in path:
        if document is UNSET:
            return UNSET
        document = document.inner
        if document is None:
            return []
    return document

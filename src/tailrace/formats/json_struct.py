"""A table's columns as msgspec structs: one per nesting level, strict, every field optional."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any

import msgspec
import pyarrow as pa
from msgspec import Meta, Raw

from tailrace.core import Column, Json, Jsonl, Struct, Table, camel, pascal
from tailrace.core.arrow import arrow_type
from tailrace.core.columns import SYNONYMS
from tailrace.formats.duck import con

Keys = tuple[str, ...]
"A place in a record: the JSON keys that lead to it."

_RANGES = {
    "tinyint": (-(2**7), 2**7 - 1),
    "smallint": (-(2**15), 2**15 - 1),
    "integer": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
    "utinyint": (0, 2**8 - 1),
    "usmallint": (0, 2**16 - 1),
    "uinteger": (0, 2**32 - 1),
}
REST = "*"
"`src` of a JSON column that takes all fields without a column."
Placed = tuple[Column, Keys]
"A column and where its value stands, seen from the object it is declared in."
UNNAMEABLE = re.compile(r'["\\\x00-\x1f]')
"Keys that msgspec cannot match: records with one are taken field by field."
_UNSENT = "\N{WORD JOINER}tailrace "
"Begins a key that no record has."
_TOGETHER = frozenset({"text", "checked", "int", "float", "bool", "json"})
"Kinds of which the texts of a whole column are cast at once."
_WORTH_SHARING = 3
"Fields of an object from which on it is cheaper to find its text again than to decode it once more."
_FLOAT32 = 3.4028234663852886e38


@dataclass(frozen=True, slots=True)
class Field:
    """One key of an object and what becomes of its value."""

    attribute: str
    keys: Keys
    kind: str
    """What the struct holds: `text`, `checked` (text that may not fit), `int`, `bool`, `float`, `json` (Raw),
    `number` (Raw: beyond 64 bits), `moment` (a time as text or number), `list`, `struct` (without a column: an
    object on the way to columns); `source` and `rest` are keys without a column."""
    hint: Any = Raw
    "The strict type of a value that is not null."
    type: str = ""
    "The declared type in DuckDB's own spelling."
    column: Column | None = None
    path: str = ""
    "Dotted path of the column."
    level: Level | None = None
    item: Field | None = None
    nulls: frozenset[str] = frozenset()
    "Texts that mean null."
    stored: pa.DataType | None = None
    repeats: bool = False
    "A struct that is held as Raw: its distinct texts are decoded, each once."
    learned: bool = False
    "Many records send another type than the column's, or JSON in a string: all are Raw and become a column together."

    @property
    def key(self) -> str:
        return self.keys[-1]


@dataclass(frozen=True, slots=True)
class Level:
    """The fields of one object, the struct that msgspec fills, and which keys are fitted afterwards."""

    fields: tuple[Field, ...]
    struct: type[msgspec.Struct]
    by_key: dict[str, tuple[Field, ...]]
    empty: msgspec.Struct
    "Stands for an object that is not there."
    late: frozenset[str]
    "Keys decoded as Raw and fitted one by one: what was learned of them, keys that columns share, JSON in strings."


def top_level(
    table: Table, fmt: Json | Jsonl, learned: frozenset[Keys] = frozenset(), unlike: frozenset[Keys] = frozenset()
) -> Level:
    """The structs of a table. `learned` places are taken as Raw, whether they have a column or not.

    Objects of many fields are taken to repeat, as who makes requests does, but for `unlike` places.
    """
    return _Levels(table, fmt, learned, unlike).level(
        tuple(c for c in table.columns if c.sql is None and c.src != REST), sources=source_keys(table)
    )


def narrowed(level: Level, keys: Collection[str]) -> Level:
    """The same without some keys: a record that has one of them is refused."""
    by_key = {key: fields for key, fields in level.by_key.items() if key not in keys}
    late = level.late & by_key.keys()
    struct = _struct(by_key, late, forbid=True)
    return Level(tuple(f for fields in by_key.values() for f in fields), struct, by_key, struct(), late)


class _Levels:
    def __init__(self, table: Table, fmt: Json | Jsonl, learned: frozenset[Keys], unlike: frozenset[Keys]) -> None:
        self._unlike = unlike
        self._within = False  # an object that repeats
        self._spell = {"camel": camel, "pascal": pascal}.get(fmt.keys, str)
        self._mapped = dict(fmt.field_map)
        self._learned = learned
        self._forbid = bool(table.keep or fmt.unwrap)
        self._null = table.null

    def level(
        self, columns: tuple[Column, ...], keys: Keys = (), prefix: str = "", sources: tuple[str, ...] = ()
    ) -> Level:
        return self._made([(column, self._place(column, prefix)) for column in columns], keys, prefix, sources)

    def _place(self, column: Column, prefix: str) -> Keys:
        """The keys that lead from this object to the column's value: one, unless `src` is a pointer."""
        src = self._mapped.get(prefix + column.name) or column.src
        if src and src.startswith("/"):
            return tuple(token.replace("~1", "/").replace("~0", "~") for token in src[1:].split("/"))
        return (src or self._spell(column.name),)

    def _made(self, placed: list[Placed], keys: Keys, prefix: str, sources: tuple[str, ...] = ()) -> Level:
        fields = [self._field(column, (*keys, *place), prefix) for column, place in placed if len(place) == 1]
        below: dict[str, list[Placed]] = {}
        for column, place in placed:
            if len(place) > 1:
                below.setdefault(place[0], []).append((column, place[1:]))
        for key, inner in below.items():
            fields.append(self._below((*keys, key), inner, prefix))
        fields += [Field("", (*keys, key), "source") for key in sources]
        taken = {f.key for f in fields}
        here = sorted(p for p in self._learned if p[:-1] == keys and not UNNAMEABLE.search(p[-1]))
        fields += [Field("", place, "rest") for place in here if place[-1] not in taken]
        fields = [replace(f, attribute=f"c{number}") for number, f in enumerate(fields)]
        by_key: dict[str, tuple[Field, ...]] = {}
        for f in fields:
            by_key[f.key] = (*by_key.get(f.key, ()), f)
        late = {place[-1] for place in here if not any(f.repeats for f in by_key[place[-1]])}
        for key, sharing in by_key.items():
            if len(sharing) > 1 or any(f.column and f.column.decode == "json" for f in sharing):
                late.add(key)
                by_key[key] = tuple(replace(f, repeats=False) for f in sharing)
        for key in sorted(late):
            first, *others = by_key[key]
            if not others and first.kind in _TOGETHER:
                by_key[key] = (replace(first, learned=True),)
                late.remove(key)
        fields = [f for sharing in by_key.values() for f in sharing]
        struct = _struct(by_key, late, self._forbid)
        return Level(tuple(fields), struct, by_key, struct(), frozenset(late))

    def _below(self, keys: Keys, inner: list[Placed], prefix: str) -> Field:
        """An object on the way to columns."""
        repeats = self._repeats(keys, sum(_leaves(column.type) for column, _ in inner))
        self._within |= repeats
        level = self._made(inner, keys, prefix)
        self._within &= not repeats
        return Field("", keys, "struct", hint=level.struct, path=".".join(keys), level=level, repeats=repeats)

    def _repeats(self, keys: Keys, leaves: int) -> bool:
        return not self._within and keys not in self._unlike and leaves >= _WORTH_SHARING

    def _field(self, column: Column, keys: Keys, prefix: str) -> Field:
        path = prefix + column.name
        nulls = frozenset(text for text in (self._null, column.null_if) if text is not None)
        known = Field("", keys, "", column=column, path=path, nulls=nulls, stored=arrow_type(column.type))
        if isinstance(column.type, Struct):
            repeats = self._repeats(keys, _leaves(column.type))
            self._within |= repeats
            level = self.level(column.type.columns, keys, path + ".")
            self._within &= not repeats
            return replace(known, kind="struct", hint=level.struct, level=level, repeats=repeats)
        spelled = _spelled(column.type)
        if not spelled.endswith("[]"):
            kind, hint = _leaf(spelled, column.time)
            return replace(known, kind=kind, hint=hint, type=spelled)
        inner = _spelled(spelled[:-2])
        kind, hint = _leaf(inner, column.time)
        item = replace(known, kind=kind, hint=hint, type=inner, stored=arrow_type(inner))
        several: Any = list[Raw] if hint is Raw else list.__class_getitem__(hint | None)
        return replace(known, kind="list", hint=several | str if kind == "text" else several, item=item)


def _struct(by_key: dict[str, tuple[Field, ...]], late: Collection[str], forbid: bool) -> type[msgspec.Struct]:
    members: list[tuple[str, Any, Any]] = []
    names: dict[str, str] = {}
    for key, (first, *others) in by_key.items():
        raw = key in late or first.hint is Raw or first.repeats or first.learned
        members.append((first.attribute, Raw if raw else first.hint | None, None))
        names[first.attribute] = _UNSENT + first.attribute if UNNAMEABLE.search(key) else key
        for other in others:  # filled from the first one
            members.append((other.attribute, Any, None))
            names[other.attribute] = _UNSENT + other.attribute
    return msgspec.defstruct(
        "Record", members, rename=names, forbid_unknown_fields=forbid, gc=False, omit_defaults=True
    )


def _leaves(type: str | Struct) -> int:
    return sum(_leaves(c.type) for c in type.columns) if isinstance(type, Struct) else 1


def _spelled(type: str) -> str:
    name = type.strip().lower()
    return SYNONYMS.get(name, name)


def _leaf(type: str, time: str | None) -> tuple[str, Any]:
    """Kind and strict type of a value."""
    if type == "bigint" and time:
        return "moment", int | str
    if type in _RANGES:
        low, high = _RANGES[type]
        return "int", Annotated[int, Meta(ge=low, le=high)]
    if type == "timestamp" and time and time.startswith("epoch"):
        return "moment", int | float | str
    if type == "timestamp":
        return "moment", str
    if type == "boolean":
        return "bool", bool
    if type == "double":
        return "float", float
    if type == "float":
        return "float", Annotated[float, Meta(ge=-_FLOAT32, le=_FLOAT32)]
    if type == "json":
        return "json", Raw
    if type in ("ubigint", "hugeint") or type.startswith("decimal"):
        return "number", Raw
    return ("text" if type in ("varchar", "blob") else "checked"), str


def source_keys(table: Table) -> tuple[str, ...]:
    """Names that `sql` columns read and that no stored column has: they are keys of the record itself."""
    stored = {c.name for c in table.columns if c.sql is None}
    names: dict[str, None] = {}
    for column in table.columns:
        if column.sql is not None:
            names.update(dict.fromkeys(names_in(column.sql)))
    return tuple(name for name in names if name not in stored)


@cache
def names_in(expression: str) -> tuple[str, ...]:
    """Names of columns. Asked once: DuckDB takes a millisecond for a long one, and structs are made again and again."""
    asked = con().execute("select json_serialize_sql(cast($query as varchar))", {"query": f"select {expression}"})
    return tuple(_column_names(json.loads(asked.fetchall()[0][0])))


def _column_names(node: object) -> Iterator[str]:
    if isinstance(node, list):
        for child in node:
            yield from _column_names(child)
    elif isinstance(node, dict):
        if node.get("class") == "COLUMN_REF":
            yield node["column_names"][0]
        for child in node.values():
            yield from _column_names(child)

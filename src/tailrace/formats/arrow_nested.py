"""Typed Arrow structs → struct columns, by way of JSON: the same rules for what fits, at every depth."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import msgspec
import pyarrow as pa

from tailrace.core import Column, Jsonl, Struct, Table
from tailrace.formats.arrow_fit import as_json
from tailrace.formats.feed import Once
from tailrace.formats.fit import Texts, object_of
from tailrace.formats.json_decode import LineDecoder
from tailrace.formats.json_fit import text_of
from tailrace.formats.json_notes import MISFIT

_TOLD = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NOT_PLAIN = re.compile(r"[^0-9a-z]")


@dataclass(frozen=True, slots=True)
class Fitted:
    """Struct columns, and what is to be told beside them."""

    columns: Texts = field(default_factory=dict)
    misfits: Texts = field(default_factory=dict)
    beside: Texts = field(default_factory=dict)


class Nested:
    """Fits structs to the struct columns of a table."""

    def __init__(self, table: Table) -> None:
        self._columns = {c.name: c for c in table.columns if isinstance(c.type, Struct)}
        bare = tuple(_bare(column) for column in self._columns.values())
        self._decoder = LineDecoder(replace(table, columns=bare), Jsonl())

    def fit(self, structs: Texts, rows: int) -> Fitted:
        """Columns by name, `structs` being the values found for them."""
        if not structs or not rows:
            return Fitted()
        documents = {name: as_json(_renamed(self._columns[name], values)) for name, values in structs.items()}
        lines = object_of(documents).to_pylist()
        batches = list(self._decoder.decode(Once("\n".join(lines).encode())))
        columns = {name: pa.concat_arrays([batch.columns[name] for batch in batches]) for name in structs}
        extras: list[str | None] = []
        for batch in batches:
            extras += [None] * batch.rows if batch.extra is None else batch.extra.to_pylist()
        return Fitted(columns, *_told(extras))


def plain_name(name: str) -> str:
    """Names are the same whatever their case and whatever stands between their words."""
    return _NOT_PLAIN.sub("", name.lower())


def _bare(column: Column) -> Column:
    """The column found under its own name."""
    kind = column.type
    inner = Struct(tuple(_bare(c) for c in kind.columns)) if isinstance(kind, Struct) else kind
    return replace(column, src=None, type=inner)


def _renamed(column: Column, values: pa.Array) -> pa.Array:
    """A struct whose fields are called as the columns for which they are meant."""
    if not isinstance(column.type, Struct) or not pa.types.is_struct(values.type):
        return values
    kind = values.type
    known = {plain_name(c.src or c.name): c for c in column.type.columns}
    known |= {plain_name(c.name): c for c in column.type.columns}
    names: list[str] = []
    children: list[pa.Array] = []
    for place in range(kind.num_fields):
        name = kind.field(place).name
        meant = known.get(plain_name(name))
        free = meant is not None and meant.name not in names
        names.append(meant.name if meant is not None and free else name)
        children.append(_renamed(meant, values.field(place)) if meant is not None and free else values.field(place))
    return pa.StructArray.from_arrays(children, names, mask=values.is_null()) if children else values


def _told(extras: Iterable[str | None]) -> tuple[Texts, Texts]:
    """Misfits and other fields by name, from the JSON that holds both."""
    misfits: list[dict[str, str]] = []
    beside: list[dict[str, str]] = []
    for text in extras:
        told = {} if text is None else _TOLD.decode(text)
        wrong = _TOLD.decode(told.pop(MISFIT)) if MISFIT in told else {}
        misfits.append({name: text_of(value) or "null" for name, value in wrong.items()})
        beside.append({name: bytes(value).decode() for name, value in told.items()})
    return _by_name(misfits), _by_name(beside)


def _by_name(rows: list[dict[str, str]]) -> Texts:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: pa.array([row.get(name) for row in rows], pa.string()) for name in names}

"""The shared columns that are made from a row's own: times, addresses, and lists of names."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import At, Common, Sql, StartsWith, Table
from tailrace.formats.times import parse_times
from tailrace.pipeline.compute import Computer
from tailrace.pipeline.lists import coded, list_of, merged_lists, plain

Columns = Mapping[str, pa.Array]
LISTS = ("ips", "akas", "tags", "domains", "emails", "usernames")
_BYTE = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = rf"^(?:{_BYTE}\.){{3}}{_BYTE}$"
_PIECE = re.compile(r"[\s,]+")
_PORT = re.compile(r"^(?:\[(.*)\]|([^:]+))(?::\d+)?$")


def at_path(columns: Columns, path: str) -> pa.Array | None:
    """The array of a dotted column path, or None when no row has it."""
    name, *inner = path.split(".")
    array = columns.get(name)
    if array is None or array.null_count == len(array):
        return None
    return pc.struct_field(array, inner) if inner else array


def timestamps(columns: Columns, common: Common, rows: int) -> pa.Array:
    """tp_timestamp: the first candidate that is not null."""
    result: pa.Array | None = None
    for candidate in common.time:
        path, spelled = (candidate.path, candidate.time) if isinstance(candidate, At) else (candidate, None)
        array = at_path(columns, path)
        if array is None:
            continue
        found = plain(array) if pa.types.is_timestamp(array.type) else parse_times(array, spelled)
        result = found if result is None else pc.coalesce(result, found)
        if result.null_count == 0:
            return result
    return pa.nulls(rows, pa.timestamp("us")) if result is None else result


@lru_cache(maxsize=100_000)
def addresses_in(text: str) -> tuple[str, ...]:
    """The addresses written in a text: itself, or several with ports, as in `10.0.0.1:80, [2001:db8::1]:443`."""
    found = []
    for piece in _PIECE.split(text):
        bare = _PORT.match(piece)
        for candidate in (piece, *(g for g in (bare.groups() if bare else ()) if g)):
            try:
                ipaddress.ip_address(candidate.partition("%")[0])
            except ValueError:
                continue
            found.append(candidate)
            break
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Addresses:
    """What a column says about addresses."""

    given: pa.Array
    "The column itself, as a dictionary."
    first: pa.Array
    "Per row the address, the first of several, or null; as a dictionary."
    several: pa.Array | None = None
    "Per row all of them, where any row has more than one."


def addresses(array: pa.Array) -> _Addresses:
    """Checks the distinct texts: nearly all are one IPv4 address; the others are looked at one by one."""
    encoded = coded(array)
    words = encoded.dictionary
    good = pc.match_substring_regex(words, _IPV4)
    if pc.all(good, min_count=0).as_py():
        return _Addresses(encoded, encoded)
    pairs = zip(words.to_pylist(), good.to_pylist(), strict=True)
    found = [(word,) if ok else addresses_in(word) for word, ok in pairs]
    first = pa.array([f[0] if f else None for f in found], pa.string()).take(encoded.indices)
    several = None
    if any(len(f) > 1 for f in found):
        several = pa.array(found, pa.list_(pa.string())).take(encoded.indices)
    return _Addresses(encoded, first.dictionary_encode(), several)


class Enricher:
    """Makes the shared columns that are made from others."""

    def __init__(self, table: Table) -> None:
        self.common = table.common
        self.own = {c.name for c in table.columns if c.name.startswith("tp_")}
        "Shared columns that the table maps itself."
        texts = [c.text for kind in LISTS for c in getattr(table.common, kind) if isinstance(c, Sql)]
        self.computer = Computer(table.columns, None, texts)
        self.coded = self._coded(table)
        "Columns of addresses, which are checked by distinct value: they are handed on as dictionaries."

    def _coded(self, table: Table) -> frozenset[str]:
        texts = {c.name for c in table.columns if c.type == "varchar" and not c.unique}
        paths = (self.common.source_ip, self.common.destination_ip, *self.common.ips)
        ends = {f"tp_{name}" for name, path in self._ends() if path is not None}
        return frozenset(texts.intersection(p for p in paths if isinstance(p, str)) | (ends - self.own))

    def made(self, columns: Columns, rows: int) -> dict[str, pa.Array]:
        """Addresses and lists of names, those that any row has; and columns of addresses as dictionaries."""
        found = {path: addresses(array) for path, array in self._address_columns(columns)}
        made = {f"tp_{name}": found[path].first for name, path in self._ends() if path in found}
        computed = self.computer.common(columns, rows)
        for kind in LISTS:
            made[f"tp_{kind}"] = self._list(kind, columns, rows, computed, found)
        made |= {path: known.given for path, known in found.items() if path in self.coded}
        for name in self.own & made.keys():
            made[name] = _as_list(columns.get(name)) if name[3:] in LISTS else columns.get(name)
        return {name: array for name, array in made.items() if array is not None}

    def _address_columns(self, columns: Columns) -> Iterator[tuple[str, pa.Array]]:
        ends = [path for _, path in self._ends() if path is not None]
        for path in dict.fromkeys([*ends, *(p for p in self.common.ips if isinstance(p, str))]):
            array = at_path(columns, path)
            if array is not None and not pa.types.is_list(array.type):
                yield path, array

    def _ends(self) -> tuple[tuple[str, str | None], ...]:
        return ("source_ip", self.common.source_ip), ("destination_ip", self.common.destination_ip)

    def _list(
        self,
        kind: str,
        columns: Columns,
        rows: int,
        computed: Mapping[str, pa.Array],
        found: dict[str, _Addresses],
    ) -> pa.Array | None:
        simple: list[pa.Array] = []
        nested: list[pa.Array] = []
        for candidate in getattr(self.common, kind):
            array = _candidate(candidate, columns, computed)
            if array is None or array.null_count == rows:
                continue
            if kind == "ips" and not pa.types.is_list(array.type):
                known = found.get(str(candidate)) or addresses(array)
                array = known.first if known.several is None else known.several
            if pa.types.is_list(array.type):
                nested.append(array)
            else:
                simple.append(array)
        alone = list_of(simple, rows)
        if not nested:
            return alone
        return merged_lists(nested if alone is None else [alone, *nested], rows)


def _candidate(
    candidate: str | Sql | StartsWith, columns: Columns, computed: Mapping[str, pa.Array]
) -> pa.Array | None:
    if isinstance(candidate, Sql):
        return computed.get(candidate.text)
    if isinstance(candidate, str):
        return at_path(columns, candidate)
    array = at_path(columns, candidate.path)
    return None if array is None else _only(plain(array), candidate.text)


def _only(texts: pa.Array, beginning: str) -> pa.Array:
    return pc.if_else(pc.starts_with(texts, beginning), texts, pa.scalar(None, texts.type))


def _as_list(array: pa.Array | None) -> pa.Array | None:
    """A custom table may map a text to a list column: it becomes a list of one."""
    if array is None:
        return None
    return coded(array) if pa.types.is_list(array.type) else list_of([array], len(array))

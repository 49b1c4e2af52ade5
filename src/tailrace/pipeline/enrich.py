"""The shared columns that are made from a row's own: times, addresses, and lists of names."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import At, Common, Sql
from tailrace.formats.times import parse_times

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


def plain(array: pa.Array) -> pa.Array:
    """A dictionary array as the values it stands for."""
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


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


def valid_addresses(array: pa.Array) -> tuple[pa.Array, bool]:
    """Texts that are not one address become null; also tells whether some of those hold addresses inside."""
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    words = encoded.dictionary
    good = pc.match_substring_regex(words, _IPV4).fill_null(False)
    if pc.all(good).as_py() or not len(words):
        return plain(array), False
    mask = good.to_numpy(zero_copy_only=False).copy()
    inside = False
    for i in np.flatnonzero(~mask).tolist():
        text = words[i].as_py()
        found = addresses_in(text) if text else ()
        mask[i] = found == (text,)
        inside = inside or (bool(found) and not mask[i])
    kept = pc.if_else(pa.array(mask), words, pa.scalar(None, words.type))
    return kept.take(encoded.indices), inside


def address_column(columns: Columns, path: str | None) -> pa.Array | None:
    """tp_source_ip or tp_destination_ip: the column where it holds an address."""
    array = at_path(columns, path) if path else None
    return None if array is None else valid_addresses(array)[0]


def list_of(candidates: list[pa.Array], rows: int) -> pa.Array | None:
    """One list per row of the candidates' values, in order, each once, without nulls and empty texts."""
    candidates = [c for c in candidates if c.null_count < rows]
    if not candidates:
        return None
    wanted = [pc.and_kleene(c.is_valid(), pc.not_equal(c, "")).fill_null(False) for c in candidates]
    for later in range(1, len(candidates)):
        for earlier in range(later):
            same = pc.equal(candidates[later], candidates[earlier]).fill_null(False)
            wanted[later] = pc.and_not(wanted[later], same)
    grid = np.stack([w.to_numpy(zero_copy_only=False) for w in wanted], axis=1)
    counts = grid.sum(axis=1, dtype=np.int32)
    offsets = np.zeros(rows + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    row, which = np.nonzero(grid)
    values = pa.concat_arrays(candidates)
    if not (len(candidates) == 1 and len(row) == rows):
        values = values.take(pa.array(which * rows + row))
    empty = pa.array(counts == 0) if (counts == 0).any() else None
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=empty)


def merged_lists(lists: list[pa.Array], rows: int) -> pa.Array | None:
    """Several list columns as one, each value once per row, in order of appearance."""
    if len(lists) < 2:
        return lists[0] if lists else None
    owners = np.concatenate([pc.list_parent_indices(column).to_numpy() for column in lists])
    values = pa.concat_arrays([column.flatten() for column in lists])
    order = np.argsort(owners, kind="stable")
    owners, values = owners[order], values.take(pa.array(order))
    codes = values.dictionary_encode().indices.fill_null(-1).to_numpy()
    pairs = owners.astype(np.int64) * (len(values) + 1) + codes
    _, first = np.unique(pairs, return_index=True)
    first.sort()
    owners, values = owners[first], values.take(pa.array(first))
    counts = np.bincount(owners, minlength=rows)
    offsets = np.zeros(rows + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    empty = pa.array(counts == 0) if (counts == 0).any() else None
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=empty)


def without_blanks(column: pa.Array) -> pa.Array | None:
    """A list column from SQL, its null and empty elements dropped; None when nothing is left."""
    if not pa.types.is_list(column.type):
        return list_of([plain(column).cast(pa.string())], len(column))
    values = column.flatten().cast(pa.string())
    keep = pc.and_kleene(values.is_valid(), pc.not_equal(values, "")).fill_null(False)
    owners = pc.list_parent_indices(column).filter(keep).to_numpy()
    if not len(owners):
        return None
    counts = np.bincount(owners, minlength=len(column))
    offsets = np.zeros(len(column) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), values.filter(keep), mask=pa.array(counts == 0))


def _spread_addresses(array: pa.Array) -> pa.Array | None:
    texts = plain(array).to_pylist()
    column = pa.array([addresses_in(t) if t else None for t in texts], pa.list_(pa.string()))
    return without_blanks(column)


def name_lists(
    columns: Columns, common: Common, rows: int, computed: Mapping[str, pa.Array]
) -> Iterable[tuple[str, pa.Array]]:
    """tp_ips, tp_akas … for those that any row has; `computed` holds the results of `Sql` candidates by text."""
    for kind in LISTS:
        simple: list[pa.Array] = []
        nested: list[pa.Array] = []
        for candidate in getattr(common, kind):
            array = computed.get(candidate.text) if isinstance(candidate, Sql) else at_path(columns, candidate)
            if array is None or array.null_count == rows:
                continue
            if pa.types.is_list(array.type):
                nested.append(array)
                continue
            inside = False
            if kind == "ips":
                array, inside = valid_addresses(array)
            if inside:
                nested.append(_spread_addresses(at_path(columns, str(candidate))))
            else:
                simple.append(plain(array))
        lists = [v for v in (list_of(simple, rows), *map(_clean, nested)) if v is not None]
        merged = merged_lists(lists, rows)
        if merged is not None:
            yield f"tp_{kind}", merged


def _clean(column: pa.Array | None) -> pa.Array | None:
    return None if column is None else without_blanks(column)

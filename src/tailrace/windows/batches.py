"""Tables cut into batches that can be written: ids count from zero, rows of a resource and scope are neighbours."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.windows.schema import ATTRS, LOGS, RESOURCE, SCOPE, Tables

LARGEST_BATCH = 65_535
"Logs, and ids of any kind, in one batch of OTAP."
_WORTH, _PIECES = 32_768, 4
"From so many logs on the number of batches is a multiple of this, so that several can be written at a time."
T = TypeVar("T")
R = TypeVar("R")
Ids = npt.NDArray[np.int64]
_NONE = -1


def batches(tables: Tables, limit: int = LARGEST_BATCH) -> Iterator[Tables]:
    """The logs of one partition in batches of at most `limit`; no log is split, every parent is in its batch."""
    resources, scopes = struct_ids(tables.logs, "resource"), struct_ids(tables.logs, "scope")
    order = np.lexsort((scopes, resources))
    ordered = bool((np.diff(order) == 1).all())
    by_parent = _ByParent.of(tables.log_attrs)
    of_resources, of_scopes = _ByParent.of(tables.resource_attrs), _ByParent.of(tables.scope_attrs)
    for start in range(0, len(order), limit):
        rows = order[start : start + limit]
        logs = tables.logs.slice(start, limit) if ordered else tables.logs.take(pa.array(rows))
        yield _dense(logs, by_parent, of_resources, of_scopes)


def even(count: int, limit: int) -> int:
    """The size of batches of which none is larger than `limit`, and none much smaller than the others.

    It is the same on every machine: so are results.
    """
    if count < _WORTH:
        return limit
    batches = -(-count // limit)
    return -(-count // (-(-batches // _PIECES) * _PIECES))


def in_order(make: Callable[[T], R], things: Iterable[T], threads: int = 1) -> Iterator[R]:
    """What is made of each, by several threads; not more than those are waited for, whatever there is to make."""
    if threads == 1:
        yield from map(make, things)
        return
    with ThreadPoolExecutor(threads, "window-batches") as pool:
        waiting: deque[Future[R]] = deque()
        for thing in things:
            waiting.append(pool.submit(make, thing))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class _ByParent:
    """Attributes ordered by parent."""

    def __init__(self, table: pa.Table, parents: Ids) -> None:
        self.table, self.parents = table, parents

    @classmethod
    def of(cls, table: pa.Table) -> _ByParent:
        if table["parent_id"].null_count:
            table = table.filter(table["parent_id"].is_valid())
        parents = filled(table["parent_id"])
        if (parents[1:] < parents[:-1]).any():
            order = np.argsort(parents, kind="stable")
            table, parents = table.take(pa.array(order)), parents[order]
        return cls(table, parents)

    def among(self, known: Ids) -> tuple[pa.Table, Ids]:
        """Attributes of these parents, which are ordered, under their numbers among them; and who has any."""
        starts, ends = np.searchsorted(self.parents, known), np.searchsorted(self.parents, known, side="right")
        counts = ends - starts
        owners = np.repeat(np.arange(len(known)), counts)
        if len(known) and (starts[1:] == ends[:-1]).all():
            # They lie behind each other already: nothing is copied.
            return self.table.slice(int(starts[0]), int(ends[-1] - starts[0])), owners
        firsts = np.cumsum(counts) - counts
        places = np.arange(len(owners)) + np.repeat(starts - firsts, counts)
        return self.table.take(pa.array(places)), owners


def _dense(logs: pa.Table, of_logs: _ByParent, of_resources: _ByParent, of_scopes: _ByParent) -> Tables:
    ids = filled(logs["id"])
    # Rows are not ordered by id where partitions were sampled; attributes are to follow the rows.
    known, places = _distinct(ids)
    attributes, owners = of_logs.among(known)
    rows = _first_rows(places, len(known))
    having = np.zeros(len(ids), bool)
    having[rows[owners]] = True
    numbers = np.where(having, np.cumsum(having) - 1, _NONE)
    log_attrs = _renumbered(attributes, numbers[rows[owners]])
    resource, resource_attrs = _dense_struct(logs, "resource", RESOURCE, of_resources)
    scope, scope_attrs = _dense_struct(logs, "scope", SCOPE, of_scopes)
    columns = {name: logs[name] for name in LOGS.names}
    columns |= {"id": _array(numbers), "resource": resource, "scope": scope}
    table = pa.table([columns[name] for name in LOGS.names], schema=LOGS)
    return Tables(table, log_attrs, resource_attrs, scope_attrs)


def _distinct(ids: Ids) -> tuple[Ids, Ids]:
    """Ids in order, and where each of the given ones is among them; mostly they are in order already."""
    steps = np.diff(ids)
    if (steps < 0).any():
        return np.unique(ids, return_inverse=True)
    new = np.concatenate([np.ones(min(len(ids), 1), bool), steps > 0])
    return ids[new], np.cumsum(new) - 1


def _first_rows(places: Ids, count: int) -> Ids:
    rows = np.zeros(count, np.int64)
    rows[places[::-1]] = np.arange(len(places))[::-1]
    return rows


def _dense_struct(logs: pa.Table, name: str, kind: pa.StructType, held: _ByParent) -> tuple[pa.Array, pa.Table]:
    ids = struct_ids(logs, name)
    known, places = _distinct(ids)
    shift = 1 if len(known) and known[0] == _NONE else 0
    attributes, owners = held.among(known[shift:])
    array = logs[name].combine_chunks()
    parts = [_array(places - shift), *(pc.struct_field(array, [n]) for n in range(1, kind.num_fields))]
    return pa.StructArray.from_arrays(parts, fields=list(kind)), _renumbered(attributes, owners)


def _renumbered(attributes: pa.Table, parents: Ids) -> pa.Table:
    changed = attributes.set_column(0, ATTRS.field(0), _array(parents))
    ordered: pa.Table = changed
    if (parents[1:] < parents[:-1]).any():
        ordered = changed.take(pa.array(np.argsort(parents, kind="stable")))
    return ordered.select(ATTRS.names).cast(ATTRS)


def struct_ids(logs: pa.Table, name: str) -> Ids:
    """Ids of resources or scopes by log; -1 for none."""
    return filled(pc.struct_field(logs[name], "id"))


def filled(ids: pa.ChunkedArray) -> Ids:
    wide = ids.cast(pa.int64())
    found: Ids = (wide.fill_null(_NONE) if wide.null_count else wide).to_numpy()
    return found


def _array(ids: Ids) -> pa.Array:
    return pa.array(ids, mask=ids < 0).cast(pa.uint32())

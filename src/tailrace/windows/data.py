"""The rows of one window: tables for SQL, and the same rows ready to be written again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.windows.batches import filled, struct_ids
from tailrace.windows.files import file_number
from tailrace.windows.finding import Ids, distinct, places
from tailrace.windows.reading import Part, effective_times
from tailrace.windows.schema import ATTRS, KEYED, LOGS, PART_ID, RESOURCE, SCOPE, Tables, fitted
from tailrace.windows.views import BARE, HIDDEN, ROW, ROWS_OF, TIMESTAMP, VIEW_SCHEMAS

ROW_BITS = 28
"Of the ids of logs that have none: which row of its file a log is."
_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class WindowData:
    """What a window's query sees, and what its result is put together from."""

    logs: pa.Table
    log_attrs: pa.Table
    resource_attrs: pa.Table
    scope_attrs: pa.Table
    undated: int
    "Logs without any time."
    unresolved: int

    def whole(self, rows: Ids, attributes: pa.Table) -> Tables:
        """Logs by row, to be written: their ids are row numbers, as those are that the attributes have as parents."""
        logs = self.logs if len(rows) == len(self.logs) else self.logs.take(pa.array(rows))
        columns = {
            field.name: logs[field.name].cast(field.type) for field in LOGS if field.name not in ("id", *ROWS_OF)
        }
        columns["id"] = pa.array(rows, pa.uint32())
        for kind, struct in (("resource", RESOURCE), ("scope", SCOPE)):
            array = logs[kind].combine_chunks()
            inner = [
                logs[ROWS_OF[kind]].combine_chunks(),
                *(pc.struct_field(array, [n]) for n in range(1, struct.num_fields)),
            ]
            columns[kind] = pa.StructArray.from_arrays(inner, fields=list(struct))
        shared = (
            fitted(table.set_column(0, "parent_id", table[ROW]), ATTRS)
            for table in (self.resource_attrs, self.scope_attrs)
        )
        return Tables(pa.table([columns[name] for name in LOGS.names], schema=LOGS), attributes, *shared)


def load(parts: Iterable[Part], start: int, end: int, *, keep_undated: bool = True) -> WindowData:
    """The logs whose time is in `[start, end)`, in nanoseconds.

    A log without a time of its own has the one at which it was observed; without either, that of its file.
    """
    gathered = _Gathered()
    for part in parts:
        times, undated = effective_times(part.tables.logs, part.file.created_ms, keep_undated)
        inside = (times >= start) & (times < end)
        gathered.undated += int((undated & inside).sum())
        if inside.any():
            gathered.add(part, times, inside)
    return gathered.done()


def synthetic_ids(name: str, rows: Ids) -> Ids:
    """Ids for logs that have none: negative, the same whatever files are listed beside theirs."""
    if len(rows) and rows[-1] >= 1 << ROW_BITS:
        raise ValueError(f"{name} has more than {1 << ROW_BITS} rows")
    found: Ids = -1 - ((file_number(name) << ROW_BITS) | rows)
    return found


class _Gathered:
    """Parts put together under ids that no two of them share."""

    def __init__(self) -> None:
        self.undated = self.unresolved = 0
        self._views: dict[str, list[pa.Table]] = {name: [] for name in VIEW_SCHEMAS}
        self._next = {"resource": 0, "scope": 0}

    def add(self, part: Part, times: Ids, inside: _Mask) -> None:
        logs = part.tables.logs
        own = filled(logs["id"])
        ids = np.where(own < 0, synthetic_ids(part.file.name, part.rows), own)
        chosen = _rows_of(logs, inside)
        if len(chosen) < len(logs):
            own, ids, times = own[inside], ids[inside], times[inside]
        self.unresolved += int((struct_ids(chosen, "resource") < 0).sum()) if part.unresolved else 0
        view = {
            PART_ID: _repeated(part.part_id, len(chosen)),
            **{name: chosen[name] for name in LOGS.names},
            "id": pa.array(ids),
            "otap_id": pa.array(own, mask=own < 0),
            TIMESTAMP: pa.array(times),
        }
        for name in ("time_unix_nano", "observed_time_unix_nano"):
            view[name] = chosen[name].cast(pa.int64())
        view[BARE] = pa.array(~self._add_attributes("log_attrs", part, own, times))
        for kind, row in ROWS_OF.items():
            local = struct_ids(chosen, kind)
            known = distinct(local)
            numbers = self._next[kind] + np.arange(len(known), dtype=np.uint32)
            view[f"{kind}_id"] = pa.array(local, mask=local < 0)
            view[row] = pa.array((places(local, known) + self._next[kind]).astype(np.uint32), mask=local < 0)
            self._add_attributes(f"{kind}_attrs", part, known, numbers)
            self._next[kind] += len(known)
        self._views["logs"].append(pa.table(view))

    def _add_attributes(self, name: str, part: Part, parents: Ids, told: npt.NDArray[np.generic]) -> _Mask:
        """Those of these parents, each with what is told of its parent; returns which of them have any."""
        table = fitted(part.tables.of(name), KEYED)
        held = filled(table["parent_id"])
        found = places(held, parents)
        inside = (found >= 0) & (held >= 0)
        chosen = _rows_of(table, inside)
        if len(chosen) < len(table):
            held, found = held[inside], found[inside]
        view = chosen.set_column(0, "parent_id", pa.array(held))
        view = view.append_column(PART_ID, _repeated(part.part_id, len(chosen)))
        self._views[name].append(view.append_column(HIDDEN[name][0], pa.array(told[found])))
        having = np.zeros(len(parents), bool)
        having[found] = True
        return having

    def done(self) -> WindowData:
        logs, log_attrs, resource_attrs, scope_attrs = (_joined(tables, name) for name, tables in self._views.items())
        return WindowData(logs, log_attrs, resource_attrs, scope_attrs, self.undated, self.unresolved)


def _rows_of(table: pa.Table, chosen: _Mask) -> pa.Table:
    """Mostly files are cut as windows are, and all rows are chosen: nothing is copied then."""
    return table if chosen.all() else table.filter(pa.array(chosen))


def _repeated(part_id: str, count: int) -> pa.Array:
    """The same text for every row, which is there once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([part_id]))


def _joined(tables: list[pa.Table], name: str) -> pa.Table:
    return pa.concat_tables(tables) if tables else VIEW_SCHEMAS[name].empty_table()

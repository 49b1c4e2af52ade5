"""The part of files that one window is about: which files, which of their row groups, which rows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tailrace.lake.place import Place
from tailrace.windows.files import OtapFile, damage_told, opened, read_groups
from tailrace.windows.footers import Range, group_ranges, overlap
from tailrace.windows.reading import Ids, Part, effective_times, of_parents, parents_of, read_parts
from tailrace.windows.schema import ATTRIBUTES, KEYED, LOGS, Tables

_LEFT_OPEN = 32
"Files that a reader leaves open for the next window."
T = TypeVar("T")
R = TypeVar("R")
_Key = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Source:
    """A file of logs, and the files that can hold attributes of theirs."""

    file: OtapFile
    ours: bool
    "Otherwise all that was written before it has to be read too."
    attributes: tuple[tuple[OtapFile, ...], ...] = ()
    "By table."


class _Opened:
    """A file that is read by several windows, and what its footer says of its row groups."""

    def __init__(self, base: Place, file: OtapFile) -> None:
        self.parquet = opened(base, file, keyed=True)
        with damage_told(base, file):
            metadata = self.parquet.metadata
            column = "time_unix_nano" if file.table == "logs" else "parent_id"
            self.ranges = group_ranges(metadata, column, complete=file.table == "logs")
            sizes = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
            self.firsts = np.cumsum([0, *sizes])

    def groups_of_time(self, start: int, end: int) -> list[int]:
        """Row groups that can hold logs of a window; where some have no time, other columns decide."""
        wanted = (start, end - 1)
        return [n for n, held in enumerate(self.ranges) if held is None or held[0] <= 0 or overlap(held, wanted)]

    def row_numbers(self, groups: list[int]) -> Ids:
        parts = [np.arange(self.firsts[n], self.firsts[n + 1]) for n in groups]
        found: Ids = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        return found


class Reader:
    """Reads for some windows, one after the other; files stay open, as windows that follow each other share them."""

    def __init__(self, base: Place, *, keep_undated: bool = True, at_once: int = 1, threads: int = 1) -> None:
        self._base, self._keep_undated, self._threads = base, keep_undated, threads
        # On disk a second thread gains nothing: windows are what is spread.
        self._at_once = 1 if base.is_local else at_once
        # Tables of this window and of the one before it: windows that follow each other often share them.
        self._kept: dict[_Key, pa.Table] = {}
        self._before: dict[_Key, pa.Table] = {}
        self._open: OrderedDict[str, _Opened] = OrderedDict()

    def close(self) -> None:
        self._close_all_but(0)

    def parts(self, sources: Iterable[Source], start: int, end: int) -> Iterator[Part]:
        """What there is for `[start, end)`; rows of other times may be with it."""
        given = list(sources)
        self._kept, self._before = {}, self._kept
        own = [source for source in given if source.ours]
        found = self._each(lambda source: self._logs(source.file, start, end), own)
        wanted = [parents_of(logs) for logs, _ in found]
        asked = [
            (file, ranges[name])
            for source, ranges in zip(own, wanted, strict=True)
            for name, files in zip(ATTRIBUTES, source.attributes, strict=True)
            for file in files
        ]
        tables = iter(self._each(lambda one: self._attributes(*one), asked))
        for source, (logs, rows), ranges in zip(own, found, wanted, strict=True):
            attributes = [
                of_parents(list(islice(tables, len(files))), ranges[name], KEYED)
                for name, files in zip(ATTRIBUTES, source.attributes, strict=True)
            ]
            yield Part(source.file.part_id, source.file, Tables(logs, *attributes), 0, rows)
        self._close_all_but(_LEFT_OPEN)
        self._before = {}
        foreign = {source.file.name for source in given if not source.ours}
        if foreign:
            yield from read_parts(self._base, foreign)

    def _each(self, read: Callable[[T], R], things: list[T]) -> list[R]:
        if self._at_once == 1 or len(things) < 2:
            return [read(thing) for thing in things]
        with ThreadPoolExecutor(min(self._at_once, len(things)), "window-files") as pool:
            return list(pool.map(read, things))

    def _logs(self, file: OtapFile, start: int, end: int) -> tuple[pa.Table, Ids]:
        held = self._opened(file)
        groups = held.groups_of_time(start, end)
        logs, rows = self._table(held, file, groups), held.row_numbers(groups)
        times, _ = effective_times(logs, file.created_ms, self._keep_undated)
        inside = (times >= start) & (times < end)
        return (logs, rows) if inside.all() else (logs.filter(pa.array(inside)), rows[inside])

    def _attributes(self, file: OtapFile, wanted: Range | None) -> pa.Table:
        if wanted is None:
            return KEYED.empty_table()
        held = self._opened(file)
        groups = [n for n, one in enumerate(held.ranges) if overlap(one, wanted)]
        return self._table(held, file, groups)

    def _opened(self, file: OtapFile) -> _Opened:
        found = self._open.get(file.name)
        if found is None:
            found = self._open[file.name] = _Opened(self._base, file)
        return found

    def _close_all_but(self, count: int) -> None:
        while len(self._open) > count:
            self._open.popitem(last=False)[1].parquet.close()

    def _table(self, held: _Opened, file: OtapFile, groups: list[int]) -> pa.Table:
        key = (file.name, tuple(groups))
        found = self._kept.get(key, self._before.get(key))
        if found is None:
            with damage_told(self._base, file):
                schema = LOGS if file.table == "logs" else KEYED
                found = read_groups(held.parquet, schema, groups, threads=self._threads > 1)
        self._kept[key] = found
        return found

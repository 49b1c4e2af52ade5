"""The part of files that one window is about: which files, which of their row groups, which rows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.lake.place import Place
from tailrace.windows.files import OtapFile, damage_told, opened, read_groups
from tailrace.windows.footers import Range, group_ranges, overlap
from tailrace.windows.reading import Ids, Part, effective_times, of_parents, parents_of, read_parts
from tailrace.windows.schema import ATTRIBUTES, Tables

_KEPT = 8
"Tables that a reader remembers: windows that follow each other often share them."


@dataclass(frozen=True, slots=True)
class Source:
    """A file of logs, and the files that can hold attributes of theirs."""

    file: OtapFile
    ours: bool
    "Otherwise all that was written before it has to be read too."
    attributes: tuple[tuple[OtapFile, ...], ...] = ()
    "By table."


class Reader:
    """Reads for some windows, one after the other."""

    def __init__(self, base: Place, *, keep_undated: bool = True) -> None:
        self._base, self._keep_undated = base, keep_undated
        self._kept: OrderedDict[tuple[str, tuple[int, ...]], pa.Table] = OrderedDict()

    def parts(self, sources: Iterable[Source], start: int, end: int) -> Iterator[Part]:
        """What there is for `[start, end)`; rows of other times may be with it."""
        foreign = set()
        for source in sources:
            if source.ours:
                yield self._own(source, start, end)
            else:
                foreign.add(source.file.name)
        if foreign:
            yield from read_parts(self._base, foreign)

    def _own(self, source: Source, start: int, end: int) -> Part:
        with opened(self._base, source.file) as parquet, damage_told(self._base, source.file):
            groups = _groups_of_time(parquet.metadata, start, end)
            logs = self._table(parquet, source.file, groups)
            rows = _row_numbers(parquet.metadata, groups)
        times, _ = effective_times(logs, source.file.created_ms, self._keep_undated)
        inside = (times >= start) & (times < end)
        logs, rows = logs.filter(pa.array(inside)), rows[inside]
        wanted = parents_of(logs)
        attributes = [
            of_parents([self._attributes(file, wanted[name]) for file in files], wanted[name])
            for name, files in zip(ATTRIBUTES, source.attributes, strict=True)
        ]
        return Part(source.file.part_id, source.file, Tables(logs, *attributes), 0, rows)

    def _attributes(self, file: OtapFile, wanted: Range | None) -> pa.Table:
        with opened(self._base, file) as parquet, damage_told(self._base, file):
            ranges = group_ranges(parquet.metadata, "parent_id") if wanted is not None else []
            groups = [n for n, held in enumerate(ranges) if wanted is not None and overlap(held, wanted)]
            return self._table(parquet, file, groups)

    def _table(self, parquet: pq.ParquetFile, file: OtapFile, groups: list[int]) -> pa.Table:
        key = (file.name, tuple(groups))
        if key in self._kept:
            self._kept.move_to_end(key)
        else:
            self._kept[key] = read_groups(parquet, file.table, groups)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]


def _groups_of_time(metadata: pq.FileMetaData, start: int, end: int) -> list[int]:
    """Row groups that can hold logs of a window; where some have no time, other columns decide."""
    ranges = group_ranges(metadata, "time_unix_nano")
    wanted = (start, end - 1)
    return [n for n, held in enumerate(ranges) if held is None or held[0] <= 0 or overlap(held, wanted)]


def _row_numbers(metadata: pq.FileMetaData, groups: list[int]) -> Ids:
    sizes = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
    firsts = np.cumsum([0, *sizes])
    parts = [np.arange(firsts[n], firsts[n + 1]) for n in groups]
    found: Ids = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    return found

"""Rows of a day whose `tp_index` is found out anew: each value has files of its own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.lake.paths import stored_value
from tailrace.lake.reindexing import NONE
from tailrace.pipeline.enrich import at_path
from tailrace.pipeline.job import WrittenFile
from tailrace.pipeline.lists import plain
from tailrace.pipeline.merged_files import MergedFiles, Shape, filled, fitted, whole

_TIME, _INDEX = "tp_timestamp", "tp_index"


def indexes(rows: pa.Table, shape: Shape) -> pa.Array:
    """The value that a collection would give each row now."""
    name = (shape.index or "").partition(".")[0]
    found = None
    if shape.index is not None and name in rows.column_names:
        column = whole(fitted(rows.select([name]), shape.schema).column(0))
        found = at_path({name: column}, shape.index)
    if found is None:
        return pa.repeat(pa.scalar(NONE), rows.num_rows)
    # Few values, many rows.
    coded = plain(found).cast(pa.string()).dictionary_encode(null_encoding="encode")
    values = pa.array([stored_value(value) for value in coded.dictionary.to_pylist()], pa.string())
    return values.take(coded.indices)


class IndexedFiles:
    """The files of one day, index by index: as `MergedFiles`, which has those of one."""

    def __init__(self, shape: Shape, day: date, name: str, rows: int) -> None:
        self.shape, self.day, self.name, self.left = shape, day, name, rows
        self._begun: list[MergedFiles] = []

    def write_all(self, rows: pa.Table) -> None:
        """All rows of the day, in any order."""
        values = indexes(rows, self.shape)
        keys = pa.table({"index": values, "time": rows.column(_TIME)})
        order = pc.sort_indices(keys, sort_keys=[("index", "ascending"), ("time", "ascending")])
        for index, some in _runs(rows.take(order), values.take(order)):
            self._write(index, filled(some))

    def write(self, rows: pa.Table) -> None:
        """More rows, by index and time."""
        for index, some in _runs(rows, indexes(rows, self.shape)):
            self._write(index, some)

    def _write(self, index: str, rows: pa.Table) -> None:
        if not self._begun or self._begun[-1].index != index:
            if self._begun:
                self._begun[-1].close()
            name = f"{self.name}-{len(self._begun)}"
            self._begun.append(MergedFiles(self.shape, index, self.day, name, self.left))
        number = rows.column_names.index(_INDEX)
        told = pa.repeat(pa.scalar(index), rows.num_rows)
        self.left -= rows.num_rows
        self._begun[-1].write(fitted(rows.set_column(number, _INDEX, told), self.shape.schema))

    def close(self) -> list[WrittenFile]:
        """As of `MergedFiles`."""
        if self._begun:
            self._begun[-1].close()
        return [file for files in self._begun for file in files.files]

    def discard(self) -> None:
        """Nothing of it stays."""
        for files in self._begun:
            files.discard()


def _runs(rows: pa.Table, values: pa.Array) -> Iterator[tuple[str, pa.Table]]:
    """Neighbours with the same value."""
    codes = values.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    edges = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    for start, end in pairwise(edges):
        if start < end:
            yield values[start].as_py(), rows.slice(start, end - start)

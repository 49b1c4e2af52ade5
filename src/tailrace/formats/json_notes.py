"""What is to be told of records beside their columns, gathered while they are decoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Raw

from tailrace.formats.json_struct import Field, Keys

REPAIRED = "tp_record"
"Under `tp_misfit`: the record itself was not JSON and has been repaired."
MISFIT = "tp_misfit"
Tree = dict[str, Any]


class Notes:
    """What is to be told of the rows of a batch beside their columns, and which places keep coming up."""

    def __init__(self, keep: tuple[str, ...]) -> None:
        self._keeps_all = "*" in keep
        self._keep = keep
        self.unknowns: dict[int, Tree] = {}
        self.misfits: dict[int, dict[str, Any]] = {}
        self.seen: Counter[Keys] = Counter()
        self.distinct: dict[Keys, tuple[int, int]] = {}
        "Objects that are taken to repeat: how many there were, and how many of them differ."

    def of_distinct(self) -> Notes:
        """Notes on values that stand for many rows each."""
        return Notes(self._keep)

    def spread(self, notes: Notes, numbers: npt.NDArray[np.int64]) -> None:
        """Takes over notes on distinct values; `numbers` are which of them a row has, -1 for none."""
        for number in notes.unknowns.keys() | notes.misfits.keys():
            for row in np.flatnonzero(numbers == number).tolist():
                if number in notes.unknowns:
                    _merge(self.unknowns.setdefault(row, {}), notes.unknowns[number])
                for path, value in notes.misfits.get(number, {}).items():
                    self.mark(row, path, value)

    def keeps(self, keys: Keys) -> bool:
        """Is a field without a column kept?"""
        return self._keeps_all or any(fnmatchcase(".".join(keys), glob) for glob in self._keep)

    def unknown(self, row: int, keys: Keys, value: Raw) -> None:
        """A key without a column, kept at its own place."""
        self.seen[keys] += 1
        if not self.keeps(keys):
            return
        if keys == (MISFIT,):  # the record's own key of that name gives way
            return self.mark(row, MISFIT, value)
        self.put(row, keys, value)

    def put(self, row: int, keys: Keys, value: Raw) -> None:
        """A value that is told of a row."""
        tree = self.unknowns.setdefault(row, {})
        for key in keys[:-1]:
            tree = tree.setdefault(key, {})
        tree[keys[-1]] = value

    def misfit(self, row: int, field: Field, value: Any) -> None:
        """A value that its column cannot hold, kept as it was sent."""
        self.seen[field.keys] += 1
        self.mark(row, field.path, value)

    def mark(self, row: int, path: str, value: Any) -> None:
        self.misfits.setdefault(row, {})[path] = value

    def forget(self, row: int) -> None:
        self.unknowns.pop(row, None)
        self.misfits.pop(row, None)

    def told(self) -> Iterator[tuple[int, Tree]]:
        """Rows that have anything to tell, with what becomes their `tp_extra`."""
        for row in self.unknowns.keys() | self.misfits.keys():
            misfits = self.misfits.get(row)
            yield row, {**self.unknowns.get(row, {}), **({MISFIT: misfits} if misfits else {})}


def _merge(tree: Tree, other: Tree) -> None:
    """Takes over the other's values, not its objects: those stand for many rows."""
    for key, value in other.items():
        if isinstance(value, dict):
            _merge(tree.setdefault(key, {}), value)
        else:
            tree[key] = value

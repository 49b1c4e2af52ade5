"""What footers say of bloom filters, kept in the cache directory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tailrace.core.errors import LakeError
from tailrace.lake.kept import Kept, Part, Texts, keep, numbers

Filters = tuple[tuple[int, int], ...]
"Of a column in one file: where each row group's filter begins, and of how many blocks it is."
_FORM = f"1 {sys.byteorder}"
"Another one when what is kept changes, so that nothing is read which another release wrote."
_PATHS, _ENDS, _STARTS, _BLOCKS = "paths", "ends", "starts", "blocks"


class Footers:
    """By path of a file, and by column."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.noted: dict[str, dict[str, Filters]] = {}
        "What was read just now."
        self._kept = self._loaded()
        self._columns: dict[str, tuple[Sequence[int], Sequence[int], Sequence[int]]] = {}

    def _loaded(self) -> Kept | None:
        kept = Kept.load(self.place)
        self._places: dict[str, int] = {}
        "Where a file stands among those that were kept."
        if kept is None or kept.about != _FORM:
            return None
        try:
            paths = Texts(kept.numbers(f"{_ENDS}:"), kept.read(_PATHS))
            self._places = {path: place for place, path in enumerate(paths)}
        except (ValueError, TypeError, LookupError, LakeError):
            return None
        return kept

    @property
    def paths(self) -> list[str]:
        """All files of which something is known."""
        return [*self._places, *(path for path in self.noted if path not in self._places)]

    def knows(self, path: str) -> bool:
        """Has its footer been read, with or without filters in it?"""
        return path in self._places or path in self.noted

    def note(self, path: str, filters: dict[str, Filters]) -> None:
        """What its footer says."""
        self.noted[path] = filters

    def columns_of(self, path: str) -> set[str]:
        """Those that have filters in this file."""
        return {column for column in self._names(path) if self.filters(column, path)}

    def filters(self, column: str, path: str) -> Filters:
        """None where nothing is known of the file, or it has none for this column."""
        if path in self.noted:
            return self.noted[path].get(column, ())
        place = self._places.get(path)
        if place is None:
            return ()
        ends, starts, blocks = self._column(column)
        first, last = ends[place], ends[place + 1]
        return tuple(zip(starts[first:last], blocks[first:last], strict=True))

    def keep(self, is_there: Callable[[str], bool]) -> None:
        """All of it for the next process, without files that are gone."""
        paths = [path for path in self.paths if is_there(path)]
        texts = [path.encode() for path in paths]
        parts = {_PATHS: Part(_PATHS, b"".join(texts)), f"{_ENDS}:": _ends(map(len, texts))}
        for column in sorted({column for path in paths for column in self._names(path)}):
            found = [self.filters(column, path) for path in paths]
            parts[f"{_ENDS}:{column}"] = _ends(map(len, found))
            parts[f"{_STARTS}:{column}"] = Part(_STARTS, numbers([start for some in found for start, _ in some]))
            parts[f"{_BLOCKS}:{column}"] = Part(_BLOCKS, numbers([size for some in found for _, size in some]))
        keep(self.place, _FORM, parts)

    def _names(self, path: str) -> list[str]:
        """Columns that may have filters in this file."""
        if path in self.noted:
            return list(self.noted[path])
        if self._kept is None or path not in self._places:
            return []
        prefix = f"{_STARTS}:"
        return [name.removeprefix(prefix) for name in self._kept.kinds if name.startswith(prefix)]

    def _column(self, name: str) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
        """Of all files that were kept: how many filters there are up to each, where they begin, how long they are."""
        if name not in self._columns:
            none: Sequence[int] = [0] * (len(self._places) + 1)
            found: tuple[Sequence[int], Sequence[int], Sequence[int]] = (none, (), ())
            if self._kept is not None and f"{_STARTS}:{name}" in self._kept.kinds:
                ends, starts, blocks = (self._kept.numbers(f"{part}:{name}") for part in (_ENDS, _STARTS, _BLOCKS))
                if len(ends) != len(none) or len(starts) != ends[-1] or len(blocks) != ends[-1]:
                    raise self._kept.damaged()
                found = (ends, starts, blocks)
            self._columns[name] = found
        return self._columns[name]


def _ends(lengths: map[int]) -> Part:
    """Where each of them ends, behind a first that begins at 0."""
    ends = [0]
    for length in lengths:
        ends.append(ends[-1] + length)
    return Part(_ENDS, numbers(ends))

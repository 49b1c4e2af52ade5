"""The newest version of a large table, kept in the cache directory: its log is not read again until the next commit.

To read the log of a table of some thousand files takes a third of a second, most of it to unpack statistics, and Arrow
and delta-rs have to be loaded first, which takes as long again. What is kept is found by the newest entry of the log,
which is never changed, and read without either.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from tailrace.lake.kept import NUMBERS, REALS, Kept, Part, Texts, keep, place_of
from tailrace.lake.listing import BOOLEAN, DECIMAL, REAL, REAL32, TEXT, Columns, Files, Listing, Shape
from tailrace.lake.paths import Lake
from tailrace.lake.place import Place
from tailrace.lake.stored import LOG, large_checkpoint

KEEP_FROM = 8
"Files: what reads the log takes as long to load as the log of a thousand files to read."
ENDS, VALID = "ends", "valid"
"Parts of a column besides its values: where texts begin and end, and which values there are."
_SCHEMA = "schema"
_ENTRY = re.compile(r"\d{20}\.json")
_FORM = 2
"Raised when what is kept of a version changes, so that nothing is read which another release wrote."


def kept_snapshot(lake: Lake, table: str) -> Listing:
    """The latest version of a table."""
    root = lake.table_root(table)
    if not root.is_local:
        return _read(lake, table)
    newest = _newest(root)
    found = None if newest is None else _load(newest, table, root)
    return found or _logged(lake, table) or _read(lake, table, keeping=True)


def _logged(lake: Lake, table: str) -> Listing | None:
    """Of a table of very many files nothing is kept: as much as a question needs is read from the log each time."""
    if large_checkpoint(lake.table_root(table)) is None:
        return None
    from tailrace.lake.logged_files import logged_listing

    return logged_listing(lake, table)


def _read(lake: Lake, table: str, *, keeping: bool = False) -> Listing:
    """From the log."""
    from tailrace.lake.arrow_listing import listing_of, parts_of
    from tailrace.lake.snapshot import snapshot

    seen = snapshot(lake, table)
    listing = listing_of(seen)
    mark = _mark(seen.root, f"{seen.version:020}.json") if keeping else None
    if mark is not None and seen.files.num_rows >= KEEP_FROM:
        shapes = [[s.name, s.type, s.stored, s.grown] for s in listing.columns.shapes]
        about = {"mark": mark, "version": seen.version, "moved": listing.moved, "columns": shapes}
        parts = dict(parts_of(seen.files))
        parts[_SCHEMA] = Part(_SCHEMA, listing.columns.serialized())
        keep(place_of(seen.root, "snapshots"), {**about, "count": seen.files.num_rows}, parts)
    return listing


def _load(mark: str, table: str, root: Place) -> Listing | None:
    kept = Kept.load(place_of(root, "snapshots"))
    if kept is None:
        return None
    try:
        about = kept.about
        if about["mark"] != mark:
            return None
        columns = Columns(tuple(Shape(*shape) for shape in about["columns"]), lambda: kept.read(_SCHEMA))
        files = Files(KeptSource(kept, int(about["count"])))
        return Listing(table, root, int(about["version"]), columns, files, bool(about["moved"]))
    except (LookupError, TypeError, ValueError):
        return None


class KeptSource:
    """Columns of files as they were kept."""

    def __init__(self, kept: Kept, count: int) -> None:
        self.kept = kept
        self.count = count
        self.kinds = {name: kind for name, kind in kept.kinds.items() if kind not in (ENDS, VALID, _SCHEMA)}

    def read(self, column: str) -> Sequence[Any]:
        try:
            values = self._values(column, self.kinds[column])
        except (ValueError, TypeError):
            raise self.kept.damaged() from None
        if len(values) != self.count:
            raise self.kept.damaged()
        return values

    def some(self, column: str, places: Sequence[int]) -> None:
        return None

    def _values(self, column: str, kind: str) -> Sequence[Any]:
        values: Sequence[Any]
        if kind in (TEXT, DECIMAL):
            values = Texts(self.kept.numbers(f"{ENDS}:{column}"), self.kept.read(column))
        else:
            values = self.kept.numbers(column, REALS if kind in (REAL, REAL32) else NUMBERS)
        if kind == DECIMAL:
            from decimal import Decimal

            values = [Decimal(text or 0) for text in values]
        elif kind == BOOLEAN:
            values = [bool(value) for value in values]
        there = f"{VALID}:{column}"
        if there in self.kept.kinds:
            return [v if valid else None for v, valid in zip(values, self.kept.read(there), strict=True)]
        return values


def _newest(root: Place) -> str | None:
    try:
        names = os.listdir(root.address(LOG))
    except OSError:
        return None
    return _mark(root, max(filter(_ENTRY.fullmatch, names), default=""))


def _mark(root: Place, name: str) -> str | None:
    """Of one entry of the log, as no other table at the same place would have it; None where there is no such entry."""
    if not name:
        return None
    try:
        status = os.stat(root.address(f"{LOG}/{name}"))
    except OSError:
        return None
    order = sys.byteorder
    return f"{_FORM} {order} {name} {status.st_size} {status.st_mtime_ns} {status.st_ino}"

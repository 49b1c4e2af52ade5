"""Which windows each file of logs has rows in, and which files hold their attributes.

A file is opened once; what it said is kept in a small database beside the segments, which can be deleted at any time:
it is made again from the files. A directory that has not changed is not listed again, and a file whose windows are all
finished is not looked at again, so that a look costs what is new.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.core.errors import DataError
from tailrace.lake.place import LocalPlace
from tailrace.windows.files import OtapFile, damage_told, directory, list_partition, opened, partitions
from tailrace.windows.footers import NOTHING, Footer, Range, footer_of
from tailrace.windows.reading import effective_times
from tailrace.windows.schema import ATTRIBUTES, LOGS, UNPARTITIONED, fitted
from tailrace.windows.sources import Source
from tailrace.windows.spec import WindowSpec

_TIMES = pa.schema([LOGS.field(name) for name in ("time_unix_nano", "observed_time_unix_nano")])
_NAME = "files.db"
_VERSION = 2
"Of what is kept: one that was made by other rules begins anew."
_STEADY = 2_000_000_000
"Nanoseconds after which a directory's time tells of every change before it."
_ANY = (0, 2**62)
_TABLES = """
CREATE TABLE IF NOT EXISTS files (
    name TEXT PRIMARY KEY, kind TEXT, part_id TEXT, ours INT, low INT, high INT,
    resource_low INT, resource_high INT, scope_low INT, scope_high INT, settled INT DEFAULT 0) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_range ON files (part_id, kind, low, high);
CREATE INDEX IF NOT EXISTS unsettled ON files (name) WHERE settled = 0 AND kind = 'logs';
CREATE TABLE IF NOT EXISTS spans (name TEXT, start INT, logs INT, PRIMARY KEY (name, start)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS folders (name TEXT PRIMARY KEY, stamp INT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""
Known = dict[str, dict[int, int]]
"Name of a file of logs → starts of windows → its rows in each."
_Told = tuple[tuple[Any, ...], list[tuple[str, int, int]]]
"Rows of `files` and `spans`."


class Catalog:
    """Files of logs by window."""

    def __init__(self, spec: WindowSpec, place: LocalPlace, through: int = 0) -> None:
        self._spec = spec
        self._path = place.path / _NAME
        self._database = self._open()
        self._require_earlier(through)
        self._widths: dict[tuple[str, str], int] = {}
        self.files: Known = {}
        "Those with windows that are not finished, or that came late."
        self.opened = 0

    def close(self) -> None:
        self._database.close()

    def _require_earlier(self, through: int) -> None:
        """Where segments were taken away, nothing that rests on them holds."""
        ((settled,),) = self._database.execute("SELECT max(value) FROM settings WHERE name = 'through'")
        if settled is not None and int(settled) > through:
            with self._database:
                self._database.execute("UPDATE files SET settled = 0")

    def look(self) -> None:
        """Lists what has changed and opens files that are new: logs before attributes, whose writers do the reverse."""
        self._widths.clear()
        with self._database:
            folders = list(partitions(self._spec.base, "logs"))
            for part_id in folders:
                self._list("logs", part_id)
            self._forget(set(folders))
        found: Known = {}
        rows = self._database.execute(
            """SELECT f.name, s.start, s.logs FROM files f LEFT JOIN spans s ON s.name = f.name
            WHERE f.settled = 0 AND f.kind = 'logs' ORDER BY f.name"""
        )
        for name, start, logs in rows:
            held = found.setdefault(name, {})
            if start is not None:
                held[start] = logs
        self.files = found

    def settle(self, seen: set[str], through: int) -> None:
        """Files that have nothing to say about windows from here on."""
        over = [name for name, starts in self.files.items() if name in seen and max(starts, default=0) < through]
        with self._database:
            self._database.executemany("UPDATE files SET settled = 1 WHERE name = ?", ((name,) for name in over))
            self._database.execute("INSERT OR REPLACE INTO settings VALUES ('through', ?)", (str(through),))
        for name in over:
            del self.files[name]

    def sources(self, names: Iterable[str]) -> dict[str, Source]:
        """These files, each with the files of its attributes."""
        rows = {}
        for name in names:
            (rows[name],) = self._database.execute("SELECT * FROM files WHERE name = ?", (name,))
        with self._database:
            for part_id in {row[2] for row in rows.values() if row[3]}:
                for kind in ATTRIBUTES:
                    self._list(kind, part_id)
        return {name: self._source(row) for name, row in rows.items()}

    def _source(self, row: tuple[Any, ...]) -> Source:
        name, _, part_id, ours = row[:4]
        file = OtapFile("logs", part_id, name)
        if not ours:
            return Source(file, ours=False)
        held = ((row[4], row[5]), (row[6], row[7]), (row[8], row[9]))
        found = (tuple(self._holding(kind, part_id, *one)) for kind, one in zip(ATTRIBUTES, held, strict=True))
        return Source(file, ours=True, attributes=tuple(found))

    def _holding(self, kind: str, part_id: str, low: int, high: int) -> Iterator[OtapFile]:
        """Files of attributes whose parents overlap a range; none is wider than the widest, so few are looked at."""
        key = (kind, part_id)
        if key not in self._widths:
            told = "SELECT coalesce(max(high - low), 0) FROM files WHERE part_id = ? AND kind = ?"
            ((self._widths[key],),) = self._database.execute(told, (part_id, kind))
        found = self._database.execute(
            "SELECT name FROM files WHERE part_id = ? AND kind = ? AND low BETWEEN ? AND ? AND high >= ? ORDER BY name",
            (part_id, kind, low - self._widths[key], high, low),
        )
        return (OtapFile(kind, part_id, name) for (name,) in found)

    def _list(self, kind: str, part_id: str) -> None:
        """Takes in what has changed in the directory of one table and partition."""
        folder = directory(kind, part_id)
        stamp = self._stamp(folder)
        ((before,),) = self._database.execute("SELECT max(stamp) FROM folders WHERE name = ?", (folder,))
        if stamp is not None and stamp == before:
            return
        listed = {file.name: file for file in list_partition(self._spec.base, kind, part_id)}
        self._require_one_writer(part_id, len(listed))
        told = self._database.execute("SELECT name FROM files WHERE part_id = ? AND kind = ?", (part_id, kind))
        known = {name for (name,) in told}
        self._drop(known - set(listed))
        for row, spans in self._told([listed[name] for name in sorted(set(listed) - known)]):
            self._database.execute("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)", row)
            self._database.executemany("INSERT INTO spans VALUES (?, ?, ?)", spans)
        self._database.execute("INSERT OR REPLACE INTO folders VALUES (?, ?)", (folder, stamp))

    def _stamp(self, folder: str) -> int | None:
        """When the directory last changed; None where that is not known for certain."""
        if not isinstance(self._spec.base, LocalPlace):
            return None
        with suppress(FileNotFoundError):
            changed = os.stat(self._spec.base.path / folder).st_mtime_ns
            return changed if changed < time.time_ns() - _STEADY else None
        return None

    def _require_one_writer(self, part_id: str, files: int) -> None:
        if part_id == UNPARTITIONED and files > 1 and not self._spec.unpartitioned:
            message = "files of logs outside of `_part_id=` directories: ids of two writers may be the same"
            hint = "let the exporter write `_part_id`; with one writer only, write allow_unpartitioned = true"
            raise DataError(message, code="window.unpartitioned", where=str(self._spec.base), hint=hint)

    def _forget(self, folders: set[str]) -> None:
        """Partitions that are gone."""
        told = self._database.execute("SELECT DISTINCT part_id FROM files WHERE kind = 'logs'")
        for part_id in {part for (part,) in told} - folders:
            gone = self._database.execute("SELECT name FROM files WHERE part_id = ?", (part_id,))
            self._drop({name for (name,) in gone})
            names = [(directory(kind, part_id),) for kind in ("logs", *ATTRIBUTES)]
            self._database.executemany("DELETE FROM folders WHERE name = ?", names)

    def _drop(self, names: set[str]) -> None:
        for table in ("files", "spans"):
            self._database.executemany(f"DELETE FROM {table} WHERE name = ?", ((name,) for name in names))

    def _told(self, files: list[OtapFile]) -> Iterator[_Told]:
        """What files say of themselves, in their order."""
        self.opened += len(files)
        if self._spec.base.is_local or len(files) < 2:
            yield from map(self._read, files)
            return
        with ThreadPoolExecutor(min(self._spec.concurrent_files, len(files)), "window-footers") as pool:
            yield from pool.map(self._read, files)

    def _read(self, file: OtapFile) -> _Told:
        starts: dict[int, int] = {}
        with opened(self._spec.base, file) as parquet, damage_told(self._spec.base, file):
            footer = footer_of(parquet.metadata, file.table)
            if file.table == "logs":
                held = [name for name in _TIMES.names if name in parquet.schema_arrow.names]
                starts = self._starts(file, parquet.read(columns=held, use_threads=False))
        ranges = _ranges(footer, logs=file.table == "logs")
        row = (file.name, file.table, file.part_id, footer.ours, *(end for held in ranges for end in held))
        return row, [(file.name, start, logs) for start, logs in starts.items()]

    def _starts(self, file: OtapFile, table: pa.Table) -> dict[int, int]:
        times, _ = effective_times(fitted(table, _TIMES), file.created_ms, self._spec.keep_undated)
        size = self._spec.temporal.granularity
        starts, counts = np.unique(times[times >= 0] // size * size, return_counts=True)
        return dict(zip(starts.tolist(), counts.tolist(), strict=True))

    def _open(self) -> sqlite3.Connection:
        """What was kept under other settings, or is damaged, begins anew."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        meant = repr((_VERSION, str(self._spec.base), self._spec.temporal.granularity, self._spec.keep_undated))
        for attempt in (1, 2):
            database = sqlite3.connect(self._path)
            try:
                # It is made again where it is lost: nobody has to wait for the disk.
                database.executescript(f"PRAGMA synchronous = OFF; {_TABLES}")
                ((told,),) = database.execute("SELECT max(value) FROM settings WHERE name = 'meant'")
                if told in (None, meant):
                    with database:
                        database.execute("INSERT OR REPLACE INTO settings VALUES ('meant', ?)", (meant,))
                    return database
            except sqlite3.DatabaseError:
                if attempt == 2:
                    raise
            database.close()
            self._path.unlink()
        raise AssertionError("a new catalog is of these settings")


def _ranges(footer: Footer, *, logs: bool) -> tuple[Range, Range, Range]:
    """What is not known may be anything; an empty range overlaps none."""
    ids, resources, scopes = (held or _ANY for held in (footer.ids, footer.resources, footer.scopes))
    return (ids, resources, scopes) if logs else (ids, NOTHING, NOTHING)

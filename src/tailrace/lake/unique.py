"""Rows that were delivered before: of those with the same key, near each other in time, one stays."""

from __future__ import annotations

import math
import secrets
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.lake.damage import engine_failure, reading_file
from tailrace.lake.files import DataFile
from tailrace.lake.identity import PREFIX_LENGTH
from tailrace.lake.place import Place
from tailrace.lake.quoting import file_literal
from tailrace.lake.rewrite import ActiveFile, Rows, without_rows

if TYPE_CHECKING:
    import duckdb

File = TypeVar("File", DataFile, ActiveFile, DataFile | ActiveFile)
DAY = timedelta(days=1)
MEMORY = "512MB"
"Beyond it DuckDB works on disk."


@dataclass(frozen=True, slots=True)
class Key:
    """What tells that two rows are the same event."""

    columns: tuple[str, ...]
    window: timedelta = DAY
    "How far apart in time they may be."

    def reach(self, days: Iterable[date]) -> set[date]:
        """The days on which rows of the same events may lie."""
        far = math.ceil(self.window / DAY)
        numbers = {day.toordinal() + n for day in set(days) for n in range(-far, far + 1)}
        # The first and the last day of all have no neighbour on one side.
        return {date.fromordinal(n) for n in numbers if date.min.toordinal() <= n <= date.max.toordinal()}


@dataclass(frozen=True, slots=True)
class Thinned:
    """Files without the rows that are stored already or come twice."""

    files: list[DataFile]
    dropped: Counter[str] = field(default_factory=Counter)
    "Rows by prefix of their ids."


def without_duplicates(
    root: Place, fresh: Sequence[DataFile], stored: Sequence[ActiveFile | DataFile], key: Key, label: str
) -> Thinned:
    """The first that is stored stays; of those that come together the earliest, then the one with the least `tp_id`.

    Rows that lack a part of the key are never duplicates. Memory is bounded: keys are compared by hash, and only
    those whose hash is met twice are looked at themselves.
    """
    near = key.reach(file.day for file in fresh)
    keyed = _with_key(root, fresh, key)
    beside = _with_key(root, (file for file in stored if file.day in near), key)
    if not keyed:
        return Thinned(list(fresh))
    with connected((root, [*keyed, *beside])) as (con, folder):
        search = _Search(con, key, scan(root, keyed, key, folder), scan(root, beside, key, folder))
        if not search.has_suspects():
            return Thinned(list(fresh))
        search.find_losers()
        heads = con.execute(f"SELECT left(id, {PREFIX_LENGTH}), count(*) FROM losers GROUP BY ALL").fetchall()
        touched = dict(con.execute("SELECT file, count(*) FROM losers GROUP BY ALL").fetchall())
        kept: list[DataFile] = [file for file in fresh if file not in keyed]
        for number, file in enumerate(keyed):
            if number not in touched:
                kept.append(file)
            elif touched[number] < file.rows:
                kept.append(_thinned(root, file, search.losers_of(number), f"{label}-unique-{number}"))
    return Thinned(kept, Counter(dict(heads)))


def vanished_days(
    root: Place, gone: Sequence[ActiveFile], kept: Sequence[ActiveFile | DataFile], key: Key
) -> list[date]:
    """Days of rows in files that go, of whose event no row is in those that come in their place."""
    before, after = _with_key(root, gone, key), _with_key(root, kept, key)
    if not before:
        return []
    parts = ", ".join(f"{_quoted(name)} AS k{n}" for n, name in enumerate(key.columns))
    same = " AND ".join(f"gone.k{n} = {{0}}.k{n}" for n in range(len(key.columns)))
    window = key.window // timedelta(microseconds=1)
    with connected((root, [*before, *after])) as (con, folder):
        all_gone = scan(root, before, key, folder)
        for table, files in (("gone", before), ("kept", after)):
            found = all_gone if files is before else scan(root, files, key, folder) or f"{all_gone} LIMIT 0"
            where = f"WHERE {_filled(key)}" if files else ""
            con.execute(f"CREATE TABLE {table} AS SELECT {parts}, epoch_us(tp_timestamp) AS us FROM {found} {where}")
        rows = con.execute(
            f"SELECT DISTINCT make_timestamp(gone.us)::DATE FROM gone"
            f" ASOF LEFT JOIN kept AS a ON {same.format('a')} AND gone.us >= a.us"
            f" ASOF LEFT JOIN kept AS b ON {same.format('b')} AND gone.us <= b.us"
            f" WHERE coalesce(gone.us - a.us > {window}, true) AND coalesce(b.us - gone.us > {window}, true)"
        ).fetchall()
    return [row[0] for row in rows]


class _Search:
    """Among the rows of two scans; what is stored may be nothing."""

    def __init__(self, con: duckdb.DuckDBPyConnection, key: Key, fresh: str, stored: str) -> None:
        self.con, self.key = con, key
        self.fresh, self.stored, self.filled = fresh, stored, _filled(key)
        names = [_quoted(name) for name in key.columns]
        self.hash = f"hash({', '.join(names)})"
        self.parts = ", ".join(f"{name} AS k{n}" for n, name in enumerate(names))
        self.same = " AND ".join(f"a.k{n} = b.k{n}" for n in range(len(names)))
        self.keys = ", ".join(f"k{n}" for n in range(len(names)))
        self.window = key.window // timedelta(microseconds=1)

    def has_suspects(self) -> bool:
        """Hashes that are met twice: among the new rows, or there and among those stored."""
        run = self.con.execute
        run(f"CREATE TABLE hashes AS SELECT {self.hash} AS h FROM {self.fresh} WHERE {self.filled}")
        run("CREATE TABLE suspects AS SELECT h FROM hashes GROUP BY h HAVING count(*) > 1")
        if self.stored:
            met = f"SELECT DISTINCT {self.hash} AS h FROM {self.stored} WHERE {self.filled}"
            run(f"INSERT INTO suspects {met} AND h IN (SELECT h FROM hashes) EXCEPT SELECT h FROM suspects")
        run("DROP TABLE hashes")
        return bool(run("SELECT count(*) FROM suspects").fetchall()[0][0])

    def find_losers(self) -> None:
        """Fills `losers`: file, line, id."""
        run = self.con.execute
        suspect = f"WHERE {self.filled} AND {self.hash} IN (SELECT h FROM suspects)"
        run(
            f"CREATE TABLE rivals AS SELECT {self.parts}, epoch_us(tp_timestamp) AS us, tp_id AS id,"
            f" file_index AS file, file_row_number AS line FROM {self.fresh} {suspect}"
        )
        run("CREATE TABLE losers (file UBIGINT, line BIGINT, id VARCHAR)")
        if self.stored:
            run(f"CREATE TABLE met AS SELECT {self.parts}, epoch_us(tp_timestamp) AS us FROM {self.stored} {suspect}")
            self._lose_to_stored()
        self._lose_to_earlier()

    def losers_of(self, file: int) -> Rows:
        rows: Rows = self.con.execute("SELECT line FROM losers WHERE file = ?", [file]).fetchnumpy()["line"]
        return rows

    def _lose_to_stored(self) -> None:
        # The nearest before and the nearest after: with a key that is the same in all rows a plain join would explode.
        nearest = (
            f"SELECT a.rowid AS number FROM rivals a ASOF JOIN met b ON {self.same} AND a.us {{}} b.us"
            f" WHERE abs(a.us - b.us) <= {self.window}"
        )
        self.con.execute(f"CREATE TABLE late AS {nearest.format('>=')} UNION {nearest.format('<=')}")
        self.con.execute(
            "INSERT INTO losers SELECT file, line, id FROM rivals WHERE rowid IN (SELECT number FROM late)"
        )
        self.con.execute("DELETE FROM rivals WHERE rowid IN (SELECT number FROM late)")

    def _lose_to_earlier(self) -> None:
        """Of each key the first stays and takes the window after it; what lies beyond begins anew."""
        run = self.con.execute
        while run("SELECT count(*) FROM rivals").fetchall()[0][0]:
            run(
                f"CREATE OR REPLACE TABLE heads AS SELECT {self.keys}, min(struct_pack(us := us, id := id)) AS head"
                f" FROM rivals GROUP BY {self.keys}"
            )
            joined = f"FROM rivals a JOIN heads b ON {self.same}"
            run(
                f"INSERT INTO losers SELECT a.file, a.line, a.id {joined}"
                f" WHERE a.us <= b.head.us + {self.window} AND a.id <> b.head.id"
            )
            run(f"CREATE OR REPLACE TABLE rest AS SELECT a.* {joined} WHERE a.us > b.head.us + {self.window}")
            run("DROP TABLE rivals")
            run("ALTER TABLE rest RENAME TO rivals")


@contextmanager
def connected(
    *read: tuple[Place, Sequence[DataFile | ActiveFile]],
) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
    """A connection to read those files with, and a directory for what goes with it."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="tailrace-unique-") as folder, duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        con.execute(f"SET memory_limit = '{MEMORY}'")
        con.execute(f"SET temp_directory = '{folder}'")
        con.execute("SET preserve_insertion_order = false")
        try:
            yield con, folder
        except duckdb.Error as error:
            paths = ((place, [file.path for file in files]) for place, files in read)
            raise engine_failure(error, paths, folder) from error


def _with_key(root: Place, files: Iterable[File], key: Key) -> list[File]:
    """Files that have all columns of the key: in the others one of them is null throughout."""
    found = []
    for file in files:
        with reading_file(root, file.path) as source:
            names = source.schema_arrow.names
        if all(name in names for name in key.columns):
            found.append(file)
    return found


def scan(root: Place, files: Sequence[DataFile | ActiveFile], key: Key, folder: str) -> str:
    """The files in SQL; none: nothing."""
    local = (
        root.address(file.path) if root.has_near(file.path) else _narrowed(root, file.path, key, folder)
        for file in files
    )
    paths = ", ".join(map(file_literal, local))
    return f"read_parquet([{paths}])" if paths else ""


def _narrowed(root: Place, path: str, key: Key, folder: str) -> str:
    """A local file with the same rows and the columns that matter here: the others stay where they are."""
    target = f"{folder}/{secrets.token_hex(8)}.parquet"
    with reading_file(root, path) as source:
        columns = list(dict.fromkeys([*key.columns, "tp_timestamp", "tp_id"]))
        schema = pa.schema([source.schema_arrow.field(name) for name in columns])
        with pq.ParquetWriter(target, schema) as writer:
            for group in range(source.num_row_groups):
                writer.write_table(source.read_row_group(group, columns).select(columns))
    return target


def _filled(key: Key) -> str:
    return " AND ".join(f"{_quoted(name)} IS NOT NULL" for name in key.columns)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _thinned(root: Place, file: DataFile, losers: Rows, name: str) -> DataFile:
    return without_rows(root, file, losers, root, f"{file.path.rpartition('/')[0]}/{name}.parquet")

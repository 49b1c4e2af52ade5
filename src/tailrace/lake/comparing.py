"""Rows of a day that two lakes hold: which of them need not come, and which go because later ones come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tailrace.lake.identity import PREFIX_LENGTH
from tailrace.lake.place import Place
from tailrace.lake.rewrite import ActiveFile, Rows
from tailrace.lake.unique import Key, connected, scan

if TYPE_CHECKING:
    import duckdb

NONE: Rows = np.empty(0, np.int64)
_COMPARED = Key(("tp_ingest_timestamp",))
_HEAD = f"left(tp_id, {PREFIX_LENGTH})"
_ARTIFACTS = pa.schema(
    [("head", pa.string()), ("number", pa.int64()), ("given", pa.timestamp("us")), ("there", pa.timestamp("us"))]
)


@dataclass(frozen=True, slots=True)
class Rival:
    """An artifact that both lakes know."""

    heads: Sequence[str]
    "What ids of its rows begin with, of any version."
    given: datetime | None
    "When the lake that gives has read it, if no earlier row of it is to stay in the other."
    there: datetime | None
    "When the lake that takes has, if no earlier row of it is to come."


@dataclass(frozen=True, slots=True)
class Compared:
    """Numbers of rows, by file."""

    left_out: dict[str, Rows] = field(default_factory=dict)
    "Of the files that are given: those that need not come."
    outdated: dict[str, Rows] = field(default_factory=dict)
    "Of the files that are there: those that go, because later ones come in their place or in that of their artifact."
    gone: int = 0
    "How many of these were of earlier versions of artifacts, and have no successor."


def compared(
    given: tuple[Place, Sequence[ActiveFile]], there: tuple[Place, Sequence[ActiveFile]], rivals: Iterable[Rival]
) -> Compared:
    """By `tp_id`: of two the one collected last. Rows of earlier versions of an artifact lose to all of it."""
    with connected(given, there) as (con, folder):
        for name, (root, files) in (("ours", given), ("theirs", there)):
            columns = "tp_id, tp_ingest_timestamp AS at, file_index AS file, file_row_number AS line"
            rows = f"SELECT {columns} FROM {scan(root, files, _COMPARED, folder)}"
            empty = "SELECT '' AS tp_id, NULL::TIMESTAMP AS at, 0 AS file, 0 AS line LIMIT 0"
            con.execute(f"CREATE TABLE {name} AS {rows if files else empty}")
        both = "FROM ours JOIN theirs USING (tp_id) WHERE"
        is_newer = "coalesce(ours.at > theirs.at, false)"
        con.execute(f"CREATE TABLE left_out AS SELECT ours.file, ours.line {both} NOT {is_newer}")
        con.execute(f"CREATE TABLE outdated AS SELECT theirs.file, theirs.line {both} {is_newer}")
        gone = _add_earlier_versions(con, rivals)
        return Compared(_by_file(con, "left_out", given[1]), _by_file(con, "outdated", there[1]), gone)


def _add_earlier_versions(con: duckdb.DuckDBPyConnection, rivals: Iterable[Rival]) -> int:
    rows = [(head, n, r.given, r.there) for n, r in enumerate(rivals) for head in r.heads]
    if not rows:
        return 0
    columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), _ARTIFACTS, strict=True)]
    con.register("artifacts", pa.table(columns, schema=_ARTIFACTS))
    sides = (("left_out", "ours", "theirs", "there"), ("outdated", "theirs", "ours", "given"))
    for table, loser, winner, read in sides:
        # What the winner has of the day was collected since; where it has nothing of it, the version as such counts.
        con.execute(
            f"CREATE TABLE earlier_{table} AS"
            f" WITH begun AS (SELECT number, coalesce(min({winner}.at), any_value({read})) AS since"
            f" FROM artifacts LEFT JOIN {winner} ON head = {_HEAD} WHERE {read} IS NOT NULL GROUP BY number)"
            f" SELECT file, line FROM {loser} JOIN artifacts ON head = {_HEAD} JOIN begun USING (number)"
            f" WHERE {loser}.at < since AND tp_id NOT IN (SELECT tp_id FROM {winner})"
        )
        con.execute(f"INSERT INTO {table} FROM earlier_{table}")
    found: int = con.execute("SELECT count(*) FROM earlier_outdated").fetchall()[0][0]
    return found


def _by_file(con: duckdb.DuckDBPyConnection, table: str, files: Sequence[ActiveFile]) -> dict[str, Rows]:
    found = {}
    for number, file in enumerate(files):
        lines = con.execute(f"SELECT line FROM {table} WHERE file = {number} ORDER BY line").fetchnumpy()["line"]
        if len(lines):
            found[file.path] = np.asarray(lines, np.int64)
    return found

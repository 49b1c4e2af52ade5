"""Records that could not be stored as asked: their bytes, where they stand and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailrace.core.errors import LakeError
from tailrace.lake.damage import reading_file
from tailrace.lake.identity import artifact_prefix, tp_ids
from tailrace.lake.intents import partitions_with, read_ledger
from tailrace.lake.ledger import Ledger, keys
from tailrace.lake.paths import Lake
from tailrace.lake.place import LocalPlace, Place

SHOWN_SCHEMA = pa.schema(
    [
        ("table", pa.string()),
        ("partition", pa.string()),
        ("run", pa.string()),
        ("uri", pa.string()),
        ("location", pa.string()),
        ("member", pa.string()),
        ("position", pa.int64()),
        ("length", pa.int64()),
        ("raw", pa.binary()),
        ("reason", pa.string()),
        ("day", pa.date32()),
        ("ingested_at", pa.timestamp("us")),
    ]
)
"What `tp_quarantine` has."
QUARANTINE_SCHEMA = pa.schema([*SHOWN_SCHEMA, ("framing", pa.string()), ("artifact", pa.string())])
"""With what it takes to decode a record again: how it was cut out of its artifact (null: it cannot be read by itself),
and the artifact as it was listed, JSON. Files of earlier versions do not have the two."""
_SUPERSEDED = ("table", "partition", "uri", "run", "stored_by", "since")
SUPERSEDED_SCHEMA = pa.schema([(name, pa.string()) for name in _SUPERSEDED])
"Entries hold of the runs `run` and `stored_by`, and of all from `since` on."
LIGHT = tuple(name for name in QUARANTINE_SCHEMA.names if name != "raw")
"All columns but the bytes."
Mask = npt.NDArray[np.bool_]
Paths = Callable[[Place, Sequence[str], Sequence[int | None]], Sequence[str]]
"From files of a place, and their sizes where they are known, to paths on local disk."


def write_quarantine(place: Place, name: str, rows: pa.Table | pa.RecordBatch) -> None:
    """Write rows to a new file, seen once a valid ledger segment names it."""
    draft = place.create(name)
    with pq.ParquetWriter(draft.path, QUARANTINE_SCHEMA, compression="zstd") as writer:
        writer.write(rows)
    draft.close()
    draft.wait()


def read_file(place: Place, name: str, columns: tuple[str, ...] = tuple(QUARANTINE_SCHEMA.names)) -> pa.Table:
    """One file, in the columns of today."""
    schema = pa.schema([QUARANTINE_SCHEMA.field(column) for column in columns])
    with reading_file(place, name) as source:
        there = [name for name in columns if name in source.schema_arrow.names]
        found = source.read(columns=there, use_threads=False)
    missing = {name: pa.nulls(found.num_rows, schema.field(name).type) for name in columns if name not in there}
    arrays = [missing[name] if name in missing else found.column(name) for name in columns]
    return pa.table(arrays, names=list(columns)).cast(schema)


@dataclass(frozen=True, slots=True)
class Page:
    """One quarantine file that the ledger names."""

    place: Place
    name: str
    rows: pa.Table
    holds: Mask
    "Per row: false where its artifact has been read again since."


def pages(lake: Lake, table: str, partition: str, ledger: Ledger, columns: tuple[str, ...] = LIGHT) -> Iterator[Page]:
    """All quarantine files of a partition, one in memory at a time; without `raw` they are small."""
    directory = lake.meta("quarantine", table, partition)
    runs = {row["uri"]: row for row in _read_again(ledger).to_pylist()}
    wanted = tuple(dict.fromkeys([*columns, "uri", "run"]))
    for name in ledger.quarantine:
        rows = read_file(directory, name, wanted)
        yield Page(directory, name, rows, _holds(rows, runs))


def _holds(rows: pa.Table, taken: Mapping[str, Mapping[str, str | None]]) -> Mask:
    """Few artifacts and runs, many rows: each pair of them is looked at once."""
    pairs, number = by_value(rows, "uri", "run")
    return np.array([_still(str(run), taken.get(str(uri))) for uri, run in pairs], bool)[number]


def _still(run: str, taken: Mapping[str, str | None] | None) -> bool:
    if taken is None or run in (taken["run"], taken["stored_by"]):
        return True
    since = taken["since"]
    return since is not None and run >= since


def by_value(rows: pa.Table, *names: str) -> tuple[list[tuple[str | None, ...]], npt.NDArray[np.int64]]:
    """The distinct values of some text columns together, and per row which of them it has."""
    columns = [rows.column(name).combine_chunks().dictionary_encode("encode") for name in names]
    keys = np.zeros(rows.num_rows, np.int64)
    for column in columns:
        keys = keys * (len(column.dictionary) or 1) + column.indices.to_numpy()
    _, firsts, number = np.unique(keys, return_index=True, return_inverse=True)
    taken = [rows.column(name).take(pa.array(firsts)).to_pylist() for name in names]
    return list(zip(*taken, strict=True)), number.reshape(-1)


def of_artifacts(rows: pa.Table, uris: Set[str]) -> Mask:
    """Per row: is it of one of these artifacts?"""
    values, number = by_value(rows, "uri")
    return np.array([uri in uris for (uri,) in values], bool)[number]


def owned(rows: pa.Table, uris: Set[str], run: str) -> pa.Table:
    """Rows of artifacts that a run writes to the ledger are that run's: those of earlier ones would not hold."""
    runs = pc.if_else(pa.array(of_artifacts(rows, uris)), pa.scalar(run), rows.column("run"))
    return rows.set_column(rows.schema.get_field_index("run"), "run", runs)


def record_ids(rows: pa.Table) -> pa.StringArray:
    """The `tp_id` that each record has or would have; of an artifact or member as a whole, what its ids begin with."""
    pairs, number = by_value(rows, "uri", "member")
    prefixes = [artifact_prefix(str(uri), member) for uri, member in pairs]
    positions = rows.column("position").fill_null(-1).to_numpy()
    if not prefixes:
        return pa.array([], pa.string())
    ids = tp_ids(prefixes, number.astype(np.int32), np.maximum(positions, 0))
    whole = pa.array(prefixes, pa.string()).take(pa.array(number))
    return pc.if_else(pa.array(positions < 0), whole, ids)


@dataclass(frozen=True, slots=True)
class Listing:
    """All quarantine files of a workspace, and which of their entries no longer hold."""

    files: tuple[str, ...]
    superseded: pa.Table
    damaged: tuple[LakeError, ...]
    "Files and ledgers that cannot be read; the rest can."


def read_quarantine(lake: Lake, table: str, partition: str, columns: list[str] | None = None) -> pa.Table:
    """All entries of a partition that hold; without `raw` it stays small."""
    names = QUARANTINE_SCHEMA.names if columns is None else columns
    schema = pa.schema([QUARANTINE_SCHEMA.field(n) for n in names])
    found = pages(lake, table, partition, read_ledger(lake, table, partition), tuple(names))
    tables = [page.rows.filter(pa.array(page.holds)).select(names) for page in found]
    return pa.concat_tables([schema.empty_table(), *tables])


def partitions_with_quarantine(lake: Lake) -> list[tuple[str, str]]:
    """Table and partition of everything of which a record was ever refused."""
    return [*partitions_with(lake, "quarantine")]


def list_quarantine(lake: Lake, paths: Paths) -> Listing:
    """Files that valid ledger segments name, over all tables and partitions of the workspace."""
    files: list[str] = []
    superseded = [SUPERSEDED_SCHEMA.empty_table()]
    damaged: list[LakeError] = []
    for table, partition in partitions_with_quarantine(lake):
        directory = lake.meta("quarantine", table, partition)
        try:
            ledger = read_ledger(lake, table, partition)
        except LakeError as error:
            damaged.append(error)
            continue
        found, broken = _readable(directory, ledger.quarantine, paths)
        files += found
        damaged += broken
        again = _read_again(ledger)
        owner = [pa.array([value] * again.num_rows, pa.string()) for value in (table, partition)]
        superseded.append(pa.table([*owner, *again.columns], schema=SUPERSEDED_SCHEMA))
    return Listing(tuple(files), pa.concat_tables(superseded), tuple(damaged))


def _readable(place: Place, names: Sequence[str], paths: Paths) -> tuple[list[str], list[LakeError]]:
    """Paths on local disk of the files that can be read, and what is wrong with the others."""
    found: list[str] = []
    damaged: list[LakeError] = []
    with suppress(LakeError):
        paths(place, names, [None] * len(names))  # together, if all are there
    for name in names:
        try:
            path = paths(place, [name], [None])[0]
            with reading_file(LocalPlace(os.path.dirname(path)), os.path.basename(path)):
                found.append(path)
        except LakeError as error:
            damaged.append(LakeError(error.message, code=error.code, where=place.address(name), hint=error.hint))
    return found, damaged


def _read_again(ledger: Ledger) -> pa.Table:
    """Artifacts of which more than one version was read: only entries of the runs named here hold."""
    again = ledger.entries.filter(pc.greater(ledger.entries.column("generation"), 1))
    # Of a file that was read on, what earlier readings refused since it was read as a whole is refused still.
    read_on = pc.is_valid(again.column("resumed"))
    since = pc.if_else(read_on, again.column("stored_by"), pa.scalar(None, pa.string()))
    columns = [keys(again), again.column("run"), again.column("stored_by"), since]
    return pa.table(columns, names=list(_SUPERSEDED[2:]))

"""Records that could not be stored as asked: their bytes, where they stand and why."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailrace.core.errors import LakeError
from tailrace.lake.damage import reading_file
from tailrace.lake.intents import read_ledger
from tailrace.lake.ledger import Ledger
from tailrace.lake.paths import Lake, decode_value

QUARANTINE_SCHEMA = pa.schema(
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
SUPERSEDED_SCHEMA = pa.schema([(n, pa.string()) for n in ("table", "partition", "uri", "run", "stored_by")])


def write_quarantine(path: Path, rows: pa.Table | pa.RecordBatch) -> int:
    """Write rows to a new file, seen once a valid ledger segment names it; returns its size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, QUARANTINE_SCHEMA, compression="zstd") as writer:
        writer.write(rows)
    return path.stat().st_size


@dataclass(frozen=True, slots=True)
class Listing:
    """All quarantine files of a workspace, and which of their entries no longer hold."""

    files: tuple[Path, ...]
    superseded: pa.Table
    damaged: tuple[LakeError, ...]
    "Files and ledgers that cannot be read; the rest can."


def read_quarantine(lake: Lake, table: str, partition: str, columns: list[str] | None = None) -> pa.Table:
    """All entries of a partition that hold; without `raw` it stays small."""
    directory = lake.meta("quarantine", table, partition)
    ledger = read_ledger(lake, table, partition)
    names = QUARANTINE_SCHEMA.names if columns is None else columns
    schema = pa.schema([QUARANTINE_SCHEMA.field(n) for n in dict.fromkeys([*names, "uri", "run"])])
    tables = (pq.ParquetFile(directory / name).read(columns=schema.names) for name in ledger.quarantine)
    found = pa.concat_tables([schema.empty_table(), *(t.select(schema.names).cast(schema) for t in tables)])
    runs = {row["uri"]: (row["run"], row["stored_by"]) for row in _read_again(ledger).to_pylist()}
    pairs = zip(found["uri"].to_pylist(), found["run"].to_pylist(), strict=True)
    holds = [uri not in runs or run in runs[uri] for uri, run in pairs]
    return found.filter(pa.array(holds, pa.bool_())).select(names)


def list_quarantine(lake: Lake) -> Listing:
    """Files that valid ledger segments name, over all tables and partitions of the workspace."""
    files: list[Path] = []
    superseded = [SUPERSEDED_SCHEMA.empty_table()]
    damaged: list[LakeError] = []
    root = lake.meta_root / "quarantine"
    for directory in sorted(root.glob("*/*")):
        table, partition = decode_value(directory.parent.name), decode_value(directory.name)
        try:
            ledger = read_ledger(lake, table, partition)
        except LakeError as error:
            damaged.append(error)
            continue
        for name in ledger.quarantine:
            try:
                with reading_file(directory / name):
                    pq.read_metadata(directory / name)
                files.append(directory / name)
            except LakeError as error:
                damaged.append(error)
        again = _read_again(ledger)
        owner = [pa.array([value] * again.num_rows, pa.string()) for value in (table, partition)]
        superseded.append(pa.table([*owner, *again.columns], schema=SUPERSEDED_SCHEMA))
    return Listing(tuple(files), pa.concat_tables(superseded), tuple(damaged))


def _read_again(ledger: Ledger) -> pa.Table:
    """Artifacts of which more than one version was read: only entries of the runs named here hold."""
    again = ledger.entries.filter(pc.greater(ledger.entries.column("generation"), 1))
    return again.select(["uri", "run", "stored_by"])

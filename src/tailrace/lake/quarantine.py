"""Records that could not be stored as asked: their bytes, where they stand and why."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.lake.intents import read_ledger
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


def write_quarantine(path: Path, rows: pa.Table | pa.RecordBatch) -> int:
    """Write rows to a new file, seen once a valid ledger segment names it; returns its size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, QUARANTINE_SCHEMA, compression="zstd") as writer:
        writer.write(rows)
    return path.stat().st_size


def read_quarantine(lake: Lake, table: str, partition: str, columns: list[str] | None = None) -> pa.Table:
    """All valid entries of a partition; without `raw` it stays small."""
    directory = lake.meta("quarantine", table, partition)
    names = read_ledger(lake, table, partition).quarantine
    schema = QUARANTINE_SCHEMA
    if columns is not None:
        schema = pa.schema([schema.field(name) for name in columns])
    tables = [pq.ParquetFile(directory / name).read(columns=columns).select(schema.names) for name in names]
    return pa.concat_tables(tables).cast(schema) if tables else schema.empty_table()


def quarantine_files(lake: Lake) -> list[Path]:
    """All files that valid ledger segments name, over all tables and partitions of the workspace."""
    found: list[Path] = []
    root = lake.meta_root / "quarantine"
    for directory in sorted(root.glob("*/*")):
        table, partition = decode_value(directory.parent.name), decode_value(directory.name)
        found.extend(directory / name for name in read_ledger(lake, table, partition).quarantine)
    return found

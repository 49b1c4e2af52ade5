"""Replacing rows: files that hold rows of artifacts read again are written anew without them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailrace.lake.damage import reading_file
from tailrace.lake.files import DataFile, stats_json
from tailrace.lake.identity import PREFIX_LENGTH
from tailrace.lake.types import schema_fingerprint


@dataclass(frozen=True, slots=True)
class ActiveFile:
    """One file of the current snapshot."""

    path: str
    size: int
    partition: str
    index: str
    day: date

    @property
    def partition_values(self) -> dict[str, str]:
        return {"tp_partition": self.partition, "tp_index": self.index, "tp_date": self.day.isoformat()}


def rewrite_without(
    root: Path, files: Iterable[ActiveFile], prefixes: Sequence[str], run: str
) -> tuple[list[ActiveFile], list[DataFile]]:
    """Files to remove and files to add, so that no row is left whose `tp_id` begins with one of the prefixes.

    Files without such rows are left alone. Memory holds one row group at a time.
    """
    gone = pa.array(prefixes, pa.string())
    removed: list[ActiveFile] = []
    added: list[DataFile] = []
    for file in files:
        path = f"{file.path.rpartition('/')[0]}/{run}-rewrite-{len(removed) + 1}.parquet"
        with reading_file(root / file.path), pq.ParquetFile(root / file.path) as source:
            groups = range(source.num_row_groups)
            hits = [_hits(source.read_row_group(g, ["tp_id"]), gone) for g in groups]
            if not any(pc.any(h).as_py() for h in hits):
                continue
            removed.append(file)
            if not all(pc.all(h).as_py() for h in hits):
                added.append(_copy_without(source, hits, root, path, file))
    return removed, added


def _hits(rows: pa.Table, gone: pa.Array) -> pa.ChunkedArray:
    heads = pc.utf8_slice_codeunits(rows.column("tp_id"), 0, PREFIX_LENGTH)
    return pc.is_in(heads, value_set=gone)


def _copy_without(
    source: pq.ParquetFile, hits: list[pa.ChunkedArray], root: Path, path: str, file: ActiveFile
) -> DataFile:
    schema = source.schema_arrow
    with pq.ParquetWriter(root / path, schema, **_options_of(source)) as writer:
        for group, hit in enumerate(hits):
            kept = source.read_row_group(group).filter(pc.invert(hit))
            if kept.num_rows:
                writer.write_table(kept, row_group_size=kept.num_rows)
    metadata = pq.read_metadata(root / path)
    return DataFile(
        path=path,
        size=(root / path).stat().st_size,
        partition=file.partition,
        index=file.index,
        day=file.day,
        rows=metadata.num_rows,
        stats=stats_json(metadata, schema),
        fingerprint=schema_fingerprint(schema),
    )


def _options_of(source: pq.ParquetFile) -> dict[str, object]:
    """Write each column as it was written: with a dictionary or, for ids and JSON, without."""
    first = source.metadata.row_group(0)
    columns = [first.column(i) for i in range(first.num_columns)]
    plain = [c.path_in_schema for c in columns if not c.has_dictionary_page]
    by_length = [c.path_in_schema for c in columns if "DELTA_LENGTH_BYTE_ARRAY" in c.encodings]
    return {
        "compression": "zstd",
        "use_dictionary": [c.path_in_schema for c in columns if c.path_in_schema not in plain] or False,
        "column_encoding": dict.fromkeys(by_length, "DELTA_LENGTH_BYTE_ARRAY") or None,
        "sorting_columns": first.sorting_columns or None,
    }

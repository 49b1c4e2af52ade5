"""Where a text is still to be found in a home, however it is packed."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq


def holding(home: Path, text: str) -> list[str]:
    """Files of data, logs, quarantine and snapshots that hold it: as bytes, in a value, or in statistics.

    Not the ledger: it keeps the condition by which rows were deleted.
    """
    roots = [home / "data", home / "snapshots", *home.glob("meta/*/quarantine")]
    files = [file for root in roots for file in root.rglob("*") if file.is_file()]
    return sorted(str(file.relative_to(home)) for file in files if text in _content(file))


def _content(file: Path) -> str:
    raw = file.read_bytes().decode("latin-1")
    if file.suffix != ".parquet":
        return raw
    with pq.ParquetFile(file) as opened:
        # Schemas of checkpoints have maps and structs: as Python values they are text all the same.
        return raw + str(opened.read().to_pylist()) + str(opened.metadata.to_dict())

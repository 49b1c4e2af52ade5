"""What a lake holds, and whether it is as it should be: nothing twice, nothing left over, ledger and data agreed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq

from tailrace.lake.identity import PREFIX_LENGTH, artifact_prefix
from tailrace.lake.intents import read_ledger
from tailrace.lake.ledger import keys
from tailrace.lake.paths import Lake, partition_path
from tailrace.lake.place import Place
from tailrace.lake.segments import read_segment, segment_numbers
from tailrace.lake.snapshot import snapshot, tables

Rows = Counter[tuple[str, str]]


def stored(home: Path | Lake) -> Rows:
    """The id of every visible row, with its table and partition."""
    lake = _lake(home)
    found: Rows = Counter()
    for table in tables(lake):
        seen = snapshot(lake, table)
        for file in seen.files.select(["path", "tp_partition"]).to_pylist():
            with seen.root.open(file["path"]) as opened:
                ids = pq.ParquetFile(opened).read(columns=["tp_id"]).column("tp_id")
            found.update((f"{table}.{file['tp_partition']}", value) for value in ids.to_pylist())
    return found


def check(home: Path | Lake, table: str, partition: str) -> None:
    """Every data and quarantine file is named by the log or the ledger, and both tell the same rows."""
    lake = _lake(home)
    root = lake.table_root(table)
    on_disk = {path for path in root.walk(partition_path(partition)) if path.endswith(".parquet")}
    assert on_disk <= committed(root), "a file that no commit ever named"
    ledger = read_ledger(lake, table, partition)
    told = zip(keys(ledger.entries).to_pylist(), ledger.entries.column("rows").to_pylist(), strict=True)
    rows = {key: count for key, count in told if count}
    name = f"{table}.{partition}"
    assert {artifact_prefix(uri): count for uri, count in rows.items()} == _by_artifact(home, name)
    quarantined = set(lake.meta("quarantine", table, partition).names())
    assert set(ledger.quarantine) <= quarantined, "a quarantine file is lost"
    assert quarantined <= _declared(lake, table, partition), "a quarantine file that no commit ever named"
    assert not [path for path in lake.meta_root.walk() if path.endswith(".tmp")]


def _lake(home: Path | Lake) -> Lake:
    return home if isinstance(home, Lake) else Lake(home)


def committed(root: Place) -> set[str]:
    added = set()
    log = root / "_delta_log"
    for name in (name for name in log.names() if name.endswith(".json")):
        actions = map(json.loads, log.read(name).splitlines())
        added |= {unquote(a["add"]["path"]) for a in actions if "add" in a}
    return added


def _declared(lake: Lake, table: str, partition: str) -> set[str]:
    """Quarantine files of all segments: those of deleted rows are kept, so that they can be restored."""
    directory = lake.meta("ledger", table, partition)
    return {name for n in segment_numbers(directory) for name in read_segment(directory, n).quarantine}


def _by_artifact(home: Path | Lake, name: str) -> Counter[str]:
    """Rows per prefix of their ids."""
    return Counter(value[:PREFIX_LENGTH] for place, value in stored(home).elements() if place == name)

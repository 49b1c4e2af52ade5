"""What queries and listings see: the files of one version of a table, straight from the Delta log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.lake.paths import Lake
from tailrace.lake.place import Place
from tailrace.lake.stored import tables as tables
from tailrace.lake.table import open_table
from tailrace.lake.versions import Moment, open_at

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from tailrace.lake.rewrite import ActiveFile

_RENAMED = {
    "size_bytes": "size",
    "modification_time": "modified",
    "num_records": "rows",
    "partition.tp_partition": "tp_partition",
    "partition.tp_index": "tp_index",
    "partition.tp_date": "tp_date",
}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One version of a table."""

    table: str
    root: Place
    version: int
    schema: pa.Schema
    "With `tailrace.type` and `comment` as field metadata."
    files: pa.Table
    """One row per file: `path` (under `root`), `size`, `rows`, `modified` (ms), `tp_partition`, `tp_index`,
    `tp_date`, and `min.<column>`, `max.<column>`, `null_count.<column>` with dotted paths for struct fields."""


def snapshot(lake: Lake, table: str) -> Snapshot:
    """The latest version of a table."""
    root = lake.table_root(table)
    return _of(open_table(root), table, root)


def snapshot_at(lake: Lake, table: str, at: Moment) -> Snapshot | None:
    """An earlier version of a table; None where it did not exist yet."""
    root = lake.table_root(table)
    delta = open_at(root, table, at)
    return None if delta is None else _of(delta, table, root)


def _of(delta: DeltaTable, table: str, root: Place) -> Snapshot:
    return Snapshot(table, root, delta.version(), pa.schema(delta.schema()), _add_actions(delta))


def active_files(delta: DeltaTable, partition: str, days: Sequence[date] | None = None) -> list[ActiveFile]:
    """Files of a partition in the version that `delta` stands at; of those days only, if given."""
    return files_of(_add_actions(delta), partition, days)


def files_of(files: pa.Table, partition: str, days: Sequence[date] | None = None) -> list[ActiveFile]:
    """The same, of a snapshot's files."""
    from tailrace.lake.rewrite import ActiveFile

    times = ["min.tp_timestamp", "max.tp_timestamp"]
    known = times if set(times).issubset(files.column_names) else []  # a table without files has no statistics
    files = files.select(["path", "size", "tp_partition", "tp_index", "tp_date", "rows", *known])
    files = files.filter(pc.equal(files.column("tp_partition"), partition))
    if days is not None:
        files = files.filter(pc.is_in(files.column("tp_date"), value_set=pa.array(days, pa.date32())))
    return [ActiveFile(*row) for row in zip(*(c.to_pylist() for c in files.columns), strict=True)]


def active_paths(delta: DeltaTable, partition: str) -> frozenset[str]:
    """Only where they lie: statistics are not unpacked."""
    actions = _actions(delta, flatten=False)
    owners = pc.struct_field(actions.column("partition"), "tp_partition")
    paths = actions.column("path").filter(pc.equal(owners, partition)).to_pylist()
    return frozenset(unquote(path) if "%" in path else path for path in paths)


def _actions(delta: DeltaTable, flatten: bool) -> pa.Table:
    # `pa.table` would import pandas, where there is one, to see whether it is given something of its kind.
    return pa.RecordBatchReader.from_stream(delta.get_add_actions(flatten=flatten)).read_all()


def _add_actions(delta: DeltaTable) -> pa.Table:
    actions = _actions(delta, flatten=True)
    # The log holds URL-encoded paths; on disk they are as `paths.encode_value` wrote them.
    paths = [unquote(p) if "%" in p else p for p in actions.column("path").to_pylist()]
    actions = actions.set_column(0, "path", pa.array(paths, pa.string()))
    return actions.rename_columns([_RENAMED.get(name, name) for name in actions.column_names])

"""Another type for a column: only of a table that holds no rows, and of which none can be brought back.

It is one commit, made from the version in which that was seen: whoever stores rows meanwhile makes it fail. Ledgers
stand as they do, for what the log says of partitions stays in it. A run that began with the old types is refused when
it commits, as the log tells it that the columns have changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.core.errors import LakeError
from tailrace.lake.damage import not_mounted
from tailrace.lake.log import logged
from tailrace.lake.paths import PARTITION_COLUMNS
from tailrace.lake.place import Place
from tailrace.lake.table import missing_fields
from tailrace.lake.table_place import is_elsewhere

if TYPE_CHECKING:
    from deltalake import DeltaTable


def needs_no_type(delta: DeltaTable, root: Place) -> bool:
    """Has the table no file, in this version and in all that can be gone back to?"""
    if delta.get_add_actions().num_rows:
        return False
    removed = {path for commit in logged(root) for path, _ in commit.removed}
    if not_mounted(root, [path for path in removed if is_elsewhere(path)]) is not None:
        return False
    try:
        return not root.sizes(removed)
    except LakeError:  # a tier that is not configured any more: nobody knows
        return False


def retype(delta: DeltaTable, schema: pa.Schema) -> None:
    """Give the table these columns, from the version at hand; raises CommitFailedError if there is a later one."""
    from deltalake import CommitProperties, write_deltalake

    stored = pa.schema(delta.schema())
    write_deltalake(
        delta,
        pa.Table.from_batches([], retyped(stored, schema)),
        mode="overwrite",
        schema_mode="overwrite",
        partition_by=list(PARTITION_COLUMNS),
        commit_properties=CommitProperties(max_commit_retries=0),
    )


def retyped(stored: pa.Schema, wanted: pa.Schema) -> pa.Schema:
    """The stored columns; those of which another type or spelling is wanted are as wanted."""
    by_name = {field.name.lower(): field for field in wanted}
    fields = (by_name[f.name.lower()] if _differs(f, by_name.get(f.name.lower())) else f for f in stored)
    return pa.schema(list(fields))


def _differs(stored: pa.Field, wanted: pa.Field | None) -> bool:
    try:
        missing_fields(pa.schema([stored]), pa.schema([] if wanted is None else [wanted]), "")
    except LakeError:
        return True
    return False

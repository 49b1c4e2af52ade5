"""Delta tables: made empty, widened when columns join, never changed in type while there are rows."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as pt

from tailrace.core.errors import LakeError
from tailrace.lake.damage import reading_log, require_commits, writing_log
from tailrace.lake.paths import PARTITION_COLUMNS, Lake
from tailrace.lake.place import Place
from tailrace.lake.stored import exists as exists
from tailrace.lake.types import JOINED_LATER, type_name

if TYPE_CHECKING:
    from deltalake import DeltaTable

UNDO_RETENTION = "interval 30 days"
ATTEMPTS = 20
"Tries of a commit that others keep overtaking."
_WAY_OUT = "`tailrace partition delete --for-good` all that the table holds, and collect it again"
_PROPERTIES: dict[str, str | None] = {
    "delta.logRetentionDuration": UNDO_RETENTION,
    "delta.deletedFileRetentionDuration": UNDO_RETENTION,
    # Whoever opens the table reads every commit since, each in a thread of its own, which delta-rs keeps for a while.
    "delta.checkpointInterval": "20",
    # Readers look at the first 32 columns otherwise, and `tp_timestamp` stands behind a table's own columns.
    "delta.dataSkippingNumIndexedCols": "-1",
}


def undo_retention(delta: DeltaTable) -> timedelta:
    """For how long the table's earlier versions can be seen and restored."""
    said = delta.metadata().configuration.get("delta.deletedFileRetentionDuration") or UNDO_RETENTION
    number, unit = said.removeprefix("interval ").split()
    return timedelta(**{f"{unit.rstrip('s')}s": int(number)})


def open_table(root: Place) -> DeltaTable:
    """The table at its latest version."""
    delta = _opened(root, None)
    require_commits(root, delta.version())
    return delta


def open_version(root: Place, version: int) -> DeltaTable | None:
    """The table at a version that there was; None: its log does not go back so far any more."""
    try:
        delta = _opened(root, version)
    except LakeError:
        return None
    require_commits(root, version)
    return delta


def _opened(root: Place, version: int | None) -> DeltaTable:
    from deltalake import DeltaTable

    with reading_log(root):
        return DeltaTable(root.delta_uri, version, _options(root))


def _options(root: Place) -> dict[str, str] | None:
    options = root.storage_options
    return None if options is None else dict(options)


def open_or_create(lake: Lake, table: str, schema: pa.Schema) -> DeltaTable:
    """The table, with at least the given columns; created empty if it is not there."""
    from deltalake import CommitProperties, DeltaTable, Schema
    from deltalake.exceptions import DeltaError

    root = lake.table_root(table)
    if not exists(root):
        if root.is_local:
            os.makedirs(root.uri, exist_ok=True)
        try:
            with writing_log(root):
                return DeltaTable.create(
                    root.delta_uri,
                    Schema.from_arrow(schema),
                    mode="error",
                    partition_by=list(PARTITION_COLUMNS),
                    name=table,
                    configuration=_PROPERTIES,
                    storage_options=_options(root),
                    # A retry would put a second creation on top of the other's table.
                    commit_properties=CommitProperties(max_commit_retries=0),
                )
        except DeltaError:
            # Another process created it first: as good as our own.
            if not exists(root):
                raise
    return widen(open_table(root), schema, root)


def widen(delta: DeltaTable, schema: pa.Schema, root: Place) -> DeltaTable:
    """Add the columns and struct fields that the table lacks; refuse one whose type differs, if there are rows."""
    from deltalake import Field
    from deltalake.exceptions import CommitFailedError

    for _ in range(ATTEMPTS):
        try:
            missing = missing_fields(pa.schema(delta.schema()), schema, delta.table_uri)
        except LakeError:
            from tailrace.lake.retyping import needs_no_type, retype

            if not needs_no_type(delta, root):
                raise
            with suppress(CommitFailedError), writing_log(root):
                retype(delta, schema)
        else:
            if not missing:
                return delta
            # Someone else may change the table meanwhile, perhaps adding the same columns: look again.
            with suppress(CommitFailedError), writing_log(root):
                delta.alter.add_columns([Field.from_arrow(field) for field in missing])
        delta.update_incremental()
    raise LakeError("the table's schema keeps changing", code="lake.busy", where=delta.table_uri)


def missing_fields(stored: pa.Schema, wanted: pa.Schema, where: str) -> list[pa.Field]:
    """Fields of `wanted` that `stored` lacks; a struct field carries only what is new inside it."""
    return _missing(list(stored), list(wanted), "", where)


def _missing(stored: list[pa.Field], wanted: list[pa.Field], prefix: str, where: str) -> list[pa.Field]:
    by_name = {f.name: f for f in stored}
    spelled = {f.name.lower(): f.name for f in stored}
    found: list[pa.Field] = []
    for field in wanted:
        old = by_name.get(field.name)
        if old is None and field.name.lower() in spelled:
            raise LakeError(
                f"column {prefix}{field.name} is stored as {prefix}{spelled[field.name.lower()]}",
                code="lake.case-change",
                where=where,
                hint=f"SQL does not tell upper case from lower: keep the stored spelling, or {_WAY_OUT}",
            )
        if old is None:
            found.append(_joining(field) if prefix else field)
        elif pt.is_struct(old.type) and pt.is_struct(field.type):
            inner = _missing(old.type.fields, field.type.fields, f"{prefix}{field.name}.", where)
            if inner:
                found.append(pa.field(field.name, pa.struct(inner)))
        elif type_name(old.type) != type_name(field.type):
            raise LakeError(
                f"column {prefix}{field.name} is stored as {type_name(old.type)} and cannot become "
                f"{type_name(field.type)}",
                code="lake.type-change",
                where=where,
                hint=f"keep the old type, give the new one a column name of its own, or {_WAY_OUT}",
            )
    return found


def _joining(field: pa.Field) -> pa.Field:
    """A field of a struct that older files lack, marked so that readers know."""
    return field.with_metadata({**(field.metadata or {}), JOINED_LATER: b"true"})


def stored_schema(lake: Lake, table: str) -> pa.Schema | None:
    """The table's columns as the log has them; None when there is no such table."""
    root = lake.table_root(table)
    return pa.schema(open_table(root).schema()) if exists(root) else None

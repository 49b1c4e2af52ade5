"""Export as an Iceberg table: data files copied or left where they are, and metadata that engines open by themselves.

The catalogue is a SQLite file in the target. Each table can be opened without it too, by its directory: the current
metadata lie there under the name that `version-hint.text` tells.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table, Transaction
from pyiceberg.typedef import Record
from sqlalchemy import URL
from sqlalchemy.exc import DatabaseError, OperationalError

from tailrace.core.errors import LakeError, UsageError
from tailrace.export.copying import Told, check_room, copy_all
from tailrace.export.iceberg_schema import iceberg_schema, partition_spec
from tailrace.export.scope import Exported, Held, Plan, Scope, files_of, plan
from tailrace.export.target import Target, remove, write_whole
from tailrace.lake.paths import encode_value
from tailrace.lake.snapshot import Snapshot
from tailrace.lake.steps import reached

CATALOG = "catalog.db"
NAMESPACE = "tailrace"
_MAPPING = "schema.name-mapping.default"
"Files carry no numbers of fields: columns are found by name."
_EPOCH = date(1970, 1, 1)
_KEPT_SNAPSHOTS = 2
"The current one, and the one before it for those who are still reading."


@contextmanager
def _reading_catalog(path: Path) -> Iterator[None]:
    """What SQLite says, without the SQL that it says it of."""
    try:
        yield
    except DatabaseError as error:
        what = "written" if isinstance(error, OperationalError) else "read"
        hint = "export to another directory, or delete this one"
        if isinstance(error, OperationalError):
            hint = "see that there is room and that it may be written to, and run the command again: it goes on"
        message = f"the catalogue cannot be {what}: {error.orig}"
        raise LakeError(message, code="lake.io", where=str(path), hint=hint) from None


class IcebergExport:
    """One table. With `in_place` it refers to the lake's own files."""

    def __init__(self, target: Target, snapshot: Snapshot, *, in_place: bool = False) -> None:
        self.target, self.snapshot, self.in_place = target, snapshot, in_place
        self.root = target.directory / encode_value(snapshot.table)
        self.name = (NAMESPACE, snapshot.table)
        # It warns of every column without statistics, which is as we want it.
        logging.getLogger("pyiceberg.io.pyarrow").setLevel(logging.ERROR)

    def plan(self, scope: Scope, *, only: bool) -> Plan:
        wanted = {self._called(file): file for file in files_of(self.snapshot) if scope.holds(file)}
        with _reading_catalog(self.target.directory / CATALOG):
            table = self._table() if (self.target.directory / CATALOG).exists() else None
        return replace(plan(self.snapshot, scope, wanted, _held(table), only=only), in_place=self.in_place)

    def apply(self, todo: Plan, told: Told) -> Exported:
        """Copies, then one snapshot of Iceberg that adds and removes, then clears away what no snapshot needs."""
        if not self.in_place:
            check_room(self.root, todo.copied_bytes)
            copy_all(self.snapshot.root, self._missing(todo.copied), self.root, self.target.staging, told)
        with _reading_catalog(self.target.directory / CATALOG):
            table = self._table() or self._new_table()
            self._widen(table)
            if not todo.is_empty:
                self._commit(table, todo)
                reached("export-committed")
        self._show(table)
        self._clear(table)
        return Exported.of(todo, str(self.root))

    def _called(self, file: Held) -> str:
        """The file as Iceberg knows it. A copy has a plain name, whatever characters its directories had."""
        if self.in_place:
            if not self.snapshot.root.has_near(file.name):
                message = "--in-place cannot be: a file is not on a disk of this machine"
                raise UsageError(message, code="usage.export", where=file.name, hint="leave it out")
            return self.snapshot.root.address(file.name)
        digest = hashlib.blake2b(file.name.encode(), digest_size=6).hexdigest()
        return str(self.root / "data" / file.day.isoformat() / f"{digest}-{file.name.rpartition('/')[2]}")

    def _missing(self, files: Mapping[str, Held]) -> dict[str, Held]:
        """By path below the table's directory; those that a run which was cut off had copied already are not."""
        found: dict[str, Held] = {}
        for name, file in files.items():
            with suppress(FileNotFoundError):
                if Path(name).stat().st_size == file.size:
                    continue
            found[str(Path(name).relative_to(self.root))] = file
        return found

    # Iceberg's side

    def _catalog(self) -> SqlCatalog:
        place = self.target.directory
        # A directory may be called `a?b` or `%41`, which an address made by hand would take for something else.
        address = URL.create("sqlite", database=str(place / CATALOG)).render_as_string()
        return SqlCatalog("tailrace", uri=address, warehouse=str(place))

    def _table(self) -> Table | None:
        try:
            return self._catalog().load_table(self.name)
        except NoSuchTableError:
            return None

    def _new_table(self) -> Table:
        catalog, schema = self._catalog(), iceberg_schema(self.snapshot.schema)
        catalog.create_namespace_if_not_exists(NAMESPACE)
        return catalog.create_table(
            self.name,
            schema,
            location=str(self.root),
            partition_spec=partition_spec(schema),
            properties={
                _MAPPING: schema.name_mapping.model_dump_json(),
                "write.metadata.delete-after-commit.enabled": "true",
                "write.metadata.previous-versions-max": "2",
            },
        )

    def _widen(self, table: Table) -> None:
        """Columns and fields that have joined the lake's table since."""
        before = table.schema()
        with table.transaction() as transaction:
            with transaction.update_schema() as update:
                update.union_by_name(iceberg_schema(self.snapshot.schema))
            mapping = transaction.table_metadata.schema().name_mapping.model_dump_json()
            if transaction.table_metadata.schema() != before:
                transaction.set_properties({_MAPPING: mapping})
        table.refresh()

    def _commit(self, table: Table, todo: Plan) -> None:
        gone = {file.file_path: file for file in _data_files(table) if file.file_path in todo.removed}
        notes = {"tailrace.version": str(self.snapshot.version)}
        with table.transaction() as transaction:
            update = transaction.update_snapshot(snapshot_properties=notes)
            with update.overwrite() if gone else update.fast_append() as change:
                for name, file in todo.copied.items():
                    change.append_data_file(_data_file(transaction, name, file))
                for data_file in gone.values():
                    change.delete_data_file(data_file)
        table.refresh()

    def _show(self, table: Table) -> None:
        """For engines that are given a directory, not a catalogue."""
        current = Path(table.metadata_location)
        version = int(current.name.partition("-")[0]) + 1
        write_whole(current.with_name(f"v{version}.metadata.json"), current.read_text())
        write_whole(current.with_name("version-hint.text"), str(version))

    def _clear(self, table: Table) -> None:
        """Expires old snapshots and deletes the files that none of the others names."""
        snapshots = sorted(table.metadata.snapshots, key=lambda s: s.sequence_number or 0)
        old = [snapshot.snapshot_id for snapshot in snapshots[:-_KEPT_SNAPSHOTS]]
        if old:
            table.maintenance.expire_snapshots().by_ids(old).commit()
            table.refresh()
            self._show(table)
        needed = set(_needed(table))
        for folder, pattern in ((self.root / "data", "*/*.parquet"), (self.root / "metadata", "*")):
            for path in folder.glob(pattern):
                if str(path) not in needed:
                    remove(path, self.root)


def _held(table: Table | None) -> Iterator[Held]:
    for file in _data_files(table) if table is not None else ():
        partition, index, day = (file.partition[i] for i in range(3))
        yield Held(file.file_path, partition, index, _day(day), file.file_size_in_bytes, file.record_count)


def _day(value: int | date) -> date:
    return value if isinstance(value, date) else date.fromordinal(_EPOCH.toordinal() + value)


def _data_files(table: Table) -> Iterable[DataFile]:
    return [task.file for task in table.scan().plan_files()]


def _data_file(transaction: Transaction, name: str, file: Held) -> DataFile:
    """With the statistics of its own footer."""
    metadata = transaction.table_metadata
    schema = metadata.schema()
    statistics = data_file_statistics_from_parquet_metadata(
        parquet_metadata=pq.read_metadata(name),
        stats_columns=compute_statistics_plan(schema, metadata.properties),
        parquet_column_mapping=parquet_path_to_id_mapping(schema),
    )
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=name,
        file_format=FileFormat.PARQUET,
        partition=Record(file.partition, file.index, (file.day - _EPOCH).days),
        file_size_in_bytes=file.size,
        sort_order_id=None,
        spec_id=metadata.default_spec_id,
        equality_ids=None,
        key_metadata=None,
        **statistics.to_serialized_dict(),
    )


def _needed(table: Table) -> Iterator[str]:
    """Paths of all files that a snapshot of the table names, and of its metadata."""
    current = Path(table.metadata_location)
    yield from (str(current), str(current.with_name("version-hint.text")))
    yield str(current.with_name(f"v{current.with_name('version-hint.text').read_text()}.metadata.json"))
    yield from (entry.metadata_file for entry in table.metadata.metadata_log)
    for snapshot in table.metadata.snapshots:
        yield snapshot.manifest_list
        for manifest in snapshot.manifests(table.io):
            yield manifest.manifest_path
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
                yield entry.data_file.file_path

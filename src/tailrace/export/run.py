"""An export from its wish to its end, table by table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, Protocol

from tailrace.core.errors import ConfigError, UsageError
from tailrace.core.extras import install
from tailrace.export.copying import copy_error
from tailrace.export.hive import HiveExport
from tailrace.export.scope import Exported, Plan, Scope
from tailrace.export.target import Target
from tailrace.lake.paths import Lake
from tailrace.lake.snapshot import Snapshot, snapshot

Kind = Literal["hive", "iceberg"]
Told = Callable[[int, int], None]
"Bytes that are to be copied in all, and bytes that have been since the last time."


class TableExport(Protocol):
    """One table in one form."""

    root: Path

    def plan(self, scope: Scope, *, only: bool) -> Plan: ...

    def apply(self, todo: Plan, told: Callable[[int], None]) -> Exported: ...


class Export:
    """All tables of one command, in one form."""

    def __init__(self, lake: Lake, directory: Path, kind: Kind, *, only: bool = False, in_place: bool = False) -> None:
        self.lake, self.only, self.in_place = lake, only, in_place
        self.target = Target(directory, kind)
        if in_place and (kind == "hive" or not lake.data_root.is_local):
            what = "a hive tree is its files" if kind == "hive" else "the lake is not on a disk of this machine"
            raise UsageError(f"--in-place cannot be: {what}", code="usage.export", hint="leave it out")
        if lake.data_root.is_local and Path(str(lake.data_root)) in (directory, *directory.parents):
            hint = "choose a directory outside of it"
            raise UsageError("that is in the lake", code="usage.export-target", where=str(directory), hint=hint)

    def look(self, scopes: Mapping[str, Scope]) -> list[Exported]:
        """What would be done; nothing is."""
        self.target.check()
        return [Exported.of(one.plan(scope, only=self.only), str(one.root)) for one, scope in self._each(scopes)]

    def run(self, scopes: Mapping[str, Scope], told: Told) -> list[Exported]:
        """Does it; what was done of one table stays when another fails."""
        try:
            with self.target.held():
                planned = [(one, one.plan(scope, only=self.only)) for one, scope in self._each(scopes)]
                total = sum(todo.copied_bytes for _, todo in planned)
                return [one.apply(todo, lambda more: told(total, more)) for one, todo in planned]
        except OSError as error:
            raise copy_error(error, self.target.directory) from error

    def _each(self, scopes: Mapping[str, Scope]) -> list[tuple[TableExport, Scope]]:
        return [(self._export(snapshot(self.lake, table)), scope) for table, scope in scopes.items()]

    def _export(self, seen: Snapshot) -> TableExport:
        if self.target.kind == "hive":
            return HiveExport(self.target, seen)
        try:
            from tailrace.export.iceberg import IcebergExport
        except ImportError as error:
            raise ConfigError(
                f"exporting as Iceberg needs {error.name}, which is not installed",
                code="config.missing-package",
                hint=install("iceberg"),
            ) from None
        return IcebergExport(self.target, seen, in_place=self.in_place)

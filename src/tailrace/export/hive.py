"""Export as a plain hive tree: `tp_table=…/tp_partition=…/tp_index=…/tp_date=…/*.parquet`, with no log to ask.

A file with the list of files and the columns lies beside them. It is replaced when all new files are there and before
files that are gone are deleted: whoever reads by it sees one version of the lake.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime

from tailrace.export.copying import Told, check_room, copy_all
from tailrace.export.scope import Exported, Held, Plan, Scope, files_of, plan
from tailrace.export.target import Target, remove, write_whole
from tailrace.lake.paths import data_path, decode_value, encode_value
from tailrace.lake.snapshot import Snapshot
from tailrace.lake.steps import reached
from tailrace.lake.table_place import is_elsewhere
from tailrace.lake.types import type_name

LIST = "_tailrace.json"
"Spark and others pass over names that begin so."


class HiveExport:
    """One table."""

    def __init__(self, target: Target, snapshot: Snapshot) -> None:
        self.target, self.snapshot = target, snapshot
        self.root = target.directory / f"tp_table={encode_value(snapshot.table)}"

    def plan(self, scope: Scope, *, only: bool) -> Plan:
        """Files keep their names, which are never used twice, in the directories of their days."""
        wanted = {_called(file): file for file in files_of(self.snapshot) if scope.holds(file)}
        return plan(self.snapshot, scope, wanted, self._present(), only=only)

    def apply(self, todo: Plan, told: Told) -> Exported:
        """Copies, names, lists, deletes: in this order.

        The list is written in any case: an export that was cut off may have named all its files, and listed none.
        """
        check_room(self.root, todo.copied_bytes)
        copy_all(self.snapshot.root, todo.copied, self.root, self.target.staging, told)
        self._write_list([file for file in self._present() if file.name not in todo.removed], todo)
        reached("export-listed")
        for name in todo.removed:
            remove(self.root / name, self.root)
            reached("export-removed")
        return Exported.of(todo, str(self.root))

    def _present(self) -> Iterator[Held]:
        for path in sorted(self.root.glob("tp_partition=*/tp_index=*/tp_date=*/*.parquet")):
            name = path.relative_to(self.root).as_posix()
            partition, index, day, _ = name.split("/")
            values = [decode_value(part.partition("=")[2]) for part in (partition, index, day)]
            with suppress(ValueError):  # not a day: somebody else's
                yield Held(name, values[0], values[1], date.fromisoformat(values[2]), path.stat().st_size)

    def _write_list(self, files: list[Held], todo: Plan) -> None:
        now = {name: file.rows for name, file in (*todo.copied.items(), *todo.kept.items())}
        rows = self._listed_rows(files) | now
        content = {
            "table": self.snapshot.table,
            "version": self.snapshot.version,
            "exported_at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            "columns": [{"name": field.name, "type": type_name(field.type)} for field in self.snapshot.schema],
            "files": [{"path": file.name, "bytes": file.size, "rows": rows[file.name]} for file in files],
        }
        write_whole(self.root / LIST, json.dumps(content, indent=1, ensure_ascii=False))

    def _listed_rows(self, files: list[Held]) -> dict[str, int | None]:
        """Of files that earlier exports have brought, and this one was not asked about."""
        known: dict[str, int | None] = dict.fromkeys(file.name for file in files)
        with suppress(OSError, ValueError, KeyError):
            known |= {entry["path"]: entry["rows"] for entry in json.loads((self.root / LIST).read_text())["files"]}
        return known


def _called(file: Held) -> str:
    """Whatever directories a tier may have."""
    if not is_elsewhere(file.name):
        return file.name
    return f"{data_path(file.partition, file.index, file.day)}/{file.name.rpartition('/')[2]}"

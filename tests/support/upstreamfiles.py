"""Files as OpenTelemetry's own Parquet exporter writes them, its defects included."""

from __future__ import annotations

import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailrace.windows.schema import ATTRIBUTES, Tables


class Exporter:
    """One core of one run: batches get an offset, which `resource.id` and `scope.id` do not."""

    def __init__(self, base: Path, part_id: str | None, *, dictionaries: bool = False, event_name: bool = True) -> None:
        self.base, self.part_id = base, part_id
        self.offset = 0
        self.created = 1_790_000_000_000
        self._pending: list[Tables] = []
        self._dictionaries, self._event_name = dictionaries, event_name

    def export(self, tables: Tables) -> None:
        """One batch, its ids from zero."""
        largest = pc.max(tables.logs["id"]).as_py() or 0
        logs = tables.logs.set_column(0, "id", _added(tables.logs["id"], self.offset))
        attributes = (tables.of(name) for name in ATTRIBUTES)
        moved = (t.set_column(0, "parent_id", _added(t["parent_id"], self.offset)) for t in attributes)
        self._pending.append(Tables(logs, *moved))
        self.offset += largest + 1

    def flush(self) -> None:
        """One file per table that has rows, children first."""
        if not self._pending:
            return
        self.created += 1_000
        for name in (*ATTRIBUTES, "logs"):
            table = pa.concat_tables([tables.of(name) for tables in self._pending])
            if len(table):
                self._write(name, _as_exported(table) if name == "logs" else table)
        self._pending = []

    def _write(self, name: str, table: pa.Table) -> None:
        if self._dictionaries:
            for place, field in enumerate(table.schema):
                if pa.types.is_string(field.type):
                    table = table.set_column(place, field.name, table[field.name].combine_chunks().dictionary_encode())
        if name == "logs" and not self._event_name:
            table = table.drop_columns(["event_name"])
        folder = self.base / name / (f"_part_id={self.part_id}" if self.part_id else "")
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, folder / f"part-{self.created}-{uuid.uuid4()}.parquet", compression="none")


def _added(ids: pa.ChunkedArray, offset: int) -> pa.ChunkedArray:
    return pc.add(ids, pa.scalar(offset, pa.uint32()))


def _as_exported(logs: pa.Table) -> pa.Table:
    """Short ids of resources and scopes; ids of the short type where all are null."""
    for name in ("resource", "scope"):
        array = logs[name].combine_chunks()
        fields = [pa.field("id", pa.uint16()), *(array.type.field(n) for n in range(1, array.type.num_fields))]
        parts = [pc.struct_field(array, "id").cast(pa.uint16()), *(pc.struct_field(array, f.name) for f in fields[1:])]
        made = pa.StructArray.from_arrays(parts, fields=fields)
        logs = logs.set_column(logs.column_names.index(name), name, made)
    if logs["id"].null_count == len(logs):
        logs = logs.set_column(0, "id", logs["id"].cast(pa.uint16()))
    return logs

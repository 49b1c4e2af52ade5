"""Golden pairs: `in.*` holds a few records of a table in its default format, `out.jsonl` what has to become of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.core import Table
from tailrace.core.registry import find_table
from tailrace.formats import decoder
from tailrace.formats.base import Batch
from tailrace.pipeline.compute import Computer
from tailrace.pipeline.misfits import told
from tailrace.testing.decoding import decoded

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """The pair of one table."""

    name: str
    directory: Path

    @property
    def table(self) -> Table:
        table = find_table(self.name)
        assert table is not None
        return table

    @property
    def given(self) -> bytes:
        """What goes in."""
        found = sorted(self.directory.glob("in.*"))
        assert len(found) == 1, f"{self.directory} needs one file in.*"
        return found[0].read_bytes()

    @property
    def expected(self) -> list[Entry]:
        """What has to come out."""
        path = self.directory / "out.jsonl"
        assert path.is_file(), f"{path} is missing: --tailrace-update-golden writes it"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def update(self) -> None:
        """Write what comes out; somebody has to read it."""
        lines = [json.dumps(entry, ensure_ascii=False) + "\n" for entry in self.entries()]
        (self.directory / "out.jsonl").write_text("".join(lines))

    def batches(self, *chunks: bytes) -> list[Batch]:
        """What the table's own engine makes of the input, in these pieces if there are any."""
        table = self.table
        return decoded(decoder(table, table.format), table.columns, chunks or [self.given])

    def entries(self, *chunks: bytes) -> list[Entry]:
        """Everything that comes out, in the order of its place: rows without nulls, and what was refused."""
        entries: list[Entry] = []
        for batch in self.batches(*chunks):
            entries += _rows(self.table, batch)
            entries += [
                {"at": bad.position, "refused": bad.reason, "raw": bad.raw.decode(errors="replace")}
                for bad in batch.bad
            ]
        return sorted(entries, key=lambda entry: int(entry["at"]))


def computed(table: Table, batch: Batch) -> dict[str, Any]:
    """The batch's columns and those that SQL makes of them."""
    return _computed(table, batch)[0]


def extras_of(table: Table, batch: Batch) -> list[str | None]:
    """Per row what is told beside its columns."""
    return _computed(table, batch)[1]


def _computed(table: Table, batch: Batch) -> tuple[dict[str, Any], list[str | None]]:
    columns = dict(batch.columns)
    extra = batch.extra
    if any(column.sql for column in table.columns) and batch.rows:
        refused, misfits = Computer(table.columns, None, ()).compute(columns, batch.rows)
        assert not refused, "an expression of a table refuses no row"
        extra = told(extra, misfits, batch.rows)[0] if misfits else extra
    return columns, [None] * batch.rows if extra is None else extra.to_pylist()


def _rows(table: Table, batch: Batch) -> Iterator[Entry]:
    columns, extras = _computed(table, batch)
    for row in range(batch.rows):
        values = {c.name: columns[c.name][row].as_py() for c in table.columns if c.name in columns}
        entry = {"at": int(batch.positions[row]), "row": _tidy(values)}
        extra = extras[row]
        yield entry | ({"extra": json.loads(extra)} if extra else {})


def _tidy(value: Any) -> Any:
    """Without nulls, and as JSON can say it."""
    if isinstance(value, dict):
        return {key: _tidy(inner) for key, inner in value.items() if inner is not None}
    return value if isinstance(value, str | int | float | bool | list) else str(value)

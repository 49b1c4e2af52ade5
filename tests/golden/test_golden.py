"""Each built-in table reads `in.*` in its default format into what `out.jsonl` says.

After a wanted change: `pytest tests/golden --update-golden`, and look at the difference line by line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tailrace.core import Table
from tailrace.core.registry import find_table, table_names
from tailrace.formats import decoder
from tailrace.formats.base import Batch
from tailrace.pipeline.compute import Computer

HERE = Path(__file__).parent
each_table = pytest.mark.parametrize("name", table_names())


@dataclass
class Chunks:
    chunks: Sequence[bytes]
    truncated: bool = False

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.chunks)


def source_of(name: str) -> Path:
    found = sorted((HERE / name).glob("in.*"))
    assert len(found) == 1, f"tests/golden/{name} needs one file in.*"
    return found[0]


def read(name: str) -> list[dict[str, Any]]:
    """Everything that comes out, in the order of its place: rows without nulls, and what was refused."""
    table = find_table(name)
    assert table is not None
    entries: list[dict[str, Any]] = []
    data = source_of(name).read_bytes()
    for batch in decoder(table, table.format).decode(Chunks([data])):
        entries += rows_of(table, batch)
        entries += [
            {"at": bad.position, "refused": bad.reason, "raw": bad.raw.decode(errors="replace")} for bad in batch.bad
        ]
    return sorted(entries, key=lambda entry: int(entry["at"]))


def rows_of(table: Table, batch: Batch) -> Iterator[dict[str, Any]]:
    columns = dict(batch.columns)
    refused: dict[int, str] = {}
    if any(c.sql for c in table.columns) and batch.rows:
        refused = Computer(table.columns, None, ()).compute(columns, batch.rows)
    assert not refused
    for row in range(batch.rows):
        values = {c.name: columns[c.name][row].as_py() for c in table.columns if c.name in columns}
        entry = {"at": int(batch.positions[row]), "row": tidy(values)}
        extra = batch.extra[row].as_py() if batch.extra is not None else None
        yield entry | ({"extra": json.loads(extra)} if extra else {})


def tidy(value: Any) -> Any:
    """Without nulls, and as JSON can say it."""
    if isinstance(value, dict):
        return {key: tidy(inner) for key, inner in value.items() if inner is not None}
    return value if isinstance(value, str | int | float | bool | list) else str(value)


@each_table
def test_table_reads_what_it_should(name: str, request: pytest.FixtureRequest) -> None:
    expected = HERE / name / "out.jsonl"
    entries = read(name)
    if request.config.getoption("--update-golden", default=False):
        expected.write_text("".join(json.dumps(e, ensure_ascii=False) + "\n" for e in entries))
    assert entries == [json.loads(line) for line in expected.read_text().splitlines()]


@each_table
def test_pair_shows_good_odd_misfit_and_broken(name: str) -> None:
    entries = [json.loads(line) for line in (HERE / name / "out.jsonl").read_text().splitlines()]
    misfits = [e for e in entries if "tp_misfit" in e.get("extra", {})]
    fine = [e for e in entries if "row" in e and e not in misfits]
    assert len(fine) >= 2, "a good record and an odd one"
    assert misfits, "a record with a value that does not fit its column"
    assert any("refused" in e for e in entries), "a record that cannot be read"

"""What real logs became, in numbers: one `Measured` per table and data set, for assertions and for the report."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from world import World

from tailrace.pipeline.report import PartitionReport

Expected = list[dict[str, Any]]
Row = dict[str, Any]
Same = Callable[[str, Any, Any], bool]
"Whether what a field (first) has in the lake is what was expected."

REPORT = Path(__file__).resolve().parents[2] / "docs" / "conformance.json"
PUBLISHED, PYTHON = "published answer", "plain reader"
"Who says what has to come of a data set: answers that stand beside it, or Python's json, csv, re and the like."
GENERATED = "generated"
"Shown as the name of a data set that was made by the test: the report is of real logs."


@dataclass(frozen=True, slots=True)
class Measured:
    """One data set read into one table."""

    table: str
    dataset: str
    "Where it stands below the directory of real logs."
    received: int
    stored: int
    quarantined: int
    compared: int = 0
    "Fields that the expected parse and the table both have."
    equal: int = 0
    bad: int = 0
    "Records that the data set is known to hold and that no reader can take."
    differing: tuple[str, ...] = ()
    "The first fields that are not equal, for whoever reads the failure."
    reader: str = ""
    format: str = ""
    "The format that was asked for, where it is not the table's own."
    reasons: tuple[str, ...] = ()
    "Why records were quarantined."

    @property
    def stored_share(self) -> float:
        """Of the well-formed records, those that were stored."""
        return self.stored / (self.received - self.bad) if self.received > self.bad else 1.0

    @property
    def equal_share(self) -> float:
        return self.equal / self.compared if self.compared else 1.0

    def check(self) -> None:
        """What the project promises for every data set."""
        assert self.received == self.stored + self.quarantined, self
        assert self.quarantined == self.bad or self.stored_share >= 0.999, self
        assert self.stored_share >= 0.999, self
        assert self.equal_share >= 0.99, self


RECORDED: list[Measured] = []
"Everything that was measured in this session, in order."


def record(measured: Measured) -> None:
    """Puts something that was measured elsewhere into the report."""
    RECORDED.append(measured)


def measure(
    world: World,
    table: str,
    data: Path,
    dataset: str,
    *,
    expected: Expected | None = None,
    bad: int = 0,
    source: dict[str, str] | None = None,
    shown: str = "",
    reader: str = PUBLISHED,
    same: Same | None = None,
) -> Measured:
    """Collects a data set (a path or glob below `data`) and compares its rows, in order, with the expected fields.

    An expected record maps SQL expressions over the table's columns to values. `source`: more lines of its block.
    `shown`: the data set's name in the report, where the rows were copied out of it first.
    """
    report = world.collect_one(table, str(data / dataset), **(source or {}))
    asked = (source or {}).get("format", "").removeprefix("format.")
    return compare(
        world, report, table, shown or dataset, expected=expected, bad=bad, reader=reader, same=same, asked=asked
    )


def compare(
    world: World,
    report: PartitionReport,
    table: str,
    dataset: str,
    *,
    expected: Expected | None = None,
    bad: int = 0,
    reader: str = PUBLISHED,
    same: Same | None = None,
    asked: str = "",
) -> Measured:
    """What a collection that has been made stored, beside what was expected."""
    compared, differing = 0, list[str]()
    for number, field, found, wanted in _pairs(world, table, dataset, expected or []):
        compared += 1
        if not (same(field, found, wanted) if same else found == wanted):
            differing.append(f"{number}: {field} = {found!r}, expected {wanted!r}")
    counts = report.counts
    measured = Measured(
        table, dataset, counts.received, counts.stored, counts.quarantined, compared, compared - len(differing), bad,
        tuple(differing[:10]), reader if compared else "", asked,
        tuple(reason for (reason,) in world.query("select distinct reason from tp_quarantine order by 1")),
    )  # fmt: skip
    if dataset != GENERATED:
        record(measured)
    return measured


def _pairs(world: World, table: str, dataset: str, expected: Expected) -> list[tuple[int, str, Any, Any]]:
    """Number of the record, field, what was found, what was expected."""
    fields = sorted({field for record in expected for field in record})
    if not fields:
        return []
    select = ", ".join(f"({field})" for field in fields)
    rows = world.query(f"select {select} from {table} order by tp_source_location, tp_id")
    assert len(rows) == len(expected), f"{dataset}: {len(rows)} rows, {len(expected)} expected"
    return [
        (number, field, found, record[field])
        for number, (row, record) in enumerate(zip(rows, expected, strict=True))
        for field, found in zip(fields, row, strict=True)
        if field in record
    ]


# The report: what every test measured, kept beside the documentation


def told(measured: Measured, test: str) -> Row:
    """What the report says of a data set, and which test says it."""
    row = asdict(measured) | {"reasons": list(measured.reasons), "test": test}
    del row["differing"]
    return row


def key(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in ("dataset", "table", "format", "reader"))


def reported() -> list[Row]:
    found: list[Row] = json.loads(REPORT.read_text()) if REPORT.exists() else []
    return found


def write_report(fresh: list[Row]) -> None:
    """What was measured takes the place of what the same test files said before."""
    files = {row["test"].partition("::")[0] for row in fresh}
    kept = [row for row in reported() if row["test"].partition("::")[0] not in files]
    rows = sorted({key(row): row for row in kept + fresh}.values(), key=key)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    REPORT.write_text(f"[\n{lines}\n]\n")

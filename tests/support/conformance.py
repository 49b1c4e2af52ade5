"""What real logs became, in numbers: one `Measured` per table and data set, for assertions and for the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from world import World


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


Expected = list[dict[str, Any]]


def measure(
    world: World,
    table: str,
    data: Path,
    dataset: str,
    *,
    expected: Expected | None = None,
    bad: int = 0,
    source: dict[str, str] | None = None,
) -> Measured:
    """Collects a data set (a path or glob below `data`) and compares its rows, in order, with the expected fields.

    An expected record maps SQL expressions over the table's columns to values. `source`: more lines of its block.
    """
    report = world.collect_one(table, str(data / dataset), **(source or {}))
    counts = report.counts
    compared = equal = 0
    differing: list[str] = []
    fields = sorted({field for record in expected or () for field in record})
    if expected is not None and fields:
        select = ", ".join(f"({field})" for field in fields)
        rows = world.query(f"select {select} from {table} order by tp_source_location, tp_id")
        assert len(rows) == len(expected), f"{dataset}: {len(rows)} rows, {len(expected)} expected"
        for number, (row, record) in enumerate(zip(rows, expected, strict=True)):
            for field, found in zip(fields, row, strict=True):
                if field in record:
                    compared += 1
                    equal += found == record[field]
                    if found != record[field] and len(differing) < 10:
                        differing.append(f"{number}: {field} = {found!r}, expected {record[field]!r}")
    return Measured(
        table, dataset, counts.received, counts.stored, counts.quarantined, compared, equal, bad, tuple(differing)
    )

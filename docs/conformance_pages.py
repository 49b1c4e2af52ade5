"""What real logs became, as tables: from `conformance.json`, which `make conformance` writes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from block_pages import table_of

RESULTS = Path(__file__).resolve().parent / "conformance.json"
COUNTS = ("received", "stored", "quarantined", "bad", "compared", "equal")
Row = dict[str, Any]


def results() -> list[Row]:
    found: list[Row] = json.loads(RESULTS.read_text())
    return found


def _set_of(row: Row) -> str:
    return str(row["dataset"]).partition("/")[0]


def _summed(rows: list[Row]) -> Row:
    return {name: sum(row[name] for row in rows) for name in COUNTS} | {"inputs": len(rows)}


def _share(part: int, whole: int) -> str:
    """In per cent, never rounded up."""
    return f"{math.floor(part / whole * 10_000) / 100:.2f} %" if whole else ""


def _cells(row: Row) -> tuple[str, ...]:
    good = row["received"] - row["bad"]
    return (
        f"{row['received']:,}", f"{row['stored']:,}", f"{row['quarantined']:,}", f"{row['bad']:,}",
        _share(row["stored"], good), f"{row['compared']:,}", _share(row["equal"], row["compared"]),
    )  # fmt: skip


HEADS = ("in", "stored", "quarantined", "bad", "stored of the good", "fields compared", "equal")


def sets_region() -> str:
    """A row per data set and table."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in results():
        groups.setdefault((_set_of(row), row["table"]), []).append(row)
    rows = [(name, table, str(len(inner)), *_cells(_summed(inner))) for (name, table), inner in sorted(groups.items())]
    total = _summed(results())
    rows.append(("**all**", f"{len({table for _, table in groups})} tables", str(total["inputs"]), *_cells(total)))
    return table_of(("data set", "table", "inputs", *HEADS), rows)


def inputs_region() -> str:
    """A row per input, below the name of its data set."""
    rows = []
    for row in results():
        by = " ".join(filter(None, (f"`{row['format']}`" if row["format"] else "", row["reader"])))
        rows.append((f"`{row['dataset']}`", row["table"], *_cells(row), by))
    return table_of(("input", "table", *HEADS, "format, compared with"), rows)


def refused_region() -> str:
    """Why records were quarantined, and where."""
    rows = []
    for row in results():
        if row["quarantined"]:
            reasons = "; ".join(reason.partition(" (")[0] for reason in row["reasons"]) or "see the test"
            rows.append((f"`{row['dataset']}`", row["table"], f"{row['quarantined']:,}", reasons))
    return table_of(("input", "table", "quarantined", "because"), rows)

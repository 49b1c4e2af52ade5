"""What the ledger knows of a partition: what became of its records, by source."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.lake.paths import Lake

FATES = ("rows", "quarantined", "filtered", "duplicates", "out_of_range", "deleted")
"Of every record that was received, one. `rows` are those that are stored."


def told_by_ledger(lake: Lake, table: str, partition: str) -> Row:
    """Deleted ranges, artifacts by state, when each source was last collected, and what became of its records."""
    from tailrace.lake.deleted import deleted, erased
    from tailrace.lake.intents import read_ledger

    ledger = read_ledger(lake, table, partition)
    entries, ranges = ledger.entries, deleted(ledger.notes)
    gone: Row = {"deleted": [{"from": r.start, "to": r.end} for r in ranges]} if ranges else {}
    if conditions := erased(ledger.notes):
        told = [{"where": one.where, "from": one.window.start, "to": one.window.end} for one in conditions]
        gone["deleted_where"] = told
    if not entries.num_rows:
        return {"collected": None, "artifacts": 0, **gone}
    states = {v["values"]: v["counts"] for v in pc.value_counts(entries["status"]).to_pylist()}
    counts = ("received", *FATES)
    wanted = [("at", "max"), ("uri", "count"), *((count, "sum") for count in counts)]
    last = with_fates(entries).group_by("source", use_threads=False).aggregate(wanted)
    return {
        "collected": pc.max(entries["at"]).as_py().replace(microsecond=0),
        **gone,
        "artifacts": entries.num_rows,
        **{f"artifacts_{state}": count for state, count in sorted(states.items())},
        "collected_by_source": [
            {"source": r["source"], "last": r["at_max"].replace(microsecond=0), "artifacts": r["uri_count"]}
            | {count: r[f"{count}_sum"] for count in counts}
            for r in last.to_pylist()
        ],
    }


def with_fates(entries: pa.Table) -> pa.Table:
    """Entries of which the fates of all records add up to those received.

    The ledger has what the last reading of an artifact counted, and the rows that are stored of it. Rows that this
    reading passed over, because another part of the artifact was asked for, may be stored since an earlier one; others
    were stored once and have been deleted since, or lie in a range that is kept out.
    """
    number = {
        name: entries.column(name).fill_null(0).to_numpy()
        for name in ("received", "rows", "quarantined", "filtered", "duplicates", "out_of_range")
    }
    left = number["received"] - number["rows"] - number["quarantined"] - number["filtered"]
    duplicates = np.clip(number["duplicates"], 0, np.maximum(left, 0))
    left = left - duplicates
    all_times = pc.and_(pc.is_null(entries.column("taken_from")), pc.is_null(entries.column("taken_to"))).to_numpy()
    passed_over = np.where(all_times, 0, np.clip(number["out_of_range"], 0, np.maximum(left, 0)))
    found = {"duplicates": duplicates, "out_of_range": passed_over, "deleted": np.maximum(left - passed_over, 0)}
    kept = entries.select(["source", "at", "uri", "received", "rows", "quarantined", "filtered"])
    for name, values in found.items():
        kept = kept.append_column(name, pa.array(values, pa.int64()))
    return kept

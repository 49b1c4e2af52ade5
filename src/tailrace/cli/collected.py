"""What the ledger knows of a partition: what became of its records, by source."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.lake.paths import Lake


def told_by_ledger(lake: Lake, table: str, partition: str) -> Row:
    """Deleted ranges, artifacts by state, when each source was last collected, and what became of its records."""
    import pyarrow.compute as pc

    from tailrace.lake.deleted import deleted, erased
    from tailrace.lake.fates import FATES, with_fates
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

"""Before anything runs: the partition's table, the range that is meant, and what is still to be read of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from tailrace.config.model import Config, PartitionSpec
from tailrace.config.tables import tables_for
from tailrace.core import Table, TimeRange
from tailrace.lake.ledger import Known, Ledger
from tailrace.lake.paths import Lake
from tailrace.lake.table import stored_schema
from tailrace.pipeline.infer import with_inferred
from tailrace.pipeline.listing import Listed
from tailrace.pipeline.plan import Wanted

LOOK_BACK = timedelta(days=30)


def listing_window(asked: TimeRange, ledger: Ledger, now: datetime, back: timedelta = LOOK_BACK) -> TimeRange:
    """Where artifacts are looked for: as asked, else from the first collection's start, 30 days back at first."""
    if asked.start is not None:
        return asked
    noted = ledger.notes.get("from")
    last = asked.end or now
    earliest = datetime(last.year, last.month, last.day) - back
    start = datetime.fromisoformat(noted) if noted else earliest
    return TimeRange(start if asked.end is None or start < asked.end else earliest, asked.end)


def range_notes(window: TimeRange, ledger: Ledger) -> dict[str, str]:
    """What later runs have to know: the earliest start so far, so that a short look at one day hides no other."""
    starts = [start for start in (ledger.notes.get("from"), window.start and window.start.isoformat()) if start]
    return {"from": min(starts)} if starts else {}


def still_to_read(
    listed: Iterable[Wanted], known: dict[str, Known], asked: TimeRange, recipes: Sequence[str]
) -> dict[TimeRange, list[Wanted]]:
    """By range of rows: new artifacts, changed ones, and those that another range or recipe may give more of."""
    wanted: dict[TimeRange, list[Wanted]] = {}
    for item in listed:
        before = known.get(item.artifact.uri)
        rows = asked if before is None else _rows_to_read(item, before, asked, recipes[item.source])
        if rows is not None:
            wanted.setdefault(rows, []).append(item)
    return wanted


def _rows_to_read(item: Wanted, before: Known, asked: TimeRange, recipe: str) -> TimeRange | None:
    """None when nothing new can come of it; else the range, which includes what was taken before."""
    changed = before.version != item.artifact.version or before.status == "failed"
    # A mended format or filter is worth another look where it had something to mend.
    changed = changed or (before.recipe != recipe and bool(before.quarantined or before.filtered))
    return _hull(before, asked) if changed or not _covers(before, asked) else None


def _covers(before: Known, asked: TimeRange) -> bool:
    starts = before.taken_from is None or (asked.start is not None and before.taken_from <= asked.start)
    ends = before.taken_to is None or (asked.end is not None and before.taken_to >= asked.end)
    return starts and ends


def _hull(before: Known, asked: TimeRange) -> TimeRange:
    """The smallest range that holds both: rows taken earlier are replaced, so they must come again."""
    open_start = before.taken_from is None or asked.start is None
    open_end = before.taken_to is None or asked.end is None
    return TimeRange(
        None if open_start else min(before.taken_from, asked.start),  # type: ignore[type-var]
        None if open_end else max(before.taken_to, asked.end),  # type: ignore[type-var]
    )


def full_table(config: Config, spec: PartitionSpec, lake: Lake, listed: Listed) -> Table:
    """The table with every column spelled out: declared, stored already, or learned from the first records."""
    table = tables_for(config, spec.table)
    if not table.map_fields:
        return table
    samples = [(listed.sources[w.source], w.artifact, listed.formats[w.source]) for w in listed.artifacts]
    return with_inferred(table, stored_schema(lake, table.name), samples)

"""Before anything runs: the partition's table, the range that is meant, and what is still to be read of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from tailrace.config.model import Config, PartitionSpec
from tailrace.config.tables import tables_for
from tailrace.core import Table, TimeRange
from tailrace.lake.intents import read_ledger
from tailrace.lake.ledger import Known, Ledger
from tailrace.lake.paths import Lake
from tailrace.lake.table import stored_schema
from tailrace.pipeline.check import check_expressions
from tailrace.pipeline.infer import with_inferred
from tailrace.pipeline.job import recipe_of
from tailrace.pipeline.listing import Listed, Listing, Taking
from tailrace.pipeline.plan import Wanted
from tailrace.pipeline.report import PartitionReport
from tailrace.sources.base import Asked

LOOK_BACK = timedelta(days=30)
_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Survey:
    """What is known before anything is read."""

    table: Table
    "With every column spelled out."
    now: datetime
    ledger: Ledger
    window: TimeRange
    "Where artifacts were looked for."
    listed: Listed
    recipes: tuple[str, ...]
    "By number of the source."


def survey(
    config: Config,
    lake: Lake,
    spec: PartitionSpec,
    asked: TimeRange,
    report: PartitionReport,
    *,
    overwrite: bool,
    until: ExitStack | None = None,
) -> Survey:
    """Reads the ledger and lists the sources of one partition; without `until` nothing announced is taken."""
    table = tables_for(config, spec.table)
    now = datetime.now(UTC).replace(tzinfo=None)
    ledger = read_ledger(lake, table.name, spec.name)
    workspace = config.workspace(lake.workspace)
    back = spec.lookback or (workspace and workspace.lookback) or LOOK_BACK
    window = listing_window(asked, ledger, now, back)
    again = asked.start is not None or overwrite
    # What is to replace a range has to be all there is in it: announcements tell what is new alone.
    takes = None if overwrite else Taking(asked, until)
    listing = Listing(spec, table, ledger, report, lake, takes=takes)
    listed = listing.look(_days_of(window, ledger) if overwrite else window, now, again=again)
    table = full_table(config, spec, lake, listed)
    check_expressions(table, spec, config)
    recipes = tuple(recipe_of(table, fmt, spec.filter) for fmt in listed.formats)
    return Survey(table, now, ledger, window, listed, recipes)


def _days_of(window: TimeRange, ledger: Ledger) -> TimeRange:
    """The window, and the days of artifacts that have rows in it: a day's first rows may lie in yesterday's file."""
    last = None if window.end is None else (window.end - _INSTANT).date()
    touched = ledger.of_days(window.start.date() if window.start else None, last)
    days = [datetime.combine(day, time.min) for day in touched.column("day").to_pylist() if day is not None]
    start = None if window.start is None else min([window.start, *days])
    end = None if window.end is None else max([window.end, *(day + timedelta(days=1) for day in days)])
    return TimeRange(start, end)


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


def all_again(listed: Iterable[Wanted], known: dict[str, Known], asked: TimeRange) -> dict[TimeRange, list[Wanted]]:
    """Everything in the range; what has changed since is read as far as it was read before, too."""
    wanted: dict[TimeRange, list[Wanted]] = {}
    for item in listed:
        before = known.get(item.artifact.uri)
        changed = before is not None and before.version != item.artifact.version
        wanted.setdefault(_hull(before, asked) if before and changed else asked, []).append(item)
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
    stored = stored_schema(lake, table.name)
    samples = [
        (listed.sources[w.source], w.artifact, listed.formats[w.source])
        for w in listed.artifacts
        # To look into what is made on demand costs as much as to collect it: once is enough.
        if stored is None or not isinstance(listed.sources[w.source], Asked)
    ]
    return with_inferred(table, stored, samples)

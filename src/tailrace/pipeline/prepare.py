"""Before anything runs: the partition's table, the range that is meant, and what is still to be read of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from functools import reduce

from tailrace.config.model import Config, PartitionSpec
from tailrace.config.tables import tables_for
from tailrace.core import Artifact, Table, TimeRange
from tailrace.lake.intents import read_ledger
from tailrace.lake.ledger import COPY, Entry, Known, Ledger
from tailrace.lake.paths import Lake
from tailrace.lake.table import stored_schema
from tailrace.pipeline.check import check_expressions
from tailrace.pipeline.infer import with_inferred
from tailrace.pipeline.job import Held, Job, key_of, recipe_of
from tailrace.pipeline.listing import Listed, Listing, Taking
from tailrace.pipeline.plan import Wanted
from tailrace.pipeline.recognise import Recognised, Recognition
from tailrace.pipeline.report import PartitionReport
from tailrace.sources.base import Asked
from tailrace.sources.slices import is_slice
from tailrace.sources.walk import file_uri

LOOK_BACK = timedelta(days=30)
_INSTANT = timedelta(microseconds=1)
WHOLE = "days are stored whole, for all sources or for none; --source NAME collects one source alone"


@dataclass(frozen=True, slots=True)
class Survey:
    """What is known before anything is read."""

    table: Table
    "With every column spelled out."
    now: datetime
    ledger: Ledger
    notes: Mapping[str, str]
    "For the ledger: where artifacts were looked for."
    listed: Listed
    recipes: tuple[str, ...]
    "By number of the source."
    recognised: Recognised
    "What became of local files that were read before."


def survey(
    config: Config,
    lake: Lake,
    spec: PartitionSpec,
    asked: TimeRange,
    report: PartitionReport,
    *,
    overwrite: bool,
    alone: str | None = None,
    until: ExitStack | None = None,
) -> Survey:
    """Reads the ledger and lists the sources of one partition; `alone`: the only one that `spec` still has.

    Without `until` nothing announced is taken.
    """
    table = tables_for(config, spec.table)
    now = datetime.now(UTC).replace(tzinfo=None)
    ledger = read_ledger(lake, table.name, spec.name)
    workspace = config.workspace(lake.workspace)
    back = spec.lookback or (workspace and workspace.lookback) or LOOK_BACK
    again = asked.start is not None or overwrite
    # What is to replace a range has to be all there is in it: announcements tell what is new alone.
    takes = None if overwrite else Taking(asked, until)
    windows = [listing_window(asked, ledger, now, back, source.name) for source in spec.sources]
    listing = Listing(spec, table, ledger, report, lake, takes=takes)
    listed = listing.look([_days_of(w, ledger) for w in windows] if overwrite else windows, now, again=again)
    if not overwrite:
        _tell_hidden(listed, spec)
    stdin = file_uri(os.path.realpath(lake.home / "stdin")) + "/"
    files = [_as_piped(item) if item.artifact.uri.startswith(stdin) else item for item in listed.artifacts]
    found = Recognition(listed.sources, listed.formats, ledger.files(), now).recognise(files)
    listed = replace(listed, artifacts=tuple(found.artifacts))
    table = full_table(config, spec, lake, listed)
    check_expressions(table, spec, config)
    recipes = tuple(recipe_of(table, fmt, spec.filter, key_of(spec)) for fmt in listed.formats)
    notes = range_notes(listing_window(asked, ledger, now, back, alone), ledger, alone)
    return Survey(table, now, ledger, notes, listed, recipes, found)


def _tell_hidden(listed: Listed, spec: PartitionSpec) -> None:
    for trouble in {id(trouble): trouble for _, trouble in listed.hidden}.values():
        ranges = [days for days, behind in listed.hidden if behind is trouble]
        days = reduce(TimeRange.joined, ranges)
        if days.start is None or days.end is None:
            what = "the days that it may hold"
        else:
            first, last = days.start.date(), (days.end - _INSTANT).date()
            what = f"day {first}" if first == last else f"days {first} to {last}"
        trouble.message += f"; nothing of {what} was stored, the next run tries again"
        trouble.hint = WHOLE if len(spec.sources) > 1 else None


def _as_piped(item: Wanted) -> Wanted:
    """What came by stdin is called by its content: it is never another file with more in it."""
    return replace(item, artifact=replace(item.artifact, node=None))


def _days_of(window: TimeRange, ledger: Ledger) -> TimeRange:
    """The window, and the days of artifacts that have rows in it: a day's first rows may lie in yesterday's file."""
    last = None if window.end is None else (window.end - _INSTANT).date()
    touched = ledger.of_days(window.start.date() if window.start else None, last)
    days = [datetime.combine(day, time.min) for day in touched.column("day").to_pylist() if day is not None]
    start = None if window.start is None else min([window.start, *days])
    end = None if window.end is None else max([window.end, *(day + timedelta(days=1) for day in days)])
    return TimeRange(start, end)


def listing_window(
    asked: TimeRange, ledger: Ledger, now: datetime, back: timedelta = LOOK_BACK, source: str | None = None
) -> TimeRange:
    """Where artifacts are looked for: as asked, else from the first collection's start, 30 days back at first."""
    if asked.start is not None:
        return asked
    noted = [ledger.notes[name] for name in {"from", _begins(source)} & ledger.notes.keys()]
    # A beginning that is still to come was noted by a clock that was wrong.
    noted = [text for text in noted if text <= now.isoformat()]
    last = asked.end or now
    earliest = datetime(last.year, last.month, last.day) - back
    start = datetime.fromisoformat(min(noted)) if noted else earliest
    return TimeRange(start if asked.end is None or start < asked.end else earliest, asked.end)


def range_notes(window: TimeRange, ledger: Ledger, source: str | None = None) -> dict[str, str]:
    """What later runs have to know: the earliest start so far, so that a short look at one day hides no other."""
    name = _begins(source)
    starts = [start for start in (ledger.notes.get(name), window.start and window.start.isoformat()) if start]
    return {name: min(starts)} if starts else {}


def _begins(source: str | None) -> str:
    """The note of all sources, or of one that was collected by itself."""
    return "from" if source is None else f"from:{source}"


def to_read(
    found: Survey, known: dict[str, Known], asked: TimeRange, *, overwrite: bool
) -> dict[TimeRange, list[Wanted]]:
    """What this run reads, by range of rows."""
    if overwrite:
        return all_again(found.listed.artifacts, known, asked, found.recipes)
    return still_to_read(found.listed.seen, known, asked, found.recipes, found.now)


def still_to_read(
    listed: Iterable[Wanted],
    known: dict[str, Known],
    asked: TimeRange,
    recipes: Sequence[str],
    now: datetime = datetime.max,
) -> dict[TimeRange, list[Wanted]]:
    """By range of rows: new artifacts, changed ones, and those that another range or recipe may give more of."""
    wanted: dict[TimeRange, list[Wanted]] = {}
    for item in listed:
        before = known.get(item.artifact.key)
        rows: TimeRange | None = asked
        if before is not None:
            # A slice of time that seemed over to a clock that was ahead had not even begun.
            unfinished = is_slice(item.artifact) and before.at is not None and before.at > now
            rows = _hull(before, asked) if unfinished else _rows_to_read(item, before, asked, recipes[item.source])
        if rows is not None:
            wanted.setdefault(rows, []).append(_from_where(item, before, asked, recipes[item.source]))
    return wanted


def _from_where(item: Wanted, before: Known | None, asked: TimeRange, recipe: str) -> Wanted:
    """Read on only where what was read before is as it would be read now; where not, none of it is to be lost."""
    on = before is not None and before.recipe == recipe and before.status == "ok" and _covers(before, asked)
    if on and item.artifact.resume is not None:
        return item
    if before is not None and before.rows:
        is_object = item.artifact.source_name is not None
        item = replace(item, held=Held.of(before, recipe, may_be_empty=not is_object))
    return item if item.artifact.resume is None else whole(item)


def whole(item: Wanted) -> Wanted:
    """To be read from its beginning."""
    return replace(item, artifact=replace(item.artifact, resume=None))


def all_again(
    listed: Iterable[Wanted], known: dict[str, Known], asked: TimeRange, recipes: Sequence[str]
) -> dict[TimeRange, list[Wanted]]:
    """Everything in the range; where more may come of an artifact now, as far as it was read before, too.

    Its quarantined records go with this reading: one outside the range that fits now would be nowhere otherwise.
    """
    wanted: dict[TimeRange, list[Wanted]] = {}
    for item in listed:
        before = known.get(item.artifact.key)
        changed = before is not None and gives_other(item.artifact, before, recipes[item.source])
        if before is not None and before.status == COPY and not changed:
            continue
        changed = changed or item.artifact.resume is not None
        wanted.setdefault(_hull(before, asked) if before and changed else asked, []).append(whole(item))
    return wanted


def _rows_to_read(item: Wanted, before: Known, asked: TimeRange, recipe: str) -> TimeRange | None:
    """None when nothing new can come of it; else the range, which includes what was taken before."""
    changed = gives_other(item.artifact, before, recipe)
    return _hull(before, asked) if changed or not _covers(before, asked) else None


def gives_other(artifact: Artifact, before: Known | Entry, recipe: str) -> bool:
    """May reading the artifact again give other rows of what was taken before?"""
    changed = before.version != artifact.version if artifact.resume is None else bool(artifact.unread)
    if changed or before.status == "failed":
        return True
    # A mended format or filter is worth another look where it had something to mend.
    mended = before.recipe != recipe and bool(before.quarantined or before.filtered or before.duplicates)
    return mended and not _hides_a_deletion(before)


def _hides_a_deletion(before: Known | Entry) -> bool:
    """Early versions deleted rows and did not note which: read again, they would come back."""
    told = before.rows + before.quarantined + before.filtered + (before.out_of_range or 0)
    return before.duplicates is None and before.received > told


def _covers(before: Known, asked: TimeRange) -> bool:
    if before.has_all_times:
        return True
    starts = before.taken_from is None or (asked.start is not None and before.taken_from <= asked.start)
    ends = before.taken_to is None or (asked.end is not None and before.taken_to >= asked.end)
    return starts and ends


def _hull(before: Known, asked: TimeRange) -> TimeRange:
    """The smallest range that holds both: rows taken earlier are replaced, so they must come again."""
    return TimeRange(before.taken_from, before.taken_to).joined(asked)


def job_of(
    lake: Lake, spec: PartitionSpec, table: Table, listed: Listed, run: str, now: datetime, rows: TimeRange
) -> Job:
    """What the tasks of a run have in common that take rows of one range."""
    return Job(
        table=table,
        partition=spec.name,
        formats=listed.formats,
        sources=listed.sources,
        run=run,
        started=now,
        table_root=lake.table_home(table.name),
        quarantine_root=lake.meta("quarantine", table.name, spec.name),
        window=rows,
        filter=spec.filter,
        index=spec.tp_index,
        key=key_of(spec),
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

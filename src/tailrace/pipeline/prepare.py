"""Before anything runs: the partition's table, what its sources hold, and what of it is still to be read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tailrace.config.model import Config, PartitionSpec, SourceSpec
from tailrace.config.tables import tables_for
from tailrace.core import Artifact, Format, Table, TimeRange
from tailrace.lake.ledger import Known, Ledger
from tailrace.lake.paths import Lake
from tailrace.lake.table import stored_schema
from tailrace.pipeline.infer import with_inferred
from tailrace.pipeline.plan import Wanted
from tailrace.pipeline.report import PartitionReport, Trouble
from tailrace.sources import Skipped, Source, Unreadable, make_source
from tailrace.sources.walk import file_uri

LOOK_BACK = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Listed:
    """What the sources of a partition hold."""

    artifacts: tuple[Wanted, ...]
    formats: tuple[Format, ...]
    "By number of the source."
    sources: tuple[Source, ...]


def listing_window(asked: TimeRange, ledger: Ledger, now: datetime) -> TimeRange:
    """Where artifacts are looked for: as asked, else from the first collection's start, 30 days back at first."""
    if asked.start is not None:
        return asked
    noted = ledger.notes.get("from")
    last = asked.end or now
    back = datetime(last.year, last.month, last.day) - LOOK_BACK
    start = datetime.fromisoformat(noted) if noted else back
    return TimeRange(start if asked.end is None or start < asked.end else back, asked.end)


def range_notes(window: TimeRange, ledger: Ledger) -> dict[str, str]:
    """What later runs have to know: the earliest start so far, so that a short look at one day hides no other."""
    starts = [start for start in (ledger.notes.get("from"), window.start and window.start.isoformat()) if start]
    return {"from": min(starts)} if starts else {}


def list_sources(spec: PartitionSpec, table: Table, window: TimeRange, report: PartitionReport, lake: Lake) -> Listed:
    """All artifacts of all sources; what cannot be listed, or is Tailrace's own, is noted in the report."""
    found: dict[str, Wanted] = {}
    formats: list[Format] = []
    sources: list[Source] = []
    own: list[Artifact] = []
    ours = own_places(lake)
    for number, source in enumerate(spec.sources):
        formats.append(source.format or table.format)
        sources.append(make_source(source.kind, _arguments(source, table), source.connection, source.locations))
        for item in sources[-1].discover(window):
            if isinstance(item, Unreadable):
                report.troubles.append(Trouble(item.location, item.reason, item.code))
            elif isinstance(item, Skipped):
                report.unmatched += item.count if item.reason == "layout" else 0
            elif item.uri.startswith(ours):
                own.append(item)
            else:
                found.setdefault(item.uri, Wanted(item, number))
    if own:
        told = f"{len(own):,} file{'s' * (len(own) > 1)} of Tailrace's own home left out"
        report.advice.append(Trouble(own[0].location, told, "source.own-files", "let `paths` name the logs alone"))
    report.discovered = len(found)
    return Listed(tuple(found.values()), tuple(formats), tuple(sources))


def own_places(lake: Lake) -> tuple[str, ...]:
    """How the URIs of Tailrace's own files begin: what a lake holds and Spark says are no logs to collect."""
    folders = [file_uri(os.path.realpath(lake.home / name)) + "/" for name in ("config", "data", "meta")]
    return (*folders, file_uri(os.path.realpath(lake.home / "logs") + "/spark.log"))


def _arguments(source: SourceSpec, table: Table) -> dict[str, object]:
    arguments = dict(source.args)
    layout = dict(table.file_layout).get(source.kind)
    if layout is not None:
        arguments.setdefault("file_layout", layout)
    return arguments


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

"""Before anything runs: the partition's table, what its sources hold, and what of it is still to be read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import duckdb
import pyarrow as pa

from tailrace.config.model import Config, PartitionSpec, SourceSpec
from tailrace.config.tables import tables_for
from tailrace.core import Artifact, ConfigError, Format, Table, TimeRange
from tailrace.core.arrow import arrow_schema
from tailrace.formats.duck import con
from tailrace.lake.ledger import Known, Ledger
from tailrace.lake.paths import Lake
from tailrace.lake.table import stored_schema
from tailrace.pipeline.compute import words_of
from tailrace.pipeline.infer import with_inferred
from tailrace.pipeline.plan import Wanted
from tailrace.pipeline.report import PartitionReport, Trouble
from tailrace.sources import Skipped, Unreadable, make_source

LOOK_BACK = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Listed:
    """What the sources of a partition hold."""

    artifacts: tuple[Wanted, ...]
    formats: tuple[Format, ...]


def listing_window(asked: TimeRange, ledger: Ledger, now: datetime) -> TimeRange:
    """Where artifacts are looked for: as asked, else from the first collection's start, 30 days back at first."""
    if asked.start is not None:
        return asked
    noted = ledger.notes.get("from")
    today = datetime(now.year, now.month, now.day)
    return TimeRange(datetime.fromisoformat(noted) if noted else today - LOOK_BACK, asked.end)


def range_notes(window: TimeRange, ledger: Ledger) -> dict[str, str]:
    """What later runs have to know: the earliest start so far, so that a short look at one day hides no other."""
    starts = [start for start in (ledger.notes.get("from"), window.start and window.start.isoformat()) if start]
    return {"from": min(starts)} if starts else {}


def list_sources(spec: PartitionSpec, table: Table, window: TimeRange, report: PartitionReport) -> Listed:
    """All artifacts of all sources; what cannot be listed is noted in the report."""
    found: dict[str, Wanted] = {}
    formats: list[Format] = []
    for number, source in enumerate(spec.sources):
        formats.append(source.format or table.format)
        for item in make_source(source.kind, _arguments(source, table)).discover(window):
            if isinstance(item, Unreadable):
                report.troubles.append(Trouble(item.location, item.reason, item.code))
            elif isinstance(item, Skipped):
                report.unmatched += item.count if item.reason == "layout" else 0
            else:
                found.setdefault(item.uri, Wanted(item, number))
    report.discovered = len(found)
    return Listed(tuple(found.values()), tuple(formats))


def _arguments(source: SourceSpec, table: Table) -> dict[str, object]:
    arguments = dict(source.args)
    layout = dict(table.file_layout).get(source.kind)
    if layout is not None:
        arguments.setdefault("file_layout", layout)
    return arguments


def still_to_read(
    listed: Iterable[Wanted], known: dict[str, Known], asked: TimeRange
) -> dict[TimeRange, list[Wanted]]:
    """By range of rows: new artifacts, changed ones, and those of which only another range was taken."""
    wanted: dict[TimeRange, list[Wanted]] = {}
    for item in listed:
        before = known.get(item.artifact.uri)
        rows = asked if before is None else _rows_to_read(item.artifact, before, asked)
        if rows is not None:
            wanted.setdefault(rows, []).append(item)
    return wanted


def _rows_to_read(artifact: Artifact, before: Known, asked: TimeRange) -> TimeRange | None:
    """None when nothing new can come of it; else the range, which includes what was taken before."""
    changed = before.version != artifact.version or before.status == "failed"
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
    samples = [(w.artifact, listed.formats[w.source]) for w in listed.artifacts]
    return with_inferred(table, stored_schema(lake, table.name), samples)


def check_expressions(table: Table, spec: PartitionSpec) -> None:
    """A filter or tp_index that cannot work is an error before anything is read, never a silent zero."""
    where = str(spec.where)
    schema = arrow_schema(table)
    if spec.tp_index is not None and spec.tp_index not in schema.names:
        hint = f"columns: {', '.join(schema.names)}"
        raise ConfigError(
            f"tp_index names no column of {table.name}: '{spec.tp_index}'",
            code="config.unknown-column", where=where, hint=hint,
        )  # fmt: skip
    for column in table.columns:
        if column.sql is not None:
            texts = pa.schema([(word, pa.string()) for word in sorted(words_of(column.sql))])
            _bind(column.sql, texts, f"{where}: transform of column {column.name}")
    if spec.filter is not None:
        _bind(f"({spec.filter})::BOOLEAN", schema, f"{where}: filter")


def _bind(expression: str, schema: pa.Schema, where: str) -> None:
    connection = con()
    connection.register("given", schema.empty_table())
    try:
        connection.sql(f"SELECT {expression} FROM given").to_arrow_table()
    except duckdb.Error as error:
        raise ConfigError(
            str(error).splitlines()[0], code="config.bad-expression", where=where,
            hint="expressions are DuckDB SQL over the table's columns; see `tailrace table show`",
        ) from None  # fmt: skip
    finally:
        connection.unregister("given")

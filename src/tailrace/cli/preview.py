"""`tailrace collect --dry-run`: what would be read, by day; no JVM, no lock, nothing written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tailrace.cli.options import Context

if TYPE_CHECKING:
    from tailrace.cli.choice import Choice
    from tailrace.cli.listing import Row
    from tailrace.config import Config, PartitionSpec
    from tailrace.core import TimeRange
    from tailrace.lake.paths import Lake
    from tailrace.pipeline.report import PartitionReport

COLUMNS = ("partition", "day", "artifacts", "size", "new", "again")


def show_preview(context: Context, choice: Choice, window: TimeRange, output: str, *, overwrite: bool) -> int:
    """Prints the preview; returns the exit code."""
    from tailrace.cli.listing import show_rows
    from tailrace.cli.redact import visible, visible_error, visible_line
    from tailrace.cli.settings import load_config, open_lake
    from tailrace.core import TailraceError
    from tailrace.pipeline.report import PartitionReport

    config = load_config(context)
    lake = open_lake(context, config)
    rows: list[Row] = []
    code = 0
    choice = choice.resolved(config)
    for spec in choice.specs(config, context):
        report = PartitionReport(spec.full_name)
        try:
            rows += _days(config, lake, spec, window, report, overwrite, choice.source)
        except TailraceError as error:
            click.echo(f"{spec.full_name}: {visible_error(error)}", err=True)
            code = max(code, error.exit_code)
        for advice in report.advice:
            click.echo(f"{visible_line(advice.where)}: {visible(advice.message)}", err=True)
        for trouble in report.troubles:
            click.echo(f"{visible_line(trouble.where)}: {visible(trouble.message)}", err=True)
            code = max(code, 5)
    nothing = "" if context.quiet or code else "nothing to collect: nothing is new or has changed"
    show_rows(rows, COLUMNS, output, nothing=nothing)
    return code


def _days(
    config: Config,
    lake: Lake,
    spec: PartitionSpec,
    window: TimeRange,
    report: PartitionReport,
    overwrite: bool,
    alone: str | None,
) -> list[Row]:
    from tailrace.pipeline.prepare import survey, to_read

    found = survey(config, lake, spec, window, report, overwrite=overwrite, alone=alone)
    known = found.ledger.known()
    wanted = to_read(found, known, window, overwrite=overwrite)
    days: dict[str, Row] = {}
    for item in (item for items in wanted.values() for item in items):
        day = str(item.artifact.day or "unknown")
        row = days.setdefault(
            day, {"partition": spec.full_name, "day": day, "artifacts": 0, "size": 0, "new": 0, "again": 0}
        )
        kind = "again" if item.artifact.key in known else "new"
        for name, more in (("artifacts", 1), ("size", item.artifact.unread), (kind, 1)):
            row[name] = int(str(row[name])) + more
    return [days[day] for day in sorted(days, reverse=True)]

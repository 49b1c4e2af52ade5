"""How a collection is shown: live on a terminal, and as a summary in the end."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from tailrace.cli.options import Context
from tailrace.core import TooManyBadRows

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from tailrace.pipeline.report import PartitionReport, Progress

SHOWN_TROUBLES = 15


@contextmanager
def shown_progress(visible: bool, context: Context) -> Iterator[Progress]:
    """A live display on stderr, or none."""
    from tailrace.pipeline.report import Silent

    if not visible:
        yield Silent()
        return
    from rich.console import Console
    from rich.live import Live

    display = Display()
    console = Console(stderr=True, no_color=context.no_color or None)
    with Live(get_renderable=display.render, console=console, refresh_per_second=4, transient=True):
        yield display


class Display:
    """One line per partition: artifacts, bytes, rows a second, what is left."""

    def __init__(self) -> None:
        self.reports: dict[str, tuple[PartitionReport, float]] = {}

    def update(self, report: PartitionReport) -> None:
        _, began = self.reports.get(report.name, (report, time.monotonic()))
        self.reports[report.name] = (report, began)

    def render(self) -> Grid:
        from rich.spinner import Spinner
        from rich.table import Table as Grid

        grid = Grid.grid(padding=(0, 2))
        for report, began in self.reports.values():
            elapsed = time.monotonic() - began
            running = report.done + report.failed < report.wanted and report.error is None
            left = ""
            if running and report.done_bytes:
                left = f"{duration(elapsed * (report.wanted_bytes / report.done_bytes - 1))} left"
            grid.add_row(
                Spinner("dots") if running else "✓" if report.clean else "!",
                report.name,
                f"{report.done:,}/{report.wanted:,} artifacts",
                f"{size(report.done_bytes)}/{size(report.wanted_bytes)}",
                f"{report.counts.stored:,} rows",
                f"{report.counts.stored / max(elapsed, 0.1):,.0f} rows/s" if running else "",
                left,
                f"{report.counts.quarantined:,} quarantined" if report.counts.quarantined else "",
            )
        return grid


def print_summary(reports: list[PartitionReport], output: str) -> None:
    """The same facts for people and for programs, on stdout; troubles go to stderr."""
    if output == "json":
        click.echo(json.dumps({"partitions": [r.as_dict() for r in reports]}, indent=2))
        return
    for report in reports:
        _print_report(report)


def _print_report(report: PartitionReport) -> None:
    mark = click.style("✓", fg="green") if report.clean else click.style("!", fg="yellow")
    click.echo(f"{mark} {click.style(report.name, bold=True)}  {duration(report.seconds)}")
    if report.error is None:
        known = f", {report.unchanged:,} collected before" if report.unchanged else ""
        odd = f", {report.unmatched:,} do not match file_layout" if report.unmatched else ""
        broken = f", {report.failed:,} failed" if report.failed else ""
        cut = f", {report.partial:,} cut off" if report.partial else ""
        click.echo(f"  artifacts  {report.done - report.failed:,} of {report.discovered:,}{known}{broken}{cut}{odd}")
        c = report.counts
        rows = [
            f"{c.received:,} received", f"{c.stored:,} stored", f"{c.filtered:,} filtered",
            f"{c.out_of_range:,} out of range", f"{c.quarantined:,} quarantined",
        ]  # fmt: skip
        if c.flagged:
            rows.append(f"{c.flagged:,} stored with a value that did not fit (tp_extra.tp_misfit)")
        click.echo(f"  rows       {', '.join(rows)}")
        span = f" from {report.first_day} to {report.last_day}" if report.first_day else ""
        click.echo(f"  files      {report.files:,} ({size(report.bytes)}), {report.days:,} days{span}")
        if c.quarantined or report.failed:
            click.echo('  see        tailrace query "select * from tp_quarantine"')
    sys.stdout.flush()
    _print_troubles(report)


def _print_troubles(report: PartitionReport) -> None:
    from tailrace.cli.main import report as report_error

    if report.error is not None:
        report_error(report.error)
    for trouble in (*report.advice, *report.troubles[:SHOWN_TROUBLES]):
        click.secho(f"  warning[{trouble.code}]: ", fg="yellow", nl=False, err=True)
        click.echo(f"{trouble.where}: {trouble.message}", err=True)
        if trouble.hint:
            click.echo(f"    hint: {trouble.hint}", err=True)
    more = len(report.troubles) - SHOWN_TROUBLES
    if more > 0:
        click.echo(f"  … and {more:,} more; all of them with --output json", err=True)


def exit_code(reports: list[PartitionReport], max_errors: int | None) -> int:
    """As documented in `tailrace collect --help`; a partition's own error says its own code."""
    errors = [r.error for r in reports if r.error is not None]
    if errors:
        return max(e.exit_code for e in errors)
    if any(r.troubles for r in reports):
        return 5
    bad = sum(r.counts.quarantined for r in reports)
    return TooManyBadRows.exit_code if max_errors is not None and bad > max_errors else 0


def size(number: float) -> str:
    """Bytes as people read them."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            return f"{number:,.0f} {unit}" if unit == "B" else f"{number:,.1f} {unit}"
        number /= 1000
    raise AssertionError


def duration(seconds: float) -> str:
    """A span as people read it."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"

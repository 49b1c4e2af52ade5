"""`tailrace collect`."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import complete_selectors
from tailrace.cli.options import Context, everywhere, report_option

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tailrace.config import Config, PartitionSpec
    from tailrace.core import TimeRange
    from tailrace.lake.paths import Lake
    from tailrace.pipeline.options import SessionOptions
    from tailrace.pipeline.report import PartitionReport, Progress


@click.command("collect")
@click.argument("selectors", metavar="[SEL]...", nargs=-1, shell_complete=complete_selectors)
@click.option("--from", "start", metavar="TIME", help="Only rows at or after this time (2024-01-31, T-7d …).")
@click.option("--to", "end", metavar="TIME", help="Only rows before this time.")
@click.option(
    "--file", "files", metavar="PATH", multiple=True, help="Collect this file, directory or glob; - is stdin."
)
@click.option("--table", metavar="NAME", help="With --file: the table it goes to.")
@click.option("--partition", metavar="NAME", help="With --file: the partition it goes to (files).")
@click.option("--overwrite", is_flag=True, help="Collect the range again; its rows are replaced in one commit.")
@click.option("--dry-run", is_flag=True, help="Show what would be collected, by day, and collect nothing.")
@click.option("--max-errors", type=click.IntRange(min=0), metavar="N", help="Exit 4 when more rows are quarantined.")
@report_option
@click.option("--progress/--no-progress", default=None, help="Live progress; by default on a terminal only.")
@everywhere
def command(
    context: Context,
    selectors: tuple[str, ...],
    start: str | None,
    end: str | None,
    files: tuple[str, ...],
    table: str | None,
    partition: str | None,
    overwrite: bool,
    dry_run: bool,
    max_errors: int | None,
    output: str,
    progress: bool | None,
) -> None:
    """Collect logs into the lake.

    SEL is a table, table.partition or a partition's name, with wildcards; without any, everything configured is
    collected. With --file and --table no configuration is needed. What was collected before is skipped.

    Exit codes: 0 all well, 2 usage, 3 configuration, 4 more bad rows than --max-errors, 5 something could not be
    read or stored, 6 locked by another process, 130 interrupted.
    """
    from tailrace.cli.choice import Choice
    from tailrace.cli.settings import load_config, open_lake, session_options
    from tailrace.cli.summary import exit_code, note_nothing_found, print_summary, shown_progress

    began, window = time.monotonic(), _window(start, end, overwrite)
    choice = Choice(selectors, files, table, partition)
    if dry_run:
        from tailrace.cli.preview import show_preview

        sys.exit(show_preview(context, choice, window, output, overwrite=overwrite))
    with LazySession(session_options(context)) as spark:
        config = load_config(context)
        specs = choice.specs(config, context)
        lake = open_lake(context, config)
        visible = progress if progress is not None else sys.stderr.isatty() and not context.quiet
        with shown_progress(visible, context) as display:
            reports = collect(lake, config, specs, window, spark, display, overwrite=overwrite)
    if all(report.clean for report in reports):
        choice.forget_stdin(context)
    note_nothing_found(reports, specs)
    if not context.quiet or output == "json":
        print_summary(reports, output, context, time.monotonic() - began)
    sys.exit(exit_code(reports, max_errors))


def _window(start: str | None, end: str | None, overwrite: bool) -> TimeRange:
    from tailrace.cli.settings import now
    from tailrace.core import TimeRange, UsageError, parse_time

    if overwrite and start is None:
        hint = "say which rows are replaced: --from T-7d"
        raise UsageError("--overwrite needs --from", code="usage.overwrite-what", hint=hint)
    moment = now()
    return TimeRange(*(None if t is None else parse_time(t, moment) for t in (start, end)))


def collect(
    lake: Lake,
    config: Config,
    specs: list[PartitionSpec],
    window: TimeRange,
    spark: LazySession,
    display: Progress,
    *,
    overwrite: bool = False,
) -> list[PartitionReport]:
    """Runs a collection on a session that starts while the sources are being listed."""
    from tailrace.cli.redact import command_line
    from tailrace.pipeline.collect import Collection, CollectOptions

    chosen = CollectOptions(window, command_line(sys.argv[1:]), os.cpu_count() or 2, overwrite)
    collection = Collection(lake, config, chosen, spark.get, display)
    try:
        return collection.collect(specs)
    except BaseException:
        spark.stop()
        collection.abandon()
        raise


class LazySession:
    """The JVM starts at once, before anything heavy is imported; the session is made when a job asks for it."""

    def __init__(self, options: SessionOptions) -> None:
        from tailrace.pipeline.session import start_driver

        self.options = options
        self.driver = start_driver(options)
        self.session: SparkSession | None = None
        self.stopped = False
        self.lock = threading.Lock()

    def __enter__(self) -> LazySession:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def get(self) -> SparkSession:
        from tailrace.core import TailraceError
        from tailrace.pipeline.session import open_session

        with self.lock:
            if self.stopped:
                raise TailraceError("the session was stopped", code="spark.stopped")
            if self.session is None:
                self.session = open_session(self.options, self.driver)
            return self.session

    def stop(self) -> None:
        from tailrace.pipeline.session import close_session

        self.stopped = True
        if self.session is None and self.driver is not None:
            # Whoever waits for the JVM holds the lock: it need not come up first to be stopped.
            self.driver.close()
        with self.lock:
            session, self.session = self.session, None
            driver, self.driver = self.driver, None
        if session is not None:
            close_session(session)
        elif driver is not None:
            driver.close()

"""`tailrace collect`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import click

from tailrace.cli.completing import complete_selectors
from tailrace.cli.metrics_options import MetricsOptions, metrics_options
from tailrace.cli.options import Context, everywhere, report_option

if TYPE_CHECKING:
    from tailrace.cli.collecting import Collected, Order, Plan
    from tailrace.cli.interrupts import Interrupts
    from tailrace.cli.metrics import Metrics
    from tailrace.pipeline.report import Progress


@click.command("collect")
@click.argument("selectors", metavar="[SEL]...", nargs=-1, shell_complete=complete_selectors)
@click.option("--from", "start", metavar="TIME", help="Only rows at or after this time (2024-01-31, T-7d …).")
@click.option("--to", "end", metavar="TIME", help="Only rows before this time.")
@click.option("--source", metavar="NAME", help="Only this source of the partitions; rows of the others stay.")
@click.option(
    "--file", "files", metavar="PATH", multiple=True, help="Collect this file, directory or glob; - is stdin."
)
@click.option("--table", metavar="NAME", help="With --file: the table it goes to.")
@click.option("--partition", metavar="NAME", help="With --file: the partition it goes to (files).")
@click.option("--overwrite", is_flag=True, help="Collect the range again; its rows are replaced in one commit.")
@click.option("--dry-run", is_flag=True, help="Show what would be collected, by day, and collect nothing.")
@click.option(
    "--watch", metavar="[INTERVAL]", is_flag=False, flag_value="5m", help="Go on, with a round every INTERVAL (5m)."
)
@click.option(
    "--compact/--no-compact", "compacts", default=None,
    help="Merge small files afterwards; by default those of days that were added to, where it pays.",
)  # fmt: skip
@click.option(
    "--maintain/--no-maintain", default=True, help="Do what is due in the collected partitions, once a day (yes)."
)
@click.option("--max-errors", type=click.IntRange(min=0), metavar="N", help="Exit 4 when more rows are quarantined.")
@report_option
@metrics_options
@click.option("--progress/--no-progress", default=None, help="Live progress; by default on a terminal only.")
@everywhere
def command(
    context: Context,
    selectors: tuple[str, ...],
    start: str | None,
    end: str | None,
    source: str | None,
    files: tuple[str, ...],
    table: str | None,
    partition: str | None,
    overwrite: bool,
    dry_run: bool,
    watch: str | None,
    compacts: bool | None,
    maintain: bool,
    max_errors: int | None,
    output: str,
    metrics: MetricsOptions,
    progress: bool | None,
) -> None:
    """Collect logs into the lake.

    SEL is a table, table.partition or a partition's name, with wildcards; without any, everything configured is
    collected. A partition's name followed by that of one of its sources means this source alone, as --source does.
    With --file and --table no configuration is needed. What was collected before is skipped.

    Exit codes: 0 all well, 2 usage, 3 configuration, 4 more bad rows than --max-errors, 5 something could not be
    read or stored, 6 locked by another process, 130 interrupted.
    """
    from tailrace.cli.choice import Choice
    from tailrace.cli.collecting import Order
    from tailrace.cli.interrupts import Interrupts

    order = Order(Choice(selectors, files, table, partition, source), start, end, overwrite, compacts)
    window = order.window()
    if dry_run:
        from tailrace.cli.preview import show_preview

        sys.exit(show_preview(context, order.choice, window, output, overwrite=overwrite))
    interval = None if watch is None else _interval(watch, overwrite, files)
    visible = progress if progress is not None else sys.stderr.isatty() and not context.quiet
    with Interrupts() as interrupts, metrics.opened(context) as kept:
        ways = Ways(context, interrupts, kept, output, max_errors, visible, maintain)
        sys.exit(_collect_once(order, ways) if interval is None else _watch(order, ways, interval))


@dataclass(frozen=True, slots=True)
class Ways:
    """How a collection is run and told."""

    context: Context
    interrupts: Interrupts
    metrics: Metrics | None
    output: str
    max_errors: int | None
    visible: bool
    maintain: bool

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        from tailrace.cli.progress import shown_progress
        from tailrace.pipeline.report import Several

        with shown_progress(self.visible, self.context) as display:
            yield Several(display, self.metrics)

    def keep_up(self, plan: Plan, collected: Collected) -> None:
        """What is due in the partitions that came through."""
        if not self.maintain or collected.interrupted:
            return
        from tailrace.cli.upkeep import keep_up

        clean = {report.name for report in collected.reports if report.clean}
        names = [(spec.table, spec.name) for spec in plan.specs if spec.full_name in clean]
        keep_up(plan.lake, plan.config, names, self.context.quiet)


def _interval(watch: str, overwrite: bool, files: tuple[str, ...]) -> float:
    from tailrace.cli.choice import STDIN
    from tailrace.cli.watching import seconds_of
    from tailrace.core import UsageError

    for option, given in (("--overwrite", overwrite), ("--file -", STDIN in files)):
        if given:
            raise UsageError(f"{option} is for once", code="usage.not-watched", hint="leave out --watch")
    return seconds_of(watch)


def _watch(order: Order, ways: Ways, interval: float) -> NoReturn:
    from tailrace.cli.lazy_session import LazySession
    from tailrace.cli.round_summary import RoundSummary
    from tailrace.cli.settings import session_options
    from tailrace.cli.watching import Pace, Round, Watch, go_on

    summary = RoundSummary(ways.context, ways.output, ways.max_errors)
    with LazySession(session_options(ways.context), ways.interrupts) as spark:
        watch = Watch(order, ways.context, spark, ways.interrupts)

        def tell(done: Round) -> None:
            summary.tell(done)
            if watch.plan is not None and done.error is None:
                ways.keep_up(watch.plan, done.collected)
            if ways.metrics is not None and watch.plan is not None:
                valid = done.config_error is None
                ways.metrics.over(done.collected, watch.plan.lake, error=done.error is not None, config_valid=valid)

        go_on(watch, Pace(interval), tell, ways.progress)


def _collect_once(order: Order, ways: Ways) -> int:
    from tailrace.cli.collecting import collect, plan_for
    from tailrace.cli.interrupts import EXIT_CODE, leave
    from tailrace.cli.lazy_session import LazySession
    from tailrace.cli.settings import session_options
    from tailrace.cli.summary import exit_code, note_nothing_found, print_failure, print_summary
    from tailrace.core import TailraceError

    context, began = ways.context, time.monotonic()
    try:
        with LazySession(session_options(context), ways.interrupts) as spark:
            plan = plan_for(order, context)
            with ways.progress() as progress:
                collected = collect(plan, spark, ways.interrupts, progress)
    except TailraceError as error:
        print_failure(error, ways.output)
        raise
    if not collected.interrupted and all(report.clean for report in collected.reports):
        order.choice.forget_stdin(context)
    note_nothing_found(collected.reports, plan.specs)
    if not context.quiet or ways.output == "json":
        print_summary(collected.reports, ways.output, context, time.monotonic() - began, collected.interrupted)
    if ways.metrics is not None:
        ways.metrics.over(collected, plan.lake)
    if collected.interrupted:
        click.echo("interrupted", err=True)
    if collected.hangs:
        leave()
    ways.keep_up(plan, collected)
    return EXIT_CODE if collected.interrupted else exit_code(collected.reports, ways.max_errors)

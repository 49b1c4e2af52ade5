"""`tailrace collect`."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import complete_selectors
from tailrace.cli.options import Context, everywhere, report_option

if TYPE_CHECKING:
    from tailrace.cli.collecting import Order
    from tailrace.cli.interrupts import Interrupts


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
    from tailrace.cli.collecting import Order
    from tailrace.cli.interrupts import Interrupts

    order = Order(Choice(selectors, files, table, partition), start, end, overwrite)
    window = order.window()
    if dry_run:
        from tailrace.cli.preview import show_preview

        sys.exit(show_preview(context, order.choice, window, output, overwrite=overwrite))
    visible = progress if progress is not None else sys.stderr.isatty() and not context.quiet
    with Interrupts() as interrupts:
        sys.exit(_collect_once(order, context, interrupts, output, max_errors, visible))


def _collect_once(
    order: Order, context: Context, interrupts: Interrupts, output: str, max_errors: int | None, visible: bool
) -> int:
    from tailrace.cli.collecting import collect, plan_for
    from tailrace.cli.interrupts import EXIT_CODE, leave
    from tailrace.cli.lazy_session import LazySession
    from tailrace.cli.settings import session_options
    from tailrace.cli.summary import exit_code, note_nothing_found, print_summary, shown_progress

    began = time.monotonic()
    with LazySession(session_options(context)) as spark:
        plan = plan_for(order, context)
        with shown_progress(visible, context) as display:
            collected = collect(plan, spark, interrupts, display)
    if not collected.interrupted and all(report.clean for report in collected.reports):
        order.choice.forget_stdin(context)
    note_nothing_found(collected.reports, plan.specs)
    if not context.quiet or output == "json":
        print_summary(collected.reports, output, context, time.monotonic() - began, collected.interrupted)
    if collected.interrupted:
        click.echo("interrupted", err=True)
    if collected.hangs:
        leave()
    return EXIT_CODE if collected.interrupted else exit_code(collected.reports, max_errors)

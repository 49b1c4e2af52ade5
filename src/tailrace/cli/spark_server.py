"""`tailrace spark start|stop|status`: a server that stays."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from tailrace.cli.options import Context, everywhere, output_option, without_spark

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.pipeline.warm import Warm

COLUMNS = ("running", "address", "pid", "master", "started", "log")


@click.command("start")
@output_option
@everywhere
def start(context: Context, output: str) -> None:
    """Start a server of this home, for queries on Spark.

    It speaks Spark Connect, and `query --engine spark` uses it while it runs. It listens on this machine alone, and for
    whoever can read `spark-server.json` in the home. `--master`, `--spark-conf` and `--java-home` are those of the
    server. It stays until `tailrace spark stop`.
    """
    from dataclasses import replace

    from tailrace.cli.settings import session_options
    from tailrace.pipeline import warm

    # SQL is what the JVM itself works on, and several clients may share it.
    options = replace(session_options(context), compiled=True, shared=True)
    _show(context, warm.start(options), output)


@click.command("stop")
@output_option
@without_spark()
def stop(context: Context, output: str) -> None:
    """Stop the server of this home; what it is computing is lost."""
    from tailrace.pipeline import warm

    if warm.stop(context.home_path) is None and not context.quiet:
        click.echo("no server was running", err=True)
    _show(context, None, output)


@click.command("status")
@output_option
@without_spark()
def status(context: Context, output: str) -> None:
    """Tell whether the server of this home runs, and where."""
    from tailrace.pipeline import warm

    _show(context, warm.found(context.home_path), output)


def _show(context: Context, warm: Warm | None, output: str) -> None:
    from tailrace.cli.listing import show_rows

    row: Row = {"running": warm is not None, **dict.fromkeys(COLUMNS[1:])}
    if warm is not None:
        started = datetime.fromtimestamp(warm.started, UTC).replace(tzinfo=None, microsecond=0)
        log = context.home_path / "logs" / "spark-server.log"
        found = (warm.remote, warm.pid, warm.master, started, str(log))
        row |= dict(zip(COLUMNS[1:], found, strict=True))
    show_rows([row], COLUMNS, output)

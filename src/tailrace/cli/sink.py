"""`tailrace sink`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailrace.cli.options import Context, output_option, without_spark

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.streams.sink_options import SinkOptions
    from tailrace.streams.status import Told

COLUMNS = ("name", "path", "at", "rows", "waiting", "quarantined", "late", "files", "size", "errors", "trouble")


@click.group("sink")
def command() -> None:
    """Show how sinks of live data stand, and mend them."""


@command.command("status")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@output_option
@without_spark()
def status(context: Context, names: tuple[str, ...], output: str) -> None:
    """Show what sinks have stored, what waits, and what is wrong.

    Numbers are those that `tailrace serve` wrote down last, at its flush interval, of a Parquet sink as soon as rows
    wait; files and size are what lies in its tree now.
    """
    from tailrace.cli.listing import show_rows
    from tailrace.cli.matching import listed
    from tailrace.cli.serve import lake_state, spool_of
    from tailrace.cli.settings import load_config
    from tailrace.streams.settings import lake_sinks, otap_sinks, sinks

    config = load_config(context)
    rows = [_row(options) for options in sinks(config, Path.cwd())]
    rows += [_told(one, str(one.path)) for one in otap_sinks(config, Path.cwd())]
    rows += [_told(one, one.path) for one in lake_sinks(config, lake_state(spool_of(context)))]
    rows.sort(key=lambda row: str(row["name"]))
    chosen = listed("sink", names, list(dict.fromkeys(str(row["name"]) for row in rows)))
    show_rows([row for row in rows if row["name"] in chosen], COLUMNS, output)


@command.command("replay")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@output_option
@without_spark()
def replay_command(context: Context, names: tuple[str, ...], output: str) -> None:
    """Store what is in the quarantine of sinks and can be stored by now.

    Messages that did not decode are decoded again, and rows whose times were refused are held against the times that
    the configuration allows now. `tailrace serve` must not be running.

    Exit codes: 0 done, whatever is left; 6 the sink or the spool is in use.
    """
    from tailrace.cli.listing import show_rows
    from tailrace.cli.matching import listed
    from tailrace.cli.serve import spool_of
    from tailrace.cli.settings import load_config
    from tailrace.streams.replaying import replay
    from tailrace.streams.settings import sinks

    known = {options.name: options for options in sinks(load_config(context), Path.cwd())}
    spool = spool_of(context)
    rows: list[Row] = []
    for name in listed("sink", names, sorted(known)):
        found = replay(known[name], spool)
        rows.append({"name": name, "stored": found.stored, "left": found.left})
    show_rows(rows, ("name", "stored", "left"), output)


def _row(options: SinkOptions) -> Row:
    from tailrace.streams.tree import files

    sizes = [key.path(options).stat().st_size for key in files(options)]
    return _told(options, str(options.path)) | {"files": len(sizes), "size": sum(sizes)}


def _told(options: Told, path: str) -> Row:
    """What the driver has written down."""
    from tailrace.streams.status import status_of

    told = status_of(options)
    counts, written = told.get("counts", {}), told.get("written", {})
    moment = told.get("at")
    return {
        "name": options.name,
        "path": path,
        "at": datetime.fromtimestamp(moment, UTC).replace(tzinfo=None, microsecond=0) if moment else None,
        "rows": counts.get("rows_received"),
        "waiting": told.get("waiting_rows"),
        "quarantined": counts.get("rows_quarantined"),
        "late": counts.get("late_rows"),
        "files": None,
        "size": None,
        "errors": written.get("write_errors"),
        "trouble": next(iter(told.get("troubles", {}).values()), None),
    }

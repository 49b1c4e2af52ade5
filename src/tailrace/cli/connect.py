"""`tailrace connect`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tailrace.cli.options import Context, without_spark
from tailrace.cli.redact import visible
from tailrace.cli.scope_options import scope_options
from tailrace.core.errors import TailraceError

if TYPE_CHECKING:
    from tailrace.query.connect import Connected


@click.command("connect")
@scope_options
@click.option("--database", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Where the database file is written (of the whole lake HOME/connect/WORKSPACE/lake.duckdb).")  # fmt: skip
@click.option("--output", type=click.Choice(("text", "json")), default="text", help="Form of the answer.")
@without_spark()
def command(context: Context, output: str, database: Path | None, **options: Any) -> None:
    """Open the lake to other programs: an init script for DuckDB, and a database file of views.

    Prints the path of the script: `duckdb --init "$(tailrace connect)"`. The database file is for programs that open
    one: DBeaver, Grafana, notebooks. Both show the lake as it is now and stay valid while collections go on; run it
    again to see what is new.
    """
    try:
        made = _connect(context, database, options)
    except TailraceError as error:
        if output == "json":
            click.echo(json.dumps({"error": str(error)}))
        raise
    if output == "json":
        answer = {"init_script_path": str(made.script), "database_path": str(made.database), "tables": made.tables}
        click.echo(json.dumps(answer, indent=2))
        return
    click.echo(str(made.script))
    if not context.quiet:
        click.echo(f"database file: {made.database}", err=True)


def _connect(context: Context, database: Path | None, options: dict[str, Any]) -> Connected:
    from tailrace.cli.asking import engine_of
    from tailrace.lake.paths import encode_value
    from tailrace.query.connect import connect

    nothing_else = {"at": (), "sandbox": False, "writable": (), "timeout": None, "memory": None}
    engine = engine_of(context, options | nothing_else)
    target = None if database is None else database.expanduser().absolute()
    if target is not None:
        engine.permission.require_outside(str(target))
    made = connect(engine, context.home_path / "connect" / encode_value(context.workspace_name), target)
    for warning in made.warnings:
        click.echo(f"warning: {visible(warning)}", err=True)
    return made

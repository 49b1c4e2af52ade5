"""`tailrace query`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailrace.cli.options import Context, output_option, without_spark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tailrace.core import Table


@click.command("query")
@click.argument("texts", metavar="[SQL|FILE|-]...", nargs=-1)
@output_option
@without_spark()
def command(context: Context, texts: tuple[str, ...], output: str) -> None:
    """Answer SQL over the lake, in DuckDB's dialect.

    The argument is SQL, a file that holds SQL, or `-` for standard input. Every table is a view of the same name,
    also while it is empty; `tp_quarantine` holds the records that could not be stored. No JVM is started.
    """
    from tailrace.cli.settings import note_new_workspace
    from tailrace.lake.paths import Lake
    from tailrace.query.engine import Engine
    from tailrace.query.render import render

    statements = [_sql(text) for text in texts or ("-",)]
    lake = Lake(context.home_path, context.workspace_name)
    note_new_workspace(context, lake)
    engine = Engine(lake, lambda: _declared(context))
    for sql in statements:
        for result in engine.run(sql):
            while engine.warnings:
                click.echo(f"warning: {engine.warnings.pop(0)}", err=True)
            if result.columns:
                render(result, output, sys.stdout)


def _sql(text: str) -> str:
    from tailrace.core import UsageError

    sql = text
    if text == "-":
        sql = sys.stdin.read()
    # os.path: pathlib raises where a text is too long to be a name.
    elif os.path.isfile(text):
        sql = Path(text).read_text()
    elif text.endswith(".sql") and not any(map(str.isspace, text)):
        raise UsageError(f"there is no file {text}", code="usage.no-such-file", hint="name a file, or give SQL as text")
    if not sql.strip():
        raise UsageError("there is no SQL to run", code="usage.no-sql", hint='try `tailrace query "show tables"`')
    return sql


def _declared(context: Context) -> Mapping[str, Table]:
    """A query needs no configuration: one that cannot be read does not stand in its way."""
    from tailrace.cli.settings import all_tables, load_config
    from tailrace.core import TailraceError

    try:
        return all_tables(load_config(context))
    except TailraceError as error:
        click.echo(f"warning: the configuration cannot be read, its tables are left out: {error}", err=True)
        return all_tables(None)

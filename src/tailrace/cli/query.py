"""`tailrace query`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailrace.cli.options import Context, everywhere

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tailrace.core import Table

FORMS = ["table", "json", "jsonl", "csv", "line"]


@click.command("query")
@click.argument("texts", metavar="[SQL|FILE|-]...", nargs=-1)
@click.option("--output", type=click.Choice(FORMS), default="table", help="Form of the answer.")
@everywhere
def command(context: Context, texts: tuple[str, ...], output: str) -> None:
    """Answer SQL over the lake, in DuckDB's dialect.

    The argument is SQL, a file that holds SQL, or `-` for standard input. Every table is a view of the same name,
    also while it is empty; `tp_quarantine` holds the records that could not be stored. No JVM is started.
    """
    from tailrace.lake.paths import Lake
    from tailrace.query.engine import Engine
    from tailrace.query.render import render

    engine = Engine(Lake(context.home_path, context.workspace_name), lambda: _declared(context))
    for text in texts or ("-",):
        for result in engine.run(_sql(text)):
            if result.columns:
                render(result, output, sys.stdout)


def _sql(text: str) -> str:
    if text == "-":
        return sys.stdin.read()
    # os.path: pathlib raises where a text is too long to be a name.
    return Path(text).read_text() if os.path.isfile(text) else text


def _declared(context: Context) -> Mapping[str, Table]:
    """A query needs no configuration: one that cannot be read does not stand in its way."""
    from tailrace.cli.settings import all_tables, load_config
    from tailrace.core import TailraceError

    try:
        return all_tables(load_config(context))
    except TailraceError as error:
        click.echo(f"warning: the configuration cannot be read, its tables are left out: {error}", err=True)
        return all_tables(None)

"""`tailrace query`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from tailrace.cli.completing import complete_partitions, names_of
from tailrace.cli.options import Context, output_option, without_spark

LARGE = 32_000_000
"Bytes: to fetch that much takes a while."


@click.command("query")
@click.argument("texts", metavar="[SQL|FILE|-]...", nargs=-1)
@click.option("--schema", metavar="NAME", default="tailrace", shell_complete=names_of("schema"),
    help="The schema whose tables need no prefix (tailrace).")  # fmt: skip
@click.option("--from", "start", metavar="TIME", help="Only rows at or after this time (2024-01-31, T-7d …).")
@click.option("--to", "end", metavar="TIME", help="Only rows before this time.")
@click.option("--partition", "partitions", metavar="SEL", multiple=True, shell_complete=complete_partitions,
    help="Only rows of partitions (table.partition, table or partition; wildcards); may be repeated.")  # fmt: skip
@click.option("--index", "indexes", metavar="VALUE", multiple=True,
    help="Only rows with this tp_index (wildcards); may be repeated.")  # fmt: skip
@click.option("--at", metavar="[TABLE=]VERSION|TIME", multiple=True,
    help="Tables as they were: all at a time, or one at a version; may be repeated for single tables.")  # fmt: skip
@output_option
@without_spark()
def command(context: Context, texts: tuple[str, ...], output: str, **options: Any) -> None:
    """Answer SQL over the lake, in DuckDB's dialect.

    The argument is SQL, a file that holds SQL, or `-` for standard input. Every table is a view of the same name,
    also while it is empty; `tp_quarantine` holds the records that could not be stored. Configured schemas are schemas
    of DuckDB. No JVM is started.
    """
    from tailrace.cli.seeing import Configured, is_default, scope_of
    from tailrace.cli.settings import open_lake
    from tailrace.query.engine import Engine
    from tailrace.query.render import render

    statements = [_sql(text) for text in texts or ("-",)]
    lake = open_lake(context)
    configured = Configured(context, required=not is_default(options["schema"]))
    scope, announce = scope_of(lake, configured, **options), _announce if sys.stderr.isatty() else None
    engine = Engine(lake, configured.tables, configured.schemas, scope, announce)
    for sql in statements:
        for result in engine.run(sql):
            while engine.warnings:
                click.echo(f"warning: {engine.warnings.pop(0)}", err=True)
            if result.columns:
                render(result, output, sys.stdout)


def _announce(files: int, size: int) -> None:
    from tailrace.cli import summary

    if size > LARGE:
        click.echo(f"fetching {summary.count(files, 'file')}, {summary.size(size)} …", err=True)


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

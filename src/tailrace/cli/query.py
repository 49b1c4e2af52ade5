"""`tailrace query`."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tailrace.cli.engines import ENGINES
from tailrace.cli.options import Context, everywhere
from tailrace.cli.scope_options import scope_options

if TYPE_CHECKING:
    from tailrace.query.engine import Engine

FORMS = (
    "table", "pretty", "plain", "json", "jsonl", "csv", "tsv", "line", "markdown", "chart", "parquet", "arrow",
)  # fmt: skip
"Those of `query/files.py`, which is not imported for a help text."
_SAMPLER = "weighted_reservoir_sample"
_DOT = re.compile(r"^\.[a-z]", re.MULTILINE)
"A command of the shell, on standard input."


@click.command("query")
@click.argument("texts", metavar="[SQL|FILE|-]...", nargs=-1)
@scope_options
@click.option("--at", metavar="[TABLE=]VERSION|TIME", multiple=True,
    help="Tables as they were: all at a time, or one at a version; may be repeated for single tables.")  # fmt: skip
@click.option("--param", "given", metavar="[NAME=]VALUE", multiple=True,
    help="Value of $NAME, or of $1, $2 … in turn; may be repeated.")  # fmt: skip
@click.option("--output", type=click.Choice(FORMS), help="Form of the answer (table, or what --out is called).")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write the answer to a file; its name tells the form (.csv, .parquet …; .gz packs texts).")  # fmt: skip
@click.option("--header/--no-header", default=True, help="Names of columns in csv and tsv.")
@click.option("--separator", metavar="TEXT", default=",", help="Between the values of csv (,).")
@click.option("--engine", type=click.Choice(ENGINES), default="auto",
    help="What computes the answer: DuckDB, or Spark where DuckDB's memory is too small (auto).")  # fmt: skip
@click.option("--timing", is_flag=True, help="Say how long each statement took.")
@click.option("--timeout", metavar="TIME", help="Stop a statement that takes longer (30s, 5m).")
@click.option("--memory", metavar="SIZE", help="Most memory that DuckDB may take (512MB, 4GB).")
@click.option("--sandbox", is_flag=True, help="Only look at the lake's tables: no other files, no network, no changes.")
@click.option("--write", "writable", metavar="PATH", multiple=True,
    help="A file or directory that SQL may write (copy … to, attach); may be repeated.")  # fmt: skip
@everywhere
def command(context: Context, texts: tuple[str, ...], output: str | None, out: Path | None, **options: Any) -> None:
    """Answer SQL over the lake, in DuckDB's dialect; without SQL, in a shell.

    The argument is SQL, a file that holds SQL, or `-` for standard input. Every table is a view of the same name,
    also while it is empty; `tp_quarantine` holds the records that could not be stored. Configured schemas are schemas
    of DuckDB. Spark runs the same SQL where it is asked for, or where more is to be read than DuckDB's memory holds;
    otherwise no JVM is started.
    """
    from tailrace.query.opening import begin

    begin()  # and meanwhile:
    from tailrace.cli.asking import engine_of, parameters_from, sql_of

    if not texts and sys.stdin.isatty():
        _require_no_batch(output, out, options)
        engine = engine_of(context, options)
        from tailrace.cli.shell import converse

        converse(context, engine, output or "table", options["timing"])
        return
    statements = _with_samples([sql_of(text) for text in texts or ("-",)], options)
    parameters = parameters_from(options["given"], statements)
    engine = engine_of(context, options)
    if not texts and _DOT.search(statements[0]):
        from tailrace.cli.shell import obey

        obey(engine, statements[0], output or "table", options["timing"])
        return
    _answer_all(engine, list(zip(texts or ("-",), statements, strict=True)), parameters, output, out, options)


def _answer_all(
    engine: Engine,
    statements: Sequence[tuple[str, str]],
    parameters: Mapping[str, str],
    output: str | None,
    out: Path | None,
    options: Mapping[str, Any],
) -> None:
    """`statements` are arguments, and the SQL that they stand for."""
    from tailrace.core import UsageError
    from tailrace.query.answering import answer
    from tailrace.query.files import Destination, form_of, require_packable
    from tailrace.query.render import Style
    from tailrace.query.sql_file import telling_place

    form = output or (form_of(out) if out else "table")
    if out:
        require_packable(out, form)
        engine.permission.require_outside(str(out))
    answers = 0
    for text, sql in statements if form == "json" else ():
        with telling_place(text):
            answers += engine.answering(sql, parameters)
    style = Style(options["header"], options["separator"])
    with Destination(form, out, sys.stdout, style, several=answers > 1) as destination:
        for text, sql in statements:
            with telling_place(text):
                times = answer(engine, sql, destination, _tell, timing=options["timing"], parameters=parameters)
            sys.stdout.flush()
            for line in times:
                _tell(line)
        if out and not destination.answers:
            hint = "give a statement that has one"
            raise UsageError(f"there is no answer to write to {out}", code="usage.no-answer", hint=hint)


def _with_samples(statements: list[str], options: dict[str, Any]) -> list[str]:
    """Samples are drawn by DuckDB here: what draws them is written for one engine."""
    if not any(_SAMPLER in sql.lower() for sql in statements):
        return statements
    from tailrace.core import UsageError
    from tailrace.windows.sql import sampled

    if options["engine"] == "spark":
        hint = "leave out --engine; in PySpark, tailrace.windows.sql.sampled(sql, 'spark') gives the SQL"
        raise UsageError(f"`tailrace query` draws samples with DuckDB: {_SAMPLER}", code="usage.sampler", hint=hint)
    options["engine"] = "duckdb"
    return [sampled(sql) for sql in statements]


def _tell(text: str) -> None:
    click.echo(text, err=True)


def _require_no_batch(output: str | None, out: Path | None, options: Mapping[str, Any]) -> None:
    """What only makes sense with SQL on the command line."""
    from tailrace.core import UsageError

    given = {"--out": out, "--param": options["given"], f"--output {output}": output in ("parquet", "arrow")}
    for option, value in given.items():
        if value:
            hint = "the shell has `.export FILE`" if option != "--param" else "write the values into the SQL"
            raise UsageError(f"{option} needs SQL on the command line", code="usage.no-sql", hint=hint)

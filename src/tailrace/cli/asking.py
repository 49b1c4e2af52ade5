"""From the options of a query to its SQL, its values and its engine."""

from __future__ import annotations

import atexit
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tailrace.cli.options import Context
from tailrace.core.errors import UsageError

if TYPE_CHECKING:
    from tailrace.query.engine import Engine
    from tailrace.query.limits import Limits

LARGE = 32_000_000
"Bytes: to fetch that much takes a while."
_SEEN = ("schema", "start", "end", "partitions", "indexes", "at")
"Options that say what is to be seen."
_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|)")
_NAMED = re.compile(r"(\d+|[^\W\d]\w*)=(.*)", re.DOTALL)


def sql_of(text: str) -> str:
    """An argument: SQL itself, the name of a file, or `-`."""
    from tailrace.query.sql_file import require_text, sql_in

    sql = text
    if text == "-":
        sql = sys.stdin.read()
    # os.path: pathlib raises where a text is too long to be a name.
    elif os.path.isfile(text):
        sql = sql_in(Path(text))
    elif text.endswith(".sql") and not any(map(str.isspace, text)):
        raise UsageError(f"there is no file {text}", code="usage.no-such-file", hint="name a file, or give SQL as text")
    if not sql.strip():
        raise UsageError("there is no SQL to run", code="usage.no-sql", hint='try `tailrace query "show tables"`')
    require_text(sql)
    return sql


def parameters_from(given: Sequence[str], statements: Sequence[str]) -> dict[str, str]:
    """Values by name; those without one are `$1`, `$2` … in turn. One that nothing asks for is a slip of the pen."""
    if not given:
        return {}
    from tailrace.query.parameters import parameters_of

    wanted = set().union(*(parameters_of(sql) for sql in statements))
    found: dict[str, str] = {}
    number = 0
    for text in given:
        named = _NAMED.fullmatch(text)
        # `a=b` is a value where nothing is called `$a`.
        if named and named[1].lower() in wanted:
            name, value = named[1].lower(), named[2]
        else:
            number += 1
            name, value = str(number), text
        if name not in wanted:
            names = ", ".join(f"${name}" for name in sorted(wanted)) or "no parameter"
            told = f"--param {text}: the SQL has {names}"
            raise UsageError(told, code="usage.no-such-parameter", hint="write $name or $1 where the value belongs")
        found[name] = value
    return found


def engine_of(context: Context, options: Mapping[str, Any]) -> Engine:
    """The engine of a query with these options."""
    from tailrace.cli.engines import made
    from tailrace.cli.light import without_pandas
    from tailrace.cli.seeing import Configured, is_default, scope_of
    from tailrace.cli.settings import open_lake
    from tailrace.cli.sink_tables import beside
    from tailrace.query.process_memory import bounded

    without_pandas()
    limits = limits_of(options)
    if options.get("engine") == "spark" and limits.memory is not None:
        hint = "give Spark its own: --spark-conf spark.driver.memory=4g"
        raise UsageError("--memory is DuckDB's", code="usage.memory-of-spark", hint=hint)
    lake = open_lake(context)
    configured = Configured(context, required=not is_default(options["schema"]))
    scope = scope_of(lake, configured, **{name: options[name] for name in _SEEN})
    announce = _announce if sys.stderr.isatty() else None
    engine = options.get("engine", "duckdb")
    if limits.sandboxed and engine == "auto":
        engine = "duckdb"  # whose memory can be bounded
    seen = (configured.tables, configured.schemas, scope)
    given = (*seen, announce, limits, configured.tiers, beside(configured, scope, limits))
    opened = made(context, engine, lake, *given)
    if limits.sandboxed and engine == "duckdb":
        click.get_current_context().with_resource(bounded(opened.connection))
    if limits.writable:
        # The program ends without taking DuckDB apart: what was written would stay in a log beside a database's file.
        atexit.register(opened.connection.close)
    return opened


def _announce(files: int, size: int) -> None:
    from tailrace.cli import summary

    if size > LARGE:
        click.echo(f"fetching {summary.count(files, 'file')}, {summary.size(size)} …", err=True)


def limits_of(options: Mapping[str, Any]) -> Limits:
    """What the query may do and take."""
    from tailrace.query.limits import Limits

    if options["sandbox"] and options["writable"]:
        hint = "leave one of them out"
        raise UsageError("--write and --sandbox exclude each other", code="usage.sandbox-writes", hint=hint)
    span = options["timeout"]
    return Limits(options["sandbox"], options["writable"], seconds_of(span) if span else None, options["memory"])


def seconds_of(text: str) -> float:
    """`30`, `30s`, `5m`, `1.5h`."""
    found = _SPAN.fullmatch(text.strip().lower())
    if not found or not float(found[1]):
        raise UsageError(f"cannot read '{text}' as a span of time", code="usage.bad-span", hint="write 30s or 5m")
    return float(found[1]) * _UNITS[found[2]]

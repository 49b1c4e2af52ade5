"""Which engine answers a query: DuckDB, Spark, or Spark where a scan is too large for DuckDB."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from tailrace.cli.options import Context

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tailrace.cli.lazy_session import LazySession
    from tailrace.query.engine import Engine

_PATIENCE = 0.5
"Seconds that a JVM has to end which nobody waits for any more."
ENGINES = ("auto", "duckdb", "spark")


def made(context: Context, engine: str, *given: Any) -> Engine:
    """The engine over a lake; a session that it needs ends with the command."""
    if engine == "duckdb":
        from tailrace.query.engine import Engine

        return Engine(*given)
    from tailrace.query.spark.engine import SparkEngine

    session = QuerySession(context)
    current = click.get_current_context(silent=True)
    if current is not None:
        current.call_on_close(session.stop)
    if engine == "spark":
        session.begin()
    too_large = _say if engine == "auto" else None
    return SparkEngine(*given, session=session.get, too_large=too_large, give_up=session.give_up)


def _say(size: int, memory: int) -> None:
    from tailrace.cli import summary

    told = f"Spark answers: {summary.size(size)} are to be read, and DuckDB has {summary.size(memory)} of memory"
    click.echo(f"{told} (--engine duckdb stays with it)", err=True)


class QuerySession:
    """The Spark of a query: the server that is warm, else one that is started for it."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.lazy: LazySession | None = None

    def begin(self) -> LazySession:
        """A JVM starts at once, while other things are found out; a server that runs has one already."""
        from dataclasses import replace

        from tailrace.cli.lazy_session import LazySession
        from tailrace.cli.light import allow_pandas
        from tailrace.cli.settings import session_options
        from tailrace.pipeline import warm

        allow_pandas()
        # SQL is what the JVM itself works on, unlike collections.
        options = replace(session_options(self.context), compiled=True)
        server = warm.found(self.context.home_path) if not (options.master or options.remote) else None
        if server is not None:
            os.environ[warm.TOKEN] = server.token
            options = replace(options, remote=server.remote)
        self.lazy = LazySession(options)
        return self.lazy

    def get(self) -> SparkSession:
        return (self.lazy or self.begin()).get()

    def give_up(self) -> None:
        """Whoever waits for it does so no longer; the next statement that needs a session starts another."""
        lazy, self.lazy = self.lazy, None
        if lazy is not None:
            lazy.stop(_PATIENCE)

    def stop(self) -> None:
        if self.lazy is not None:
            self.lazy.stop()

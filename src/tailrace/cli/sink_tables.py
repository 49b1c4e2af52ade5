"""Files of sinks as tables of a query: `sink_NAME.events`, `sink_NAME.logs`, `sink_NAME.snapshots`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.cli.seeing import Configured
    from tailrace.config import Config
    from tailrace.query.beside import Beside, BesideTable
    from tailrace.query.filters import Scope
    from tailrace.query.limits import Limits
    from tailrace.streams.sink_options import SinkOptions

PREFIX = "sink_"


def beside(configured: Configured, scope: Scope, limits: Limits) -> Beside:
    """Sinks for an engine of any door.

    Filters do not act on their rows: to SQL of somebody else, which is to see no more than those leave, there are none.
    """
    from tailrace.query.beside import Beside

    if limits.sandboxed and scope.filters:
        return Beside()
    return Beside(PREFIX, lambda: sink_tables(configured.config), lambda: _readable(configured))


def sink_tables(config: Config | None) -> Iterator[BesideTable]:
    """Those of Parquet sinks."""
    for options in _sinks(config):
        yield from tables_of(options)


def tables_of(options: SinkOptions) -> Iterator[BesideTable]:
    """What is published and what waits for it."""
    from tailrace.query.beside import BesideTable
    from tailrace.streams.kinds import KINDS, schema
    from tailrace.streams.looking import look

    for kind in KINDS:
        columns = schema(kind, options.workspace_id_type, options.data_format)
        yield BesideTable(f"{PREFIX}{options.name}", kind, columns, partial(look, options, kind))


def facts(config: Config, name: str | None = None) -> list[Row]:
    """What there is to know of them, or of the one of that name, without a look at their files."""
    found: list[Row] = []
    for table in sink_tables(config):
        full = f"{table.schema}.{table.name}"
        if name is None or full == name.lower():
            columns = [{"name": shape.name, "type": shape.type} for shape in table.shapes.shapes]
            told = f"{table.name} of a sink of live data, those that wait to be in its files too; payload is bytes"
            found.append({"name": full, "description": told, **({} if name is None else {"columns": columns})})
    return found


def _sinks(config: Config | None) -> Sequence[SinkOptions]:
    from tailrace.streams.settings import sinks

    return sinks(config, Path.cwd()) if config is not None else ()


def _readable(configured: Configured) -> list[str]:
    """Those of all sinks, for a sandbox."""
    from tailrace.cli.layers import may_have_sinks
    from tailrace.core.errors import TailraceError

    if not may_have_sinks(configured.context):
        return []
    try:
        return readable_of(_sinks(configured.config))
    except TailraceError:  # which is told to a statement that names a sink
        return []


def readable_of(sinks: Sequence[SinkOptions]) -> list[str]:
    """Directories of published files, and of what is open here: rows that wait have no name."""
    from tailrace.streams.looking import HANDLES

    # DuckDB looks where names lead, so that of what is open no more is readable than files without one.
    return [*(os.path.realpath(options.path) for options in sinks), str(HANDLES)] if sinks else []

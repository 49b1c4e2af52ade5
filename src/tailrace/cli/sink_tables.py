"""Files of sinks as tables of a query: `sink_NAME.events`, `sink_NAME.logs`, `sink_NAME.snapshots`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.config import Config
    from tailrace.query.beside import BesideTable
    from tailrace.streams.sink_options import SinkOptions

PREFIX = "sink_"


def sink_tables(config: Config | None) -> Iterator[BesideTable]:
    """Those of Parquet sinks."""
    from tailrace.streams.settings import sinks

    for options in sinks(config, Path.cwd()) if config is not None else ():
        yield from tables_of(options)


def tables_of(options: SinkOptions) -> Iterator[BesideTable]:
    """What is published and what waits for it."""
    from tailrace.query.beside import BesideTable
    from tailrace.streams.kinds import KINDS, schema
    from tailrace.streams.looking import look

    for kind in KINDS:
        columns = schema(kind, options.workspace_id_type, options.data_format)
        yield BesideTable(f"{PREFIX}{options.name}", kind, columns, partial(look, options, kind))

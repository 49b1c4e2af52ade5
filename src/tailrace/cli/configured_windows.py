"""Windows of a configuration, as they are run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.config import Config
    from tailrace.config.model import ConnectionSpec, OtherBlock
    from tailrace.config.places import Problem
    from tailrace.windows.spec import WindowSpec


def windows(config: Config) -> dict[str, OtherBlock]:
    """The blocks of those that are in use, by name."""
    return {block.name: block for block in config.of("window") if block.args.get("enabled", True)}


def spec_of(config: Config, block: OtherBlock) -> WindowSpec:
    """What a block says, with its defaults."""
    from tailrace.config import Reference
    from tailrace.windows.spec import read_spec

    def connected(named: object) -> ConnectionSpec | None:
        if not isinstance(named, Reference):
            return None
        return next(each for each in config.connections if (each.type, each.name) == named.path[1:])

    return read_spec(block, connected)


def wrong_windows(config: Config) -> Iterator[Problem]:
    """Those that cannot be run, or whose SQL cannot be read. What it says of tables is known when there are some."""
    found = windows(config)
    if not found:
        return
    from tailrace.core.errors import ConfigError, QueryError
    from tailrace.windows.sql import Prepared

    for block in found.values():
        try:
            spec = spec_of(config, block)
            engine = "spark" if spec.engine == "spark" else "duckdb"
            Prepared(spec.query, engine, spec.sample_size, spec.sampling)
        except QueryError as error:
            where = config.outline.value(block.where, "query")
            yield config.outline.problem(where, error.message, code="bad-query", hint=error.hint)
        except ConfigError as error:
            yield config.outline.problem(block.where, error.message, error.code.rpartition(".")[2], error.hint)

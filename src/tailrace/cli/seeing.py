"""What a query is to see: the configuration as far as it can be read, and what options leave of the lake."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import click

from tailrace.cli.redact import visible
from tailrace.core.errors import TailraceError, UsageError

if TYPE_CHECKING:
    from tailrace.cli.options import Context
    from tailrace.config import Config
    from tailrace.core import Table
    from tailrace.lake.paths import Lake, Tier
    from tailrace.lake.versions import Moment
    from tailrace.query.filters import Schema, Scope


def _warn(message: str) -> None:
    click.echo(f"warning: {visible(message)}", err=True)


class Configured:
    """Declared tables and schemas. A query needs none: a broken configuration does not stand in its way."""

    def __init__(self, context: Context, required: bool = False, warn: Callable[[str], None] = _warn) -> None:
        self.context = context
        self.required = required
        self.warn = warn

    def tables(self) -> Mapping[str, Table]:
        """Built-in and configured tables, and those of packages."""
        return _Declared(self._declaring)

    def schemas(self) -> Sequence[Schema]:
        """Configured schemas."""
        if self._declaring is None:
            return ()
        from tailrace.cli.schemas import schemas_of

        return schemas_of(self._declaring)

    def tiers(self) -> Sequence[Tier]:
        """Configured places other than the workspace."""
        from tailrace.cli.tiers import tiers_of

        return tiers_of(self.config) if self.config else ()

    @cached_property
    def _declaring(self) -> Config | None:
        """The configuration, where tables or schemas may be in it: to parse it takes as long as to load DuckDB."""
        from tailrace.cli.layers import may_declare

        return self.config if self.required or may_declare(self.context) else None

    @cached_property
    def config(self) -> Config | None:
        """None, and a warning, where it cannot be read."""
        from tailrace.cli.settings import load_config

        try:
            return load_config(self.context)
        except TailraceError as error:
            if self.required:
                raise
            told = "its tables and schemas are left out"
            self.warn(f"the configuration cannot be read, {told}: {error}")
            return None


class _Declared(Mapping[str, "Table"]):
    """Tables by name; a module is imported for one that is looked at."""

    def __init__(self, config: Config | None) -> None:
        from tailrace.core.registry import packaged_tables, table_names

        self.config = config
        self.packaged = packaged_tables()
        own = (spec.name for spec in (config.tables if config else ()))
        self.names = sorted({*self.packaged, *table_names(), *own})

    def __getitem__(self, name: str) -> Table:
        from tailrace.config import tables_for
        from tailrace.core.registry import find_table

        found = tables_for(self.config, name) if self.config else find_table(name)
        return self.packaged[name] if found is None else found

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def scope_of(
    lake: Lake,
    configured: Configured,
    *,
    schema: str,
    start: str | None,
    end: str | None,
    partitions: Sequence[str],
    indexes: Sequence[str],
    at: Sequence[str],
) -> Scope:
    """The options in one."""
    from tailrace.cli.settings import now
    from tailrace.core import TimeRange, parse_time
    from tailrace.query.filters import ALL, Scope

    moment = now()
    everywhere: Moment | None = None
    tables: dict[str, Moment] = {}
    for text in at:
        table, equals, when = text.rpartition("=")
        found = int(when) if when.isdecimal() else parse_time(when, moment)
        if equals:
            tables[_table(lake, configured, table)] = found
        elif everywhere is None:
            everywhere = found
        else:
            hint = "write --at TABLE=VERSION for each of several tables"
            raise UsageError("--at is given twice for all tables", code="usage.at-twice", hint=hint)
    _require_partitions(lake, configured, partitions)
    return Scope(
        _schema(configured, schema),
        TimeRange(*(None if text is None else parse_time(text, moment) for text in (start, end))),
        tuple(partitions),
        tuple(indexes) or ALL,
        everywhere,
        tuple(tables.items()),
    )


def is_default(schema: str) -> bool:
    """Is it the schema that needs no configuration?"""
    from tailrace.core.schemas import DEFAULT_SCHEMA, SCHEMA_ALIAS

    return schema.lower() in (DEFAULT_SCHEMA, SCHEMA_ALIAS)


def _schema(configured: Configured, name: str) -> str:
    from tailrace.core.schemas import DEFAULT_SCHEMA

    names = () if is_default(name) else (schema.name for schema in configured.schemas())
    known = {n.lower(): n for n in (DEFAULT_SCHEMA, *names)}
    return DEFAULT_SCHEMA if is_default(name) else _known("schema", name, known)


def _table(lake: Lake, configured: Configured, name: str) -> str:
    from tailrace.core.registry import ALIASES
    from tailrace.lake.stored import tables

    names = (*configured.tables(), *tables(lake))
    known = {n.lower(): n for n in names} | ALIASES
    return _known("table", name, known)


def _known(noun: str, name: str, known: Mapping[str, str]) -> str:
    if name.lower() not in known:
        from tailrace.cli.matching import hint_at

        hint = hint_at(name, known.values(), f"tailrace {noun} list")
        raise UsageError(f"there is no {noun} {name}", code=f"usage.unknown-{noun}", hint=hint)
    return known[name.lower()]


def _require_partitions(lake: Lake, configured: Configured, selectors: Iterable[str]) -> None:
    """A selector that fits nothing is a slip of the pen."""
    if not selectors:
        return
    from tailrace.cli.matching import hint_at
    from tailrace.lake.intents import partitions
    from tailrace.query.filters import Scope

    declared = [(p.table, p.name) for p in configured.config.partitions] if configured.config else []
    known = {*partitions(lake), *declared}
    for selector in selectors:
        one = Scope(partitions=(selector,))
        if not any(one.takes(table, partition) for table, partition in known):
            hint = hint_at(selector, {f"{t}.{p}" for t, p in known}, "tailrace partition list")
            raise UsageError(f"no partition matches '{selector}'", code="usage.no-such-partition", hint=hint)

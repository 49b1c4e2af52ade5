"""From the options of the command line to the things that commands work with."""

from __future__ import annotations

import gc
import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailrace.cli.layers import config_layers, may_have_remote_tiers, may_move_lake
from tailrace.cli.options import Context
from tailrace.cli.redact import remember
from tailrace.core.errors import ConfigError
from tailrace.core.registry import find_table, packaged_tables, table_names

if TYPE_CHECKING:
    from tailrace.config import Config
    from tailrace.core import Table
    from tailrace.lake.paths import Lake, Tier
    from tailrace.pipeline.options import SessionOptions


def now() -> datetime:
    """The current time in UTC, without zone."""
    return datetime.now(UTC).replace(tzinfo=None)


def load_config(context: Context) -> Config:
    """All configuration files that options, environment, project and user name; none at all is an empty one."""
    from tailrace.config import load

    strongest, *others = [layer.paths for layer in config_layers(context)] or [()]
    files = [Path(file).expanduser() for file in context.var_file]
    config = load(
        strongest,
        now=now(),
        environ=os.environ,
        variables=context.var,
        variable_files=files,
        weaker=[path for paths in others for path in paths],
        workspace=context.workspace_name,
    )
    _spare_collector()
    sources = (*config.sources, *(source for partition in config.partitions for source in partition.sources))
    given = [*(connection.args for connection in config.connections), *(source.args for source in sources)]
    remember([*given, *config.others], config.outline.hidden)
    return config


def _spare_collector() -> None:
    """What is there now lives as long as the process: a fifth of `config validate` would go into looking at it."""
    # DuckDB complains at the exit about objects of its own that were not collected; and what a later round of
    # `collect --watch` finds are the remains of the one before it.
    if {"duckdb", "_duckdb"}.isdisjoint(sys.modules) and not gc.get_freeze_count():
        gc.freeze()


def open_lake(context: Context, config: Config | None = None) -> Lake:
    """The workspace's lake."""
    from tailrace.lake.paths import Lake

    name = context.workspace_name
    if config is None and may_move_lake(context):
        config = load_config(context)
    spec = config.workspace(name) if config else None
    elsewhere = None
    if config is not None and spec is not None and spec.path is not None:
        from tailrace.lake.located import place_at

        elsewhere = place_at(spec.path, spec.connection, str(config.outline.value(spec.where, "path")))
    lake = Lake(context.home_path, name, elsewhere)
    if spec is not None and spec.query_cache_size is not None:
        lake = replace(lake, cache_size=spec.query_cache_size)
    if config is not None or may_have_remote_tiers(context):
        lake = replace(lake, tiers=_tiers(context, config))
    _note_new_workspace(context, lake, config)
    return lake


def _tiers(context: Context, config: Config | None) -> tuple[Tier, ...]:
    """Where days may rest; whoever asks for a file in a tier of a broken configuration is told so then."""
    from tailrace.cli.tiers import tiers_of

    try:
        return tiers_of(load_config(context) if config is None else config)
    except ConfigError:
        return ()


def _note_new_workspace(context: Context, lake: Lake, config: Config | None = None) -> None:
    """A misspelt workspace is an empty one: say so where nothing declares it and nothing is in it."""
    name = lake.workspace
    if name == "default" or context.quiet or lake.elsewhere is not None:
        return
    if lake.data_root.exists() or lake.meta_root.exists():
        return
    try:
        declared = (config or load_config(context)).workspace(name)
    except ConfigError:
        declared = None
    if declared is None:
        click.echo(f"note: workspace '{name}' is new", err=True)


def session_options(context: Context) -> SessionOptions:
    """How Spark is to run."""
    from tailrace.pipeline.options import SessionOptions, parse_conf

    return SessionOptions(
        master=context.master,
        remote=context.remote,
        conf=parse_conf(context.spark_conf),
        environment=context.spark_env,
        java_home=context.java_home,
        home=Path(context.home_path),
    )


def all_tables(config: Config | None) -> dict[str, Table]:
    """Built-in and configured tables, and those of packages, by name."""
    from tailrace.config import tables_for

    names = {*table_names(), *(spec.name for spec in (config.tables if config else ()))}
    found = ((name, tables_for(config, name) if config else find_table(name)) for name in sorted(names))
    return {**packaged_tables(), **{name: table for name, table in found if table is not None}}

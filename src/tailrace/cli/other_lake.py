"""A second lake beside the workspace's own: by its URL or directory, or by the name of a workspace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tailrace.cli.completing import names_of
from tailrace.cli.layers import DEFAULT_WORKSPACE
from tailrace.cli.options import Context
from tailrace.core.errors import UsageError

if TYPE_CHECKING:
    from tailrace.config import Config
    from tailrace.config.model import ConnectionSpec
    from tailrace.lake.paths import Lake

Command = Callable[..., Any]


def lake_options(required: bool, help: str) -> Callable[[Command], Command]:
    """`--lake` and `--connection`."""

    def decorated(command: Command) -> Command:
        command = click.option(
            "--connection",
            metavar="NAME",
            shell_complete=names_of("connection"),
            help="Connection with which its URL is reached.",
        )(command)
        return click.option("--lake", "address", metavar="URL", required=required, help=help)(command)

    return decorated


def lake_at(context: Context, config: Config, address: str, connection: str | None) -> Lake:
    """The lake that is meant; it need not exist yet."""
    from tailrace.cli.settings import open_lake
    from tailrace.lake.located import place_at
    from tailrace.lake.paths import Lake

    name = address.removeprefix("workspace.")
    if "/" not in name:
        return _workspace(context, config, name, connection)
    own = open_lake(context, config)
    place = place_at(address, _connection(config, connection))
    # Days of it may rest in a tier that is in the configuration: with that they can be read.
    of_home = _of_home(Path(place.uri)) if place.is_local else None
    if of_home is not None:
        found = Lake(*of_home, tiers=own.tiers)
    else:
        found = Lake(context.home_path, context.workspace_name, place, tiers=own.tiers)
    if found.data_root.uri == own.data_root.uri:
        hint = "name the lake that is not the workspace's own"
        raise UsageError("that is the lake of the workspace itself", code="usage.same-lake", where=address, hint=hint)
    return found


def note_empty(context: Context, lake: Lake) -> None:
    """Beside an empty list of what another lake holds: the address may be wrong."""
    if not context.quiet:
        click.echo(f"the lake in {lake.data_root.uri} holds no table", err=True)


def _of_home(directory: Path) -> tuple[Path, str] | None:
    """Home and workspace, where a directory is a home or one of its lakes: those lie deeper than a `path` has them."""
    if _has_tables(directory / "data"):
        return None
    if directory.parent.name == "data" and _has_tables(directory):
        return directory.parent.parent, directory.name
    is_home = (directory / "config").is_dir() or _has_tables(directory / "data" / DEFAULT_WORKSPACE)
    return (directory, DEFAULT_WORKSPACE) if is_home else None


def _has_tables(directory: Path) -> bool:
    return next(directory.glob("tp_table=*/"), None) is not None


def _workspace(context: Context, config: Config, name: str, connection: str | None) -> Lake:
    from tailrace.cli.settings import open_lake

    if config.workspace(name) is None or name == context.workspace_name:
        hint = "write a URL such as s3://bucket/prefix, a directory, or the name of another workspace with a `path`"
        raise UsageError(f"no other lake is called '{name}'", code="usage.unknown-lake", hint=hint)
    if connection is not None:
        hint = "leave --connection out: the workspace says how it is reached"
        raise UsageError(f"'{name}' is a workspace", code="usage.connection-of-workspace", hint=hint)
    return open_lake(replace(context, workspace=name), config)


def _connection(config: Config, name: str | None) -> ConnectionSpec | None:
    from tailrace.cli.matching import chosen

    if name is None:
        return None
    known = {f"{spec.type}.{spec.name}": spec for spec in config.connections}
    return known[chosen("connection", name, sorted(known))[0]]

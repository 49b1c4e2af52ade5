"""`tailrace connection list|show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import names_of
from tailrace.cli.options import Context, output_option, without_spark

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.config import Config, ConnectionSpec

COLUMNS = ("name", "used_by", "where")


@click.group("connection")
def command() -> None:
    """List connections, or show one."""


@command.command("list")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=names_of("connection"))
@output_option
@without_spark()
def list_connections(context: Context, names: tuple[str, ...], output: str) -> None:
    """Configured connections. NAME may hold wildcards."""
    from tailrace.cli.listing import show_rows
    from tailrace.cli.matching import listed
    from tailrace.cli.settings import load_config

    config = load_config(context)
    known = {f"{spec.type}.{spec.name}": spec for spec in config.connections}
    rows = [_row(config, known[name]) for name in listed("connection", names, sorted(known))]
    show_rows(rows, COLUMNS, output)


@command.command("show")
@click.argument("name", metavar="TYPE.NAME", shell_complete=names_of("connection"))
@output_option
@without_spark()
def show_connection(context: Context, name: str, output: str) -> None:
    """What a connection was given; secrets are hidden."""
    from tailrace.cli.listing import show_several
    from tailrace.cli.matching import chosen, is_pattern
    from tailrace.cli.settings import load_config

    config = load_config(context)
    known = {f"{spec.type}.{spec.name}": spec for spec in config.connections}
    found = [known[each] for each in chosen("connection", name, sorted(known))]
    shown = [
        _row(config, spec) | {"arguments": [{"name": k, "value": v} for k, v in spec.args.items()]} for spec in found
    ]
    show_several(shown, output, as_list=is_pattern(name))


def _row(config: Config, spec: ConnectionSpec) -> Row:
    partitions = [p.full_name for p in config.partitions if any(source.connection == spec for source in p.sources)]
    workspaces = [f"workspace.{w.name}" for w in config.workspaces if w.connection == spec]
    return {
        "name": f"{spec.type}.{spec.name}",
        "type": spec.type,
        "used_by": partitions + workspaces,
        "where": str(spec.where),
    }

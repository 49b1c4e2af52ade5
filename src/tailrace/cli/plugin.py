"""`tailrace plugin list|show|install`."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from tailrace.cli.options import Context, output_option, without_spark

COLUMNS = ("name", "version", "tables", "sources", "formats", "partitions")


@click.group("plugin")
def command() -> None:
    """List what is installed and what it provides."""


@command.command("list", short_help="Packages that provide tables, sources and formats.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@output_option
@without_spark()
def list_plugins(context: Context, names: tuple[str, ...], output: str) -> None:
    """Packages that provide tables, sources and formats; Tailrace's own are built in."""
    from tailrace.cli.listing import show_rows
    from tailrace.cli.matching import listed
    from tailrace.cli.packages import packages
    from tailrace.cli.settings import load_config

    found = packages(load_config(context))
    counted = [
        {key: len(value) if isinstance(value, list) else value for key, value in asdict(found[name]).items()}
        for name in listed("plugin", names, found)
    ]
    show_rows(counted, COLUMNS, output)


@command.command("show", short_help="What a package provides, and who uses it.")
@click.argument("name")
@output_option
@without_spark()
def show_plugin(context: Context, name: str, output: str) -> None:
    """The tables, sources and formats of a package, and the partitions that use them."""
    from tailrace.cli.listing import show_several
    from tailrace.cli.matching import chosen, is_pattern
    from tailrace.cli.packages import packages
    from tailrace.cli.settings import load_config

    found = packages(load_config(context))
    show_several([asdict(found[each]) for each in chosen("plugin", name, found)], output, as_list=is_pattern(name))


@command.command("install", short_help="Print the command that installs a package.")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@without_spark()
def install_plugin(context: Context, names: tuple[str, ...]) -> None:
    """Print the command that installs a package; log types that are built in need none."""
    from tailrace.core.registry import table_names

    for name in names:
        built_in = [table for table in table_names() if table == name or table.startswith(f"{name}_")]
        if built_in:
            click.echo(f"{name} is built in: {', '.join(built_in)}", err=True)
        else:
            click.echo(f"{sys.executable} -m pip install {name}")

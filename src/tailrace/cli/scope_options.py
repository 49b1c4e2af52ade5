"""Options that say what of the lake is seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tailrace.cli.completing import complete_partitions, names_of

Command = Callable[..., Any]
_OPTIONS = (
    click.option("--schema", metavar="NAME", default="tailrace", shell_complete=names_of("schema"),
        help="The schema whose tables need no prefix (tailrace)."),
    click.option("--from", "start", metavar="TIME", help="Only rows at or after this time (2024-01-31, T-7d …)."),
    click.option("--to", "end", metavar="TIME", help="Only rows before this time."),
    click.option("--partition", "partitions", metavar="SEL", multiple=True, shell_complete=complete_partitions,
        help="Only rows of partitions (table.partition, table or partition; wildcards); may be repeated."),
    click.option("--index", "indexes", metavar="VALUE", multiple=True,
        help="Only rows with this tp_index (wildcards); may be repeated."),
)  # fmt: skip


def scope_options(command: Command) -> Command:
    """`--schema`, `--from`, `--to`, `--partition` and `--index`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command

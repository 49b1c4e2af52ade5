"""`tailrace pull`."""

from __future__ import annotations

from typing import Any

import click

from tailrace.cli.handing_command import handing_options, run
from tailrace.cli.options import Context, report_option, without_spark
from tailrace.cli.other_lake import lake_options


@click.command("pull")
@click.argument("names", metavar="SEL...", nargs=-1, required=True)
@lake_options(True, "The lake to copy from: a URL, a directory, or a workspace.")
@handing_options
@report_option
@without_spark()
def command(context: Context, **given: Any) -> None:
    """Copy days of partitions from another lake.

    SEL is a table, table.partition or a partition's name of the other lake, with wildcards; `partition list --lake`
    shows what it holds. Days come whole and appear in one commit each, newest first. One that is here already is not
    copied; one that is here in part, or with other rows, is merged by `tp_id` as `push` does. Every copy is read again
    and compared. What was cut off goes on where it was.

    Exit codes: 0 all is there, 2 usage, 5 something cannot be read or written, 6 held by another process.
    """
    run(context, "pull", **given)

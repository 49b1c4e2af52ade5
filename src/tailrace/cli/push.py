"""`tailrace push`."""

from __future__ import annotations

from typing import Any

import click

from tailrace.cli.completing import complete_partitions
from tailrace.cli.handing_command import handing_options, run
from tailrace.cli.options import Context, report_option, without_spark
from tailrace.cli.other_lake import lake_options


@click.command("push")
@click.argument("names", metavar="SEL...", nargs=-1, required=True, shell_complete=complete_partitions)
@lake_options(True, "The lake to copy to: a URL, a directory, or a workspace.")
@handing_options
@report_option
@without_spark()
def command(context: Context, **given: Any) -> None:
    """Copy days of partitions to another lake.

    SEL is a table, table.partition or a partition's name, with wildcards. Days come whole and appear in one commit
    each, newest first. A day that the other lake holds already is not copied; one that it holds in part, or with other
    rows, is merged by `tp_id`: what it lacks is added, rows that were collected again since replace theirs, those of
    an earlier version of an artifact go, and nothing else. Every copy is read again and compared. What was cut off goes
    on where it was, and several may push to one lake at once.

    Exit codes: 0 all is there, 2 usage, 5 something cannot be read or written, 6 held by another process.
    """
    run(context, "push", **given)

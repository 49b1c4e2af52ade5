"""`tailrace spark`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tailrace.cli.options import Context, output_option, without_spark
from tailrace.cli.spark_server import start, status, stop

if TYPE_CHECKING:
    from tailrace.cli.listing import Row

COLUMNS = ("file", "size", "tailrace", "python", "machine", "packages")


@click.group("spark")
def command() -> None:
    """Keep a Spark server warm for queries, or give the executors of a cluster what they need."""


for _command in (start, stop, status):
    command.add_command(_command)


@command.command("pack")
@click.option("--out", metavar="FILE", type=click.Path(), required=True, help="Archive to write, *.tar.gz.")
@click.option("--driver", is_flag=True, help="Also what only a driver needs, for drivers that run in the cluster.")
@output_option
@without_spark()
def pack(context: Context, out: str, driver: bool, output: str) -> None:
    """Pack this Python, Tailrace and all that it needs into one archive.

    `--spark-env FILE` sends it to the executors of a cluster, which then need neither Python nor Tailrace, only the
    same kind of processor and a system library (glibc) that is not older than here. Plugins that are installed here
    are in it. Spark and Java are not: executors run in them.
    """
    from pathlib import Path

    from tailrace.cli.listing import show_rows
    from tailrace.pipeline.packing import pack as pack_into

    if not context.quiet:
        click.echo("packing, and trying what was packed …", err=True)
    packed = pack_into(Path(out).expanduser().absolute(), driver=driver)
    row: Row = {
        "file": str(packed.path),
        "size": packed.size,
        "tailrace": packed.card.tailrace,
        "python": packed.card.python,
        "machine": packed.card.machine,
        "packages": len(packed.card.packages),
    }
    show_rows([row], COLUMNS, output)

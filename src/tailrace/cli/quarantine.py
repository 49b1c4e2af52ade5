"""`tailrace quarantine list|show`; what changes the quarantine is in `quarantine_changes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import complete_partitions
from tailrace.cli.options import Context, output_option, without_spark
from tailrace.cli.quarantine_changes import purge, replay
from tailrace.cli.sought import Meant, filter_options

if TYPE_CHECKING:
    from tailrace.cli.listing import Row

COLUMNS = {
    None: ("partition", "records", "size", "artifacts", "reasons", "first", "last", "reason", "example"),
    "reason": ("partition", "reason", "records", "size", "artifacts", "first", "last", "example"),
    "artifact": ("partition", "artifact", "records", "size", "reasons", "first", "last", "reason", "example"),
    "day": ("partition", "day", "records", "size", "artifacts", "reasons", "reason", "example"),
}
RECORD = ("id", "partition", "location", "member", "position", "reason", "quarantined", "length", "form", "raw")
LIMIT = 20
LONGEST = 2_000
"Characters of a record that people look at; programs get all that was kept."


@click.group("quarantine")
def command() -> None:
    """Records that could not be stored: list them, show them, try them again, or delete them."""


for _verb in (replay, purge):
    command.add_command(_verb)


@command.command("list", short_help="How many records, why, and since when.")
@click.argument("names", metavar="[SEL]...", nargs=-1, shell_complete=complete_partitions)
@click.option("--by", type=click.Choice(("reason", "artifact", "day")), help="A line per reason, artifact or day.")
@filter_options
@output_option
@without_spark()
def list_quarantine(context: Context, names: tuple[str, ...], by: str | None, output: str, **filters: object) -> None:
    """How many records are in the quarantine, why, and since when.

    A line per partition; `reason` is the most frequent one, with a * for the value of a record, which `example` and
    `show` have. SEL may hold wildcards.
    """
    from tailrace.cli.listing import show_rows
    from tailrace.lake.quarantined import grouped

    meant = Meant.of(context, names, filters)
    rows = grouped(meant.lake, meant.partitions, meant.sought, by)
    narrowed = names or any(filters.values())
    nothing = "no such record is in the quarantine" if narrowed else "the quarantine is empty"
    show_rows(rows, COLUMNS[by], output, nothing="" if context.quiet else nothing)


@command.command("show", short_help="Records with their bytes, places and reasons.")
@click.argument("names", metavar="[SEL|ID]...", nargs=-1, shell_complete=complete_partitions)
@filter_options
@click.option("--limit", type=click.IntRange(min=0), default=LIMIT, metavar="N", help="At most N records (20); 0: all.")
@output_option
@without_spark()
def show_quarantine(context: Context, names: tuple[str, ...], limit: int, output: str, **filters: object) -> None:
    """Records in the quarantine: their bytes, where they stand and why they are there.

    The position is the byte offset of a line after decompression, or the number of a JSON record. ID is the `tp_id`
    that the row would have; of an artifact that failed as a whole, what its ids begin with.
    """
    from tailrace.cli.listing import show_one, show_rows
    from tailrace.lake.quarantined import records

    meant = Meant.of(context, names, filters)
    shown, total = records(meant.lake, meant.partitions, meant.sought, limit or None)
    if output in ("json", "jsonl", "csv"):
        show_rows(shown, RECORD, output)
    else:
        for number, record in enumerate(shown):
            if number:
                click.echo()
            show_one(_shortened(record), output)
    if total > len(shown) and not context.quiet:
        click.echo(f"{len(shown):,} of {total:,} records are shown; --limit says how many", err=True)


def _shortened(record: Row) -> Row:
    """For people: without what is not said, and not too much of the bytes."""
    raw, kept, length = str(record["raw"]), record["kept"], record["length"]
    more = f"… ({length:,} bytes, {kept:,} of them kept)" if len(raw) > LONGEST or kept != length else ""
    facts = {**record, "raw": raw[:LONGEST] + more}
    left_out = {"kept", *(name for name in ("member",) if facts[name] is None)}
    left_out |= {"form"} if facts["form"] == "text" else set()
    return {name: value for name, value in facts.items() if name not in left_out}

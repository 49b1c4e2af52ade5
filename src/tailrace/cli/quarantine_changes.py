"""`tailrace quarantine replay|purge`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import complete_partitions
from tailrace.cli.options import Context, everywhere, output_option, without_spark
from tailrace.cli.sought import Meant, filter_options

if TYPE_CHECKING:
    from tailrace.cli.lazy_session import SessionOnDemand
    from tailrace.cli.listing import Row
    from tailrace.config import Config, PartitionSpec
    from tailrace.pipeline.report import ReplayReport

REPLAYED = (
    "partition", "tried", "stored", "duplicates", "filtered", "out_of_range", "deleted", "passed_over", "quarantined",
    "left",
)  # fmt: skip
DOOMED = ("partition", "records", "size", "artifacts", "first", "last")
PURGED = ("partition", "records", "undo")
_SEL = click.argument("names", metavar="SEL...", nargs=-1, required=True, shell_complete=complete_partitions)


@click.command("replay", short_help="Decode records again; those that fit are stored.")
@_SEL
@filter_options
@click.option("--dry-run", is_flag=True, help="Show what would become of the records, and change nothing.")
@output_option
@everywhere
def replay(context: Context, names: tuple[str, ...], dry_run: bool, output: str, **filters: object) -> None:
    """Decode quarantined records again, as the configuration says today.

    Those that fit move into the table, all in one commit and with the `tp_id` they would have had; the others stay,
    with the reason of today. Artifacts that could not be read at all, and those whose records say too little by
    themselves, are read again from their source. SEL may be an ID of `quarantine show`.

    Exit codes: 0 all that could be tried was, 5 an artifact that is needed cannot be read, 6 locked by another process.
    """
    from tailrace.cli.lazy_session import SessionOnDemand
    from tailrace.cli.listing import show_rows
    from tailrace.cli.settings import load_config, session_options
    from tailrace.cli.summary import print_troubles

    meant = Meant.of(context, names, filters)
    config = load_config(context)
    with SessionOnDemand(session_options(context)) as session:
        reports = [_replayed(config, _spec(config, name), meant, dry_run, session) for name in meant.partitions]
    show_rows([_row(report) for report in reports], REPLAYED, output)
    for report in reports:
        print_troubles(report)
    errors = [report.error.exit_code for report in reports if report.error is not None]
    sys.exit(max(errors, default=5 if any(report.troubles for report in reports) else 0))


def _spec(config: Config, name: str) -> PartitionSpec:
    from tailrace.core import ConfigError

    found = next((spec for spec in config.partitions if spec.full_name == name), None)
    if found is None:
        raise ConfigError(
            f"partition {name} is not configured, and the configuration says how records are decoded",
            code="config.unknown-partition",
            hint="write its block again; `tailrace quarantine show` and `purge` work without",
        )
    return found


def _replayed(
    config: Config, spec: PartitionSpec, meant: Meant, dry_run: bool, session: SessionOnDemand
) -> ReplayReport:
    from tailrace.cli.redact import command_line
    from tailrace.pipeline.replay import Replay, ReplayOptions

    options = ReplayOptions(meant.sought, command_line(sys.argv[1:]), session.cores, dry_run)
    return Replay(meant.lake, config, spec, options, session.get).run()


def _row(report: ReplayReport) -> Row:
    numbers = {name: getattr(report, name) for name in REPLAYED[1:]}
    return {"partition": report.name, **numbers, "artifacts": report.artifacts, "files": report.files}


@click.command("purge", short_help="Delete records.")
@_SEL
@filter_options
@click.option("--force", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@output_option
@without_spark()
def purge(context: Context, names: tuple[str, ...], force: bool, dry_run: bool, output: str, **filters: object) -> None:
    """Delete quarantined records.

    Rows that are stored stay. An artifact that is read again brings those of its records back that still do not fit.
    `partition restore` undoes it.
    """
    from tailrace.cli.listing import show_rows
    from tailrace.cli.partition_changes import confirm
    from tailrace.lake.quarantined import grouped

    meant = Meant.of(context, names, filters)
    doomed = grouped(meant.lake, meant.partitions, meant.sought, None)
    if dry_run:
        show_rows(doomed, DOOMED, output)
        return
    if doomed:
        confirm(
            [f"{row['partition']}: {row['records']:,} records of {row['artifacts']:,} artifacts" for row in doomed],
            force,
        )
    show_rows([_purged(context, meant, str(row["partition"])) for row in doomed], PURGED, output)


def _purged(context: Context, meant: Meant, name: str) -> Row:
    from tailrace.cli.partition_changes import held
    from tailrace.lake.purge import purge as take_out

    table, _, partition = name.partition(".")
    with held(meant.lake, table, partition):
        done = take_out(meant.lake, table, partition, meant.sought)
    undo = f"{context.command} partition restore {name} --at {done.version}"
    return {"partition": name, "records": done.records, "version": done.version, "undo": undo}

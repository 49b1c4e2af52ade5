"""`tailrace window import|export|query|run|status`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tailrace.cli.options import Context, output_option, without_spark
from tailrace.cli.window_runs import run_windows, show_status

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.lake.place import LocalPlace

IMPORTED = ("part_id", "files", "logs", "refused", "place")
REASONS = 10
"Reasons of refusals that are shown."
EXPORTED = ("logs", "unresolved", "files", "size", "place")
FORMS = ("otlp_proto", "otlp_json", "otap_ipc", "otap_parquet")


@click.group("window")
def command() -> None:
    """Logs of OpenTelemetry as OTAP tables: windows of time, SQL, sampling; in and out."""


command.add_command(run_windows)
command.add_command(show_status)


@command.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.option("--to", "base", metavar="DIR", type=click.Path(), required=True, help="Directory of the tables.")
@click.option("--max-errors", metavar="N", type=click.IntRange(min=0), help="Exit with 4 beyond N refused records.")
@output_option
@without_spark()
def import_logs(context: Context, files: tuple[str, ...], base: str, max_errors: int | None, output: str) -> None:
    """Append OTLP logs to the OTAP tables below DIR.

    The tables are logs, log_attrs, resource_attrs and scope_attrs. FILE holds JSON, JSON lines or protobuf, plain,
    compressed or in an archive. All of them become one partition (`_part_id=…`), which shows when the last one was
    read. What is in no table is kept in DIR/_refused, with the reason. An import is an addition: the same file
    imported again is there twice.

    Exit codes: 0 all well, 2 usage, or the disk is full, 4 more than --max-errors were refused, or all without it, 5 a
    file cannot be read.
    """
    from tailrace.cli.listing import show_rows
    from tailrace.core.errors import TooManyBadRows
    from tailrace.windows.refused import REFUSED
    from tailrace.windows.transfer import import_files

    place = _place(base)
    told = (lambda path: click.echo(path, err=True)) if context.verbose else (lambda path: None)
    done = import_files(files, place, told)
    row: Row = {"place": str(place), **{name: getattr(done, name) for name in IMPORTED[:-1]}}
    if not done.logs:
        row["part_id"] = None  # there is none
    show_rows([row], IMPORTED, output)
    # Each value has a reason of its own: there may be as many as records.
    reasons = sorted(done.reasons.items(), key=lambda item: (-item[1], item[0]))
    for reason, count in reasons[:REASONS]:
        click.echo(f"warning: refused {count}: {reason}", err=True)
    if others := reasons[REASONS:]:
        told_in = place.address(REFUSED)
        count = done.refused - sum(count for _, count in reasons[:REASONS])
        more = "" if done.refused == sum(done.reasons.values()) else "or more "
        click.echo(f"warning: refused {count}: {len(others)} {more}other reasons, see {told_in}", err=True)
    if done.refused > (max_errors if max_errors is not None else 0 if not done.logs else done.refused):
        hint = f"look at {place.address(REFUSED)}, or raise --max-errors"
        raise TooManyBadRows(f"{done.refused} records were refused", where=str(place), hint=hint)


@command.command("export")
@click.argument("base", metavar="DIR", type=click.Path())
@click.option("--out", metavar="PATH", type=click.Path(), required=True, help="File, or directory of tables.")
@click.option("--as", "form", type=click.Choice(FORMS), default="otlp_proto", help="Form of the export.")
@click.option("--batch-size", metavar="N", type=click.IntRange(1, 65535), default=65535, help="Logs of a message.")
@output_option
@without_spark()
def export_logs(context: Context, base: str, out: str, form: str, batch_size: int, output: str) -> None:
    """Write all logs of OTAP tables as OTLP, or as tables.

    Resource, scope and typed attributes come with them. The tables may have been written by `window import` or by
    OpenTelemetry's own Parquet exporter. Its files do not say for certain which resource a log without attributes
    has: such logs are counted as unresolved and come without one. The protobuf file is one ExportLogsServiceRequest;
    of JSON there is one per line and batch; of OTAP in Arrow's IPC format, one BatchArrowRecords behind its length.

    Exit codes: 0 all well, 2 usage, or the disk is full, 5 a file cannot be read.
    """
    from pathlib import Path

    from tailrace.cli.listing import show_rows
    from tailrace.windows.transfer import export_tables

    done = export_tables(_existing(base), Path(out).expanduser().absolute(), form, batch_size)
    row: Row = {
        "logs": done.logs, "unresolved": done.unresolved, "files": done.files, "size": done.bytes, "place": out,
    }  # fmt: skip
    show_rows([row], EXPORTED, output)
    if done.unresolved and not context.quiet:
        click.echo(f"warning: {done.unresolved} logs without resource and scope: see docs/windows.md", err=True)


@command.command("query")
@click.argument("base", metavar="DIR", type=click.Path())
@click.argument("sql", metavar="SQL")
@click.option("--from", "start", metavar="TIME", help="Only logs at or after this time (2024-01-31, T-7d …).")
@click.option("--to", "end", metavar="TIME", help="Only logs before this time.")
@click.option("--sample-size", metavar="N", type=click.IntRange(1, 99_999), default=100, help="Value of {sample_size}.")
@click.option("--seed", metavar="N", type=int, default=0, help="The same seed draws the same rows.")
@click.option("--then", metavar="SQL", help="Ask this about what SQL selects: selected_ids(_part_id, sampled_id).")
@output_option
@without_spark()
def query_logs(
    context: Context, base: str, sql: str, start: str | None, end: str | None, sample_size: int, seed: int,
    then: str | None, output: str,
) -> None:  # fmt: skip
    """Answer SQL over the OTAP tables below DIR.

    Tables are logs, log_attrs, resource_attrs and scope_attrs; in log_attributes, resource_attributes and
    scope_attributes `parent_id` is the log's id. weighted_reservoir_sample(STRUCT(id, weight), k) draws k logs of a
    group and says what each stands for. {window_start_ns}, {window_end_ns} and {sample_size} are filled in.

    Exit codes: 0 all well, 1 the SQL does not run, 2 usage, 5 a file cannot be read.
    """
    import sys

    import duckdb

    from tailrace.cli.settings import now
    from tailrace.core import parse_time
    from tailrace.query.engine import Result
    from tailrace.query.render import render
    from tailrace.windows.asking import ask

    moment = now()
    times = [None if text is None else parse_time(text, moment) for text in (start, end)]
    found = ask(_existing(base), sql, *times, sample_size=sample_size, seed=seed, then=then)
    with duckdb.connect() as connection:
        answer = connection.from_arrow(found)
        types, rows = tuple(map(str, answer.types)), iter(answer.fetchall())
    render(Result(tuple(found.column_names), types, rows), output, sys.stdout)


def _existing(path: str) -> LocalPlace:
    from tailrace.core.errors import UsageError

    place = _place(path)
    if not place.exists():
        hint = "name the directory that holds `logs`, `log_attrs` …"
        raise UsageError("there is no such directory", code="usage.window", where=str(place), hint=hint)
    return place


def _place(path: str) -> LocalPlace:
    from pathlib import Path

    from tailrace.lake.place import LocalPlace

    return LocalPlace(str(Path(path).expanduser().absolute()))

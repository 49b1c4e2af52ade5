"""What `push` and `pull` have in common as commands: options, and the report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from tailrace.cli.byte_progress import byte_progress
from tailrace.cli.completing import names_of
from tailrace.cli.options import Context

if TYPE_CHECKING:
    from tailrace.cli.handing import Handing, Kind
    from tailrace.cli.listing import Row
    from tailrace.config import Config
    from tailrace.lake.handover import Handed
    from tailrace.lake.sharing import SharedDay
    from tailrace.query.filters import Schema

Command = Callable[..., Any]
COLUMNS = ("name", "state", "days", "files", "rows", "size", "first", "last")
DONE = (*COLUMNS, "added", "replaced", "gone", "kept")
_OPTIONS = (
    click.option("--from", "start", metavar="TIME", help="Only days from this time on (2024-01-31, T-7d …)."),
    click.option("--to", "end", metavar="TIME", help="Only days before this time."),
    click.option(
        "--index", "indexes", metavar="VALUE", multiple=True, help="Only this tp_index (wildcards); may be repeated."
    ),
    click.option("--schema", metavar="NAME", shell_complete=names_of("schema"), help="Only what this schema holds."),
    click.option("--at", metavar="VERSION|TIME", help="As it was at a version of the table, or at a time."),
    click.option("--overwrite", is_flag=True, help="Also rows of ranges that were deleted where they go to."),
    click.option("--dry-run", is_flag=True, help="Show what there is and what would be copied, and do nothing."),
)


def handing_options(command: Command) -> Command:
    """Which days, and how."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def run(
    context: Context,
    kind: Kind,
    *,
    names: tuple[str, ...],
    address: str,
    connection: str | None,
    start: str | None,
    end: str | None,
    indexes: tuple[str, ...],
    schema: str | None,
    at: str | None,
    overwrite: bool,
    dry_run: bool,
    output: str,
) -> None:
    """Either command."""
    from tailrace.cli.handing import Handing, Wanted
    from tailrace.cli.other_lake import lake_at
    from tailrace.cli.settings import load_config, now, open_lake
    from tailrace.core import TimeRange, parse_time

    moment, config = now(), load_config(context)
    own, other = open_lake(context, config), lake_at(context, config, address, connection)
    source, target = (own, other) if kind == "push" else (other, own)
    window = TimeRange(*(None if text is None else parse_time(text, moment) for text in (start, end)))
    version = None if at is None else int(at) if at.isdecimal() else parse_time(at, moment)
    wanted = Wanted(names, window, indexes, _schema(config, schema), version)
    listing = _listing(address, connection) if kind == "pull" else None
    handing = Handing(kind, source, target, wanted, overwrite, listing)
    planned = handing.plan()
    if dry_run:
        days = [_row(name, day) for name, some in planned.items() for day in some]
        _tell(context, days, COLUMNS, handing, output)
        return
    with byte_progress(context, kind) as told:
        done = [_done(name, handed) for name, handed in handing.carry_out(planned, told)]
    _tell(context, done, DONE, handing, output)
    sys.exit(max((error.exit_code for _, error in handing.troubles), key=lambda code: code == 5, default=0))


def _listing(address: str, connection: str | None) -> str:
    """The command that shows what another lake holds."""
    options = ["--lake", address, *(["--connection", connection] if connection else [])]
    return f"tailrace partition list {shlex.join(options)}"


def _done(name: str, handed: Handed) -> Row:
    return _row(name, handed.shared) | {
        "added": handed.added,
        "replaced": handed.replaced,
        "gone": handed.gone,
        "kept": handed.kept,
        "withheld": handed.withheld,
        "erased": handed.erased,
        "copied_size": handed.copied_bytes,
        "version": handed.version,
    }


def _row(name: str, day: SharedDay) -> Row:
    amounts = {"files": len(day.files), "rows": day.rows, "size": day.bytes}
    return {"name": name, "day": day.day, "state": day.state, **amounts}


def _schema(config: Config, name: str | None) -> Schema | None:
    from tailrace.cli.matching import chosen
    from tailrace.cli.schemas import schemas_of
    from tailrace.cli.seeing import is_default

    if name is None or is_default(name):
        return None
    known = {schema.name: schema for schema in schemas_of(config)}
    return known[chosen("schema", name, sorted(known))[0]]


def _tell(context: Context, days: Sequence[Row], columns: Sequence[str], handing: Handing, output: str) -> None:
    from tailrace.cli.hints import hint_of
    from tailrace.cli.listing import as_json, show_rows
    from tailrace.cli.redact import redacted, visible, visible_error

    if output == "json":
        told = [{"name": n, "code": e.code, "message": str(e), "hint": hint_of(e)} for n, e in handing.troubles]
        click.echo(redacted(as_json({"days": days, "troubles": told}, indent=2)))
        return
    if not context.quiet:
        show_rows(_grouped(days), columns, output)
    for name, error in handing.troubles:
        click.secho(f"warning[{error.code}]: ", fg="yellow", nl=False, err=True)
        click.echo(f"{name}: {visible_error(error)}", err=True)
        if hint := hint_of(error):
            click.echo(f"  hint: {visible(hint)}", err=True)
    _tell_withheld(days, "there" if handing.kind == "push" else "here")


def _tell_withheld(days: Sequence[Row], where: str) -> None:
    withheld, erased = (sum(row.get(name, 0) for row in days) for name in ("withheld", "erased"))  # type: ignore[misc]
    stay = f"rows were deleted {where}"
    if withheld > erased:
        click.echo(f"note: {withheld - erased:,} {stay} and stay away; see --overwrite", err=True)
    if erased:
        lift = (
            "`partition delete --where … --lift` in that lake"
            if where == "there"
            else "`partition delete --where … --lift`"
        )
        click.echo(f"note: {erased:,} {stay} by a condition and stay away until {lift}", err=True)


def _grouped(days: Sequence[Row]) -> list[Row]:
    """A line for each partition and state: there may be thousands of days."""
    found: dict[tuple[object, object], list[Row]] = {}
    for row in days:
        found.setdefault((row["name"], row["state"]), []).append(row)
    lines = []
    for (name, state), some in found.items():
        dates: list[Any] = sorted(row["day"] for row in some)
        sums: Row = {
            column: sum(row[column] for row in some)  # type: ignore[misc]
            for column in ("files", "rows", "size", "added", "replaced", "gone", "kept")
            if column in some[0]
        }
        lines.append({"name": name, "state": state, "days": len(some), "first": dates[0], "last": dates[-1], **sums})
    return lines

"""`tailrace connection list|show|test`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import names_of
from tailrace.cli.options import Context, output_option, without_spark

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.config import Config, ConnectionSpec, SourceSpec
    from tailrace.sources.trial import Answer

COLUMNS = ("name", "used_by", "where")
ANSWER_COLUMNS = ("connection", "what", "ok", "answer")


@click.group("connection")
def command() -> None:
    """List connections, show one, or try one out."""


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


@command.command("test", short_help="Ask the service who we are and list its places.")
@click.argument("name", metavar="TYPE.NAME", shell_complete=names_of("connection"))
@output_option
@without_spark()
def test_connection(context: Context, name: str, output: str) -> None:
    """Ask the service who we are, and for the first names in what sources and lakes have behind the connection."""
    from tailrace.cli.listing import show_rows
    from tailrace.cli.matching import chosen
    from tailrace.cli.settings import load_config
    from tailrace.core import SourceError
    from tailrace.sources.trial import try_connection

    config = load_config(context)
    known = {f"{spec.type}.{spec.name}": spec for spec in config.connections}
    rows: list[Row] = []
    for each in chosen("connection", name, sorted(known)):
        spec = known[each]
        for answer in (*try_connection(spec, _sources(config, spec)), *_lakes(config, spec)):
            rows.append({"connection": each, "what": answer.what, "ok": answer.ok, "answer": answer.said})
    if not rows:
        rows = [{"connection": name, "what": "sources", "ok": True, "answer": "none uses it"}]
    show_rows(rows, ANSWER_COLUMNS, output)
    if not all(row["ok"] for row in rows):
        sys.exit(SourceError.exit_code)


def _sources(config: Config, spec: ConnectionSpec) -> list[SourceSpec]:
    """Those that read through the connection and can be collected from."""
    from tailrace.config.packaged import source_kinds

    of_partitions = [source for partition in config.partitions for source in partition.sources]
    kinds = source_kinds()
    return [s for s in (*of_partitions, *config.sources) if s.connection == spec and kinds[s.kind].active]


def _lakes(config: Config, spec: ConnectionSpec) -> Iterator[Answer]:
    """Those of workspaces that lie behind the connection."""
    from tailrace.core import LakeError
    from tailrace.lake.located import place_at
    from tailrace.sources.trial import Answer

    for workspace in config.workspaces:
        if workspace.connection == spec and workspace.path is not None:
            place = place_at(workspace.path, spec, str(workspace.where))
            try:
                place.exists()
                yield Answer(place.uri, "can be listed", True)
            except LakeError as error:
                yield Answer(place.uri, f"cannot be listed: {error.message}", False)


def _row(config: Config, spec: ConnectionSpec) -> Row:
    partitions = [p.full_name for p in config.partitions if any(source.connection == spec for source in p.sources)]
    workspaces = [f"workspace.{w.name}" for w in config.workspaces if w.connection == spec]
    return {
        "name": f"{spec.type}.{spec.name}",
        "type": spec.type,
        "used_by": partitions + workspaces,
        "where": str(spec.where),
    }

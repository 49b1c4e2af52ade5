"""`tailrace source list|show`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import complete_kinds, complete_selectors
from tailrace.cli.options import Context, output_option, without_spark
from tailrace.cli.redact import visible, visible_line

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.config import Config, PartitionSpec, SourceSpec
    from tailrace.config.attributes import BlockType
    from tailrace.lake.paths import Lake

KIND_COLUMNS = ("name", "plugin", "available", "description")
CONFIGURED_COLUMNS = ("partition", "name", "kind", "arguments", "format", "connection", "where")
ARTIFACT_COLUMNS = ("partition", "source", "state", "size", "day", "location")


@click.group("source")
def command() -> None:
    """List kinds of source, configured sources or what they hold, or show one."""


@command.command("list", short_help="Kinds of source, configured ones, or what they hold.")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_kinds)
@click.option(
    "--partition", "selectors", metavar="SEL", multiple=True, shell_complete=complete_selectors,
    help="The sources of these partitions; `*` for all.",
)  # fmt: skip
@click.option("--artifacts", is_flag=True, help="What the sources hold, and what of it is collected.")
@output_option
@without_spark()
def list_sources(
    context: Context, names: tuple[str, ...], selectors: tuple[str, ...], artifacts: bool, output: str
) -> None:
    """Kinds of source; with --partition, configured sources; with --artifacts, the files that they hold."""
    from tailrace.cli.listing import show_rows
    from tailrace.cli.matching import listed
    from tailrace.cli.settings import load_config, open_lake
    from tailrace.config import select
    from tailrace.config.packaged import source_kinds

    if not selectors and not artifacts:
        show_rows([_kind_row(kind) for kind in listed("source", names, source_kinds())], KIND_COLUMNS, output)
        return
    config = load_config(context)
    specs = select(config, [] if "*" in selectors else selectors)
    pairs = [(spec, source) for spec in specs for source in spec.sources]
    chosen = set(listed("source", names, [f"{source.kind}.{source.name}" for _, source in pairs]))
    pairs = [(spec, source) for spec, source in pairs if f"{source.kind}.{source.name}" in chosen]
    if artifacts:
        lake = open_lake(context, config)
        _show_artifacts(config, lake, pairs, output)
    else:
        rows = [{"partition": spec.full_name, **source_row(config, spec, source)} for spec, source in pairs]
        show_rows(rows, CONFIGURED_COLUMNS, output)


@command.command("show")
@click.argument("name", metavar="KIND|NAME", shell_complete=complete_kinds)
@output_option
@without_spark()
def show_source(context: Context, name: str, output: str) -> None:
    """What a kind of source takes, or what a configured source was given."""
    from tailrace.cli.listing import show_several
    from tailrace.cli.matching import chosen, is_pattern
    from tailrace.cli.settings import load_config
    from tailrace.config.declare_sources import KIND_SYNONYMS
    from tailrace.config.packaged import source_kinds

    config = load_config(context)
    configured: dict[str, Row] = {}
    for source in config.sources:
        configured[f"{source.kind}.{source.name}"] = source_row(config, None, source)
    for spec in config.partitions:
        for source in spec.sources:
            row = configured.setdefault(f"{source.kind}.{source.name}", source_row(config, spec, source))
            row["partitions"] = [*row.get("partitions", []), spec.full_name]  # type: ignore[misc]
    found = chosen("source", KIND_SYNONYMS.get(name, name), [*source_kinds(), *configured])
    shown = [configured[each] if each in configured else _kind_facts(each, config) for each in found]
    show_several(shown, output, as_list=is_pattern(name))


def source_row(config: Config, spec: PartitionSpec | None, source: SourceSpec) -> Row:
    """A configured source; secrets among its arguments stay hidden."""
    from tailrace.cli.describe import format_words
    from tailrace.config import tables_for

    if source.format is not None:
        words: str | None = format_words(source.format)
    else:
        words = f"{format_words(tables_for(config, spec.table).format)} (the table's own)" if spec else None
    connection = source.connection
    return {
        "name": source.name,
        "kind": source.kind,
        "arguments": dict(source.args),
        "format": words,
        "connection": f"{connection.type}.{connection.name}" if connection else None,
        "where": str(source.where),
    }


def _kind_row(kind: str) -> Row:
    from tailrace.cli.packages import provider
    from tailrace.config.declare_sources import KINDS

    declared = _declared(kind)
    return {
        "name": kind,
        "plugin": provider("source", kind, KINDS),
        "available": declared.active,
        "description": declared.doc,
    }


def _declared(kind: str) -> BlockType:
    from tailrace.config.packaged import source_kinds

    return source_kinds()[kind]


def _kind_facts(kind: str, config: Config) -> Row:
    from tailrace.cli.describe import attribute_rows
    from tailrace.config.declare_sources import KIND_SYNONYMS, SOURCE

    using = [p.full_name for p in config.partitions if any(source.kind == kind for source in p.sources)]
    return {
        **_kind_row(kind),
        "synonyms": [synonym for synonym, meant in KIND_SYNONYMS.items() if meant == kind],
        "partitions": using,
        "properties": attribute_rows({**_declared(kind).attributes, **SOURCE}),
    }


def _show_artifacts(config: Config, lake: Lake, pairs: list[tuple[PartitionSpec, SourceSpec]], output: str) -> None:
    """What all of them hold; a source that cannot be listed does not hide the others."""
    from tailrace.cli.listing import show_rows
    from tailrace.cli.main import report
    from tailrace.core import TailraceError

    rows: list[Row] = []
    errors: list[TailraceError] = []
    for spec, source in pairs:
        try:
            rows.extend(_artifacts(config, lake, spec, source))
        except TailraceError as error:
            errors.append(error)
    if rows or not errors:
        show_rows(rows, ARTIFACT_COLUMNS, output)
    for failure in errors:
        report(failure)
    if errors:
        sys.exit(errors[0].exit_code)


def _artifacts(config: Config, lake: Lake, spec: PartitionSpec, source: SourceSpec) -> Iterator[Row]:
    """What the source holds in the time that the next collection would look at."""
    from dataclasses import replace

    from tailrace.cli.settings import now
    from tailrace.config import require_available, tables_for
    from tailrace.core import TimeRange
    from tailrace.lake.intents import read_ledger
    from tailrace.pipeline.listing import list_sources
    from tailrace.pipeline.prepare import listing_window
    from tailrace.pipeline.report import PartitionReport

    require_available(source)
    ledger = read_ledger(lake, spec.table, spec.name)
    known = ledger.known()
    here = {file.uri: key for key, file in ledger.files().items()}
    report = PartitionReport(spec.full_name)
    alone, window = replace(spec, sources=(source,)), listing_window(TimeRange(), ledger, now())
    for wanted in list_sources(alone, tables_for(config, spec.table), window, report, lake).artifacts:
        artifact = wanted.artifact
        before = known.get(here.get(artifact.uri, artifact.uri))
        state = "new" if before is None else before.status if before.version == artifact.version else "changed"
        yield {
            "partition": spec.full_name,
            "source": source.name,
            "state": "collected" if state == "ok" else state,
            "size": artifact.size,
            "day": artifact.day,
            "location": artifact.location,
            "uri": artifact.uri,
        }
    for trouble in report.troubles:
        click.echo(f"warning[{trouble.code}]: {visible_line(trouble.where)}: {visible(trouble.message)}", err=True)

"""Every value of a configuration with its origin, for `config show`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailrace.cli.layers import Chosen, chosen_settings, config_layers
from tailrace.cli.options import Context

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.config import Config, OtherBlock, SourceSpec, TableSpec, Where
    from tailrace.config.model import VariableSpec

_NOTHING: tuple[object, ...] = (None, "", (), [], {})


@dataclass(frozen=True, slots=True)
class Part:
    """A block as it is shown: its name, its attributes, its place."""

    name: str
    values: Mapping[str, object]
    where: Where


def setting_values(context: Context, config: Config) -> Iterator[Row]:
    """What holds for every command, and the settings of the workspace that was chosen."""
    from tailrace.config.declare import WORKSPACE

    for setting in chosen_settings(context):
        yield _row(setting)
    workspace = config.workspace(context.workspace_name)
    given = workspace.settings if workspace else {}
    for name, declared in WORKSPACE.items():
        if name not in given and declared.default is not None:
            yield _row(Chosen(f"workspace.{context.workspace_name}.{name}", declared.default, "default"))


def _row(setting: Chosen) -> Row:
    return {"name": setting.name, "value": setting.value, "origin": setting.origin, "where": setting.by}


def block_values(context: Context, config: Config) -> Iterator[Row]:
    """A row per attribute that was given, in the order of the files."""
    for variable in config.variables:
        yield _variable(variable)
    origins = {str(file): layer for layer, file in _files(context)}
    for part in sorted(_parts(config), key=lambda part: part.where):
        origin = origins.get(part.where.file, "user")
        values = {name: value for name, value in part.values.items() if value not in _NOTHING}
        if not values:
            yield {"name": part.name, "value": None, "origin": origin, "where": str(part.where)}
        for name, value in values.items():
            place = _place(config, part, name)
            yield {"name": f"{part.name}.{name}", "value": value, "origin": origin, "where": str(place)}


def _variable(variable: VariableSpec) -> Row:
    by = {"--var": "flag", "TAILRACE_VAR": "environment", "default": "default"}
    origin = next((origin for start, origin in by.items() if variable.origin.startswith(start)), "file")
    where = str(variable.where) if origin == "default" else variable.origin
    return {"name": f"var.{variable.name}", "value": variable.value, "origin": origin, "where": where}


def _files(context: Context) -> Iterator[tuple[str, object]]:
    from tailrace.config import find_files

    for layer in config_layers(context):
        for file in find_files(layer.paths):
            yield layer.origin, file


def _place(config: Config, part: Part, attribute: str) -> Where:
    """Where the attribute stands; where the block does, if it is not written there."""
    return config.outline.value(part.where, attribute)


def _parts(config: Config) -> Iterator[Part]:
    from tailrace.cli.describe import format_values

    for connection in config.connections:
        name = f"connection.{connection.type}.{connection.name}"
        yield Part(name, connection.args, connection.where)
    for fmt in config.formats:
        values = {"description": fmt.description, **format_values(fmt.format)}
        yield Part(f"format.{fmt.type}.{fmt.name}", values, fmt.where)
    declared = {source.where: f"source.{source.kind}.{source.name}" for source in config.sources}
    for source in config.sources:
        yield _source(declared[source.where], source)
    for table in config.tables:
        yield from _table(table)
    for partition in config.partitions:
        name = f"partition.{partition.full_name}"
        own = {"description": partition.description, "filter": partition.filter, "tp_index": partition.tp_index}
        referred = [declared[source.where] for source in partition.sources if source.where in declared]
        yield Part(name, {**own, "source": referred, **partition.resting}, partition.where)
        for source in partition.sources:
            if source.where not in declared:
                yield _source(f"{name}.source.{source.name}", source)
        for tier in partition.tiers:
            yield from _other(tier, f"{name}.")
    for workspace in config.workspaces:
        reached = workspace.connection
        shown = {"path": workspace.path, "connection": f"connection.{reached.type}.{reached.name}" if reached else None}
        yield Part(f"workspace.{workspace.name}", {**shown, **workspace.settings}, workspace.where)
    for block in config.others:
        yield from _other(block, "")


def _source(name: str, source: SourceSpec) -> Part:
    from tailrace.cli.describe import format_words

    connection = source.connection
    values = {
        **source.args,
        "format": format_words(source.format) if source.format else None,
        "connection": f"connection.{connection.type}.{connection.name}" if connection else None,
    }
    return Part(name, values, source.where)


def _table(table: TableSpec) -> Iterator[Part]:
    from tailrace.cli.describe import format_words

    values = {
        "description": table.description,
        "format": format_words(table.format) if table.format else None,
        "null_if": table.null_if,
        "retention": f"{table.retention.total_seconds() / 86_400:g}d" if table.retention else None,
        "map_fields": table.map_fields,
        "columns": [f"{column.name} {column.type}" for column in table.columns],
    }
    yield Part(f"table.{table.name}", values, table.where)


def _other(block: OtherBlock, prefix: str) -> Iterator[Part]:
    name = prefix + ".".join(filter(None, (block.kind, block.type, block.name)))
    yield Part(name, block.args, block.where)
    for inner in block.blocks:
        yield from _other(inner, f"{name}.")

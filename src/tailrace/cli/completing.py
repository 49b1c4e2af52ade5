"""What the shell proposes for a name. Files are looked through, not loaded: quick, and broken ones do no harm."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from tailrace.cli.options import Context

if TYPE_CHECKING:
    import click

    from tailrace.lake.place import Place

_HEAD = re.compile(r'^[ \t]*(\w+)[ \t]+"([^"\n]+)"(?:[ \t]+"([^"\n]+)")?[ \t]*\{(.*)', re.MULTILINE)
_TABLE = re.compile(r'\b(?:type|table)\s*=\s*(?:table\.|")([\w-]+)')
_KINDS = {"collection": "partition", "dataset": "schema"}
Names = Callable[["click.Context", "click.Parameter", str], list[str]]


class _Block(NamedTuple):
    kind: str
    labels: tuple[str, ...]


def names_of(kind: str) -> Names:
    """Completes the blocks of a kind: `type.name`, or the name alone."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        return _beginning(incomplete, (".".join(b.labels) for b in _blocks(context) if b.kind == kind))

    return complete


def complete_tables(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Built-in, configured and stored tables."""
    return _beginning(incomplete, _tables(context))


def complete_partitions(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """`table.partition`, configured or stored; the names alone where the text says no table."""
    found = set(_partitions(context))
    matching = _beginning(incomplete, found)
    return matching or _beginning(incomplete, {name.rpartition(".")[2] for name in found})


def complete_selectors(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """What `collect` takes: configured partitions, and tables that have some; their names alone where none fits."""
    found = set(_configured(context))
    matching = _beginning(incomplete, {*found, *(name.partition(".")[0] for name in found)})
    return matching or _beginning(incomplete, {name.rpartition(".")[2] for name in found})


def complete_values(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """What `config show` takes: kinds of block and, once one is begun, the blocks."""
    blocks = [(b.kind, ".".join((b.kind, *b.labels))) for b in _blocks(context)]
    return _beginning(incomplete, (name if "." in incomplete else kind for kind, name in blocks))


def complete_kinds(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Kinds of source, and configured sources."""
    from tailrace.config.declare_sources import KINDS
    from tailrace.core.plugins import offered

    return _beginning(
        incomplete, {*KINDS, *offered("source"), *(".".join(b.labels) for b in _blocks(context) if b.kind == "source")}
    )


def _tables(context: click.Context) -> Iterable[str]:
    from tailrace.core.registry import all_table_names

    yield from all_table_names()
    yield from (b.labels[0] for b in _blocks(context) if b.kind == "table")
    yield from (name.partition(".")[0] for name in _stored(context))


def _configured(context: click.Context) -> Iterable[str]:
    return (".".join(b.labels) for b in _blocks(context) if b.kind == "partition" and len(b.labels) == 2)


def _partitions(context: click.Context) -> Iterable[str]:
    yield from _configured(context)
    yield from (name for name in _stored(context) if "." in name)


def _blocks(context: click.Context) -> Iterable[_Block]:
    from tailrace.cli.layers import config_files

    for file in config_files(_options(context)):
        yield from _heads(file.read_text(errors="replace"))


def _heads(text: str) -> Iterable[_Block]:
    for kind, first, second, rest in _HEAD.findall(text):
        kind = _KINDS.get(kind, kind)
        if second or kind != "partition":
            yield _Block(kind, (first, second) if second else (first,))
        elif table := _TABLE.search(rest or text[text.index(f'"{first}"') :]):
            yield _Block(kind, (table[1], first))


def _stored(context: click.Context) -> Iterable[str]:
    """Tables and their partitions by the names of their directories; of a lake elsewhere none, as asking takes long."""
    from tailrace.cli.layers import may_move_lake
    from tailrace.lake.paths import Lake

    options = _options(context)
    if may_move_lake(options):
        return
    root = Lake(options.home_path, options.workspace_name).data_root
    for table in _named(root, "tp_table"):
        name = unquote(table)
        yield name
        yield from (f"{name}.{unquote(p)}" for p in _named(root / f"tp_table={table}", "tp_partition"))


def _named(place: Place, column: str) -> Iterable[str]:
    """Values of the column for which there is a directory."""
    return (name.partition("=")[2] for name in place.folders() if name.startswith(f"{column}="))


def _options(context: click.Context) -> Context:
    """The common options on the line so far; completion runs no command that would gather them."""
    given: dict[str, str | tuple[str, ...]] = {}
    current: click.Context | None = context
    while current is not None:
        for name in ("home", "workspace", "config_path"):
            if current.params.get(name):
                given.setdefault(name, current.params[name])
        current = current.parent
    return Context(**given)  # type: ignore[arg-type]


def _beginning(text: str, names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if name.startswith(text)})

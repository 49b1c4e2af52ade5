"""What a configuration says, as values that remember where it was said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from tailrace.config.places import Outline, Problem, Where
from tailrace.config.values import Value
from tailrace.core.columns import Column
from tailrace.core.formats import Format

_CAPTURE = re.compile(r"%\{\w+:(\w+)|\(\?P?<(\w+)>")


@dataclass(frozen=True, slots=True)
class ConnectionSpec:
    """How to reach a service; secret values are wrapped (`Secret.reveal()`)."""

    type: str
    name: str
    args: Mapping[str, Value]
    where: Where


@dataclass(frozen=True, slots=True)
class FormatSpec:
    """A named format."""

    type: str
    name: str
    format: Format
    description: str
    where: Where


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A `table` block: a table of its own, or additions to a built-in one; see `tables_for`."""

    name: str
    extends: str
    "The built-in table that it builds on: another one, or the one of its own name, if there is one."
    columns: tuple[Column, ...]
    format: Format | None
    description: str
    null_if: str | None
    map_fields: tuple[str, ...] | None
    where: Where
    dedupe: tuple[str, ...] = ()
    dedupe_window: timedelta | None = None
    retention: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Location:
    """Where objects or streams of a remote source lie."""

    container: str
    "Bucket, account and container, or log group."
    prefix: str
    "What their names begin with: all that a service can be asked for."
    pattern: str
    "A wildcard over their whole names."


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Where the rows of a partition come from."""

    kind: str
    name: str
    args: Mapping[str, Value]
    "What the kind of source itself understands; `file`: paths, file_layout, patterns."
    format: Format | None
    "None = the table's own."
    connection: ConnectionSpec | None
    where: Where
    locations: tuple[Location, ...] = ()
    "What a kind that lists remote objects reads."

    def path_fields(self) -> frozenset[str]:
        """What `file_layout` captures: a path says it of all rows below it."""
        patterns = self.args.get("patterns")
        texts = [self.args.get("file_layout"), *(patterns.values() if isinstance(patterns, Mapping) else ())]
        return frozenset(name for text in texts for pair in _CAPTURE.findall(str(text)) for name in pair if name)


@dataclass(frozen=True, slots=True)
class OtherBlock:
    """A block that is read as it is declared; see `BLOCK_TYPES`."""

    kind: str
    "Never a synonym: a `dataset` is a schema."
    type: str
    "Empty where the kind has no types."
    name: str
    "Empty where it needs none."
    args: Mapping[str, Value]
    "What was given; what holds otherwise is declared."
    blocks: tuple[OtherBlock, ...]
    where: Where


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """The unit of collection: a table, a name, and one or more sources."""

    table: str
    name: str
    sources: tuple[SourceSpec, ...]
    filter: str | None
    tp_index: str | None
    where: Where
    description: str = ""
    lookback: timedelta | None = None
    "How far the first collection goes back; None = as the workspace says."
    resting: Mapping[str, Value] = field(default_factory=dict)
    "Where its days rest, and for how long: store, tiers, retention."
    tiers: tuple[OtherBlock, ...] = ()
    dedupe: tuple[str, ...] = ()
    "Columns whose values tell events apart; none: rows are what they are."
    dedupe_window: timedelta | None = None
    "How far apart rows of one event may be; None = a day."

    @property
    def full_name(self) -> str:
        return f"{self.table}.{self.name}"


@dataclass(frozen=True, slots=True)
class WorkspaceSpec:
    """Where a lake lies, and settings that go with it; those of `base` are already in."""

    name: str
    path: str | None
    connection: ConnectionSpec | None
    settings: Mapping[str, Value]
    where: Where
    lookback: timedelta | None = None
    query_cache_size: int | None = None
    "Bytes."
    retention: timedelta | None = None


@dataclass(frozen=True, slots=True)
class VariableSpec:
    """A variable and the value it has."""

    name: str
    type: str
    value: Value
    "A Secret where the block says `sensitive`."
    origin: str
    "Where the value was given: a place, `--var x`, `TAILRACE_VAR_x`, or `default`."
    description: str
    where: Where


@dataclass(frozen=True, slots=True)
class Config:
    """All files together."""

    partitions: tuple[PartitionSpec, ...] = ()
    connections: tuple[ConnectionSpec, ...] = ()
    formats: tuple[FormatSpec, ...] = ()
    tables: tuple[TableSpec, ...] = ()
    workspaces: tuple[WorkspaceSpec, ...] = ()
    sources: tuple[SourceSpec, ...] = ()
    others: tuple[OtherBlock, ...] = ()
    warnings: tuple[Problem, ...] = ()
    files: tuple[str, ...] = ()
    variables: tuple[VariableSpec, ...] = ()
    outline: Outline = field(default_factory=Outline, repr=False, compare=False)
    "The files as written: where each attribute stands."

    def of(self, kind: str) -> tuple[OtherBlock, ...]:
        """Stores, tiers, schemas, sinks, listeners or windows."""
        return tuple(block for block in self.others if block.kind == kind)

    def table(self, name: str) -> TableSpec | None:
        """The `table` block of that name."""
        return next((spec for spec in self.tables if spec.name == name), None)

    def workspace(self, name: str) -> WorkspaceSpec | None:
        """The `workspace` block of that name."""
        return next((spec for spec in self.workspaces if spec.name == name), None)

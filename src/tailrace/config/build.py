"""Blocks of all files → one checked configuration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tailrace.config.attributes import checked
from tailrace.config.declare import BLOCK_SYNONYMS, BLOCKS, OTHER_BLOCKS, WORKSPACE
from tailrace.config.declare_sources import CONNECTIONS
from tailrace.config.evaluate import Evaluator
from tailrace.config.formats import Formats
from tailrace.config.functions import duration, size
from tailrace.config.model import (
    Config,
    ConnectionSpec,
    FormatSpec,
    OtherBlock,
    WorkspaceSpec,
)
from tailrace.config.names import Names, TableNames
from tailrace.config.others import Others
from tailrace.config.partitions import Partitions
from tailrace.config.places import Problem, Report
from tailrace.config.sources import Sources
from tailrace.config.syntax import Block
from tailrace.config.tables import Tables, table_name
from tailrace.config.values import Reference, Setting, Settings, Value, called
from tailrace.core import plugins, registry

_LABELS = {"connection": 2, "table": 1, "workspace": 1, "locals": 0, "variable": 1}


class Builder:
    """Holds what has been read so far; every block is read once, those that others refer to first."""

    def __init__(
        self, files: Sequence[Block], evaluator: Evaluator, report: Report, workspace: str = "default"
    ) -> None:
        self.report = report
        self.workspace = workspace
        self.evaluator = evaluator
        self.blocks = [block for file in files for block in file.blocks if self._known(block)]
        for file in files:
            for attribute in file.attributes.values():
                report.error(
                    attribute.where, f"'{attribute.name}' stands outside of any block", "syntax",
                    "put it inside a block, or inside locals { … }",
                )  # fmt: skip
        self.connections: Names[ConnectionSpec] = Names("connection", report)
        self.workspaces: Names[WorkspaceSpec] = Names("workspace", report)
        self.tables = TableNames(report)
        self.formats = Formats(report)
        self.others = Others(report, self.settings)

    def config(self) -> Config:
        """Everything that could be read; what could not is in the report."""
        for block in self._of("connection"):
            self._connection(block)
        self._workspaces()
        plugins.prefer(self._preferred())
        for block in self._of("format"):
            self._format(block)
        tables = Tables(self.report, self.evaluator, self.formats)
        for block in self._of("table"):
            self.tables.add((table_name(block.labels[0]),), tables.read(block, self.settings(block)), block.where)
        sources = Sources(self.report, self.settings, self.connection, self.formats)
        for block in self._of("source"):
            sources.declare(block)
        for block in self._of(*OTHER_BLOCKS):
            self.others.declare(block)
        partitions = Partitions(self.report, self.settings, self.others, sources, self.formats, self.tables)
        for block in self._of("partition"):
            partitions.read(block)
        partitions.check_queues()
        for spec in partitions.named.values():
            self._lead_somewhere(spec.resting.values())
            for source in spec.sources:
                self._lead_somewhere(source.args.values())
            self._others_lead_somewhere(spec.tiers)
        for top in sources.named.values():
            self._lead_somewhere(top.args.values())
        self._others_lead_somewhere(self.others.found)
        return Config(
            partitions=partitions.named.values(),
            connections=self.connections.values(),
            formats=self.formats.named.values(),
            tables=self.tables.values(),
            workspaces=self.workspaces.values(),
            sources=sources.named.values(),
            others=tuple(self.others.found),
            warnings=_each_once(self.report.warnings),
        )

    def settings(self, block: Block) -> Settings:
        """The block's attributes, evaluated."""
        found = (self.evaluator.setting(attribute) for attribute in block.attributes.values())
        return {setting.name: setting for setting in found if setting is not None}

    def connection(self, setting: Setting) -> ConnectionSpec | None:
        """The connection that an attribute names."""
        if isinstance(setting.value, Reference) and setting.value.path[0] == "connection":
            return self.connections.find(setting.value)
        if setting.value is not None:
            self.report.error(
                setting.where,
                f"'{setting.name}' must be a connection, not {called(setting.value)}",
                "wrong-type",
                "write connection.type.name",
            )
        return None

    def _connection(self, block: Block) -> None:
        kind, name = block.labels
        if kind not in CONNECTIONS:
            self.report.unknown(block.label_places[0], "connection type", kind, CONNECTIONS)
            self.connections.add(block.labels, None, block.where)
            return
        for inner in block.blocks:
            self.report.unknown(inner.where, "block", inner.kind, [])
        values = checked(self.settings(block), CONNECTIONS[kind].attributes, self.report)
        self.connections.add(block.labels, ConnectionSpec(kind, name, values, block.where), block.where)

    def _others_lead_somewhere(self, others: Iterable[OtherBlock]) -> None:
        for other in others:
            self._lead_somewhere(other.args.values())
            self._fills_something(other)
            self._others_lead_somewhere(other.blocks)

    def _fills_something(self, sink: OtherBlock) -> None:
        """A sink of the lake names its table, and perhaps a format."""
        if sink.kind != "sink":
            return
        table, fmt = sink.args.get("table"), sink.args.get("format")
        if isinstance(table, str):
            self._leads_somewhere(Reference(("table", table_name(table)), sink.where))
        if isinstance(fmt, Reference):
            self.formats.named.find(fmt)

    def _lead_somewhere(self, values: Iterable[Value]) -> None:
        """References among the values must name blocks that exist."""
        for value in values:
            for reference in value if isinstance(value, tuple) else (value,):
                if isinstance(reference, Reference):
                    self._leads_somewhere(reference)

    def _leads_somewhere(self, reference: Reference) -> None:
        head = "tier" if reference.path[0] == "partition" else reference.path[0]
        if head == "connection":
            self.connections.find(reference)
        elif head == "table":
            if not registry.has_table(reference.path[-1]):
                self.tables.find(reference)
        elif head in self.others.named and reference.path != ("store", "default"):
            self.others.named[head].find(reference)

    def _known(self, block: Block) -> bool:
        if block.kind not in BLOCKS:
            if block.kind == "destination":
                self.report.unknown(block.where, "block", block.kind, ["store"], "`store` says where days rest")
            else:
                self.report.unknown(block.where, "block", block.kind, BLOCKS)
            return False
        wanted = _LABELS.get(block.kind)
        if wanted is not None and len(block.labels) != wanted:
            labels = {0: "no label", 1: "one label, its name", 2: "two labels, its type and its name"}[wanted]
            words = {0: "", 1: '"name" ', 2: '"type" "name" '}[wanted]
            hint = f"write {block.kind} {words}{{ … }}"
            self.report.error(block.where, f"a {block.kind} block takes {labels}", "labels", hint)
            return False
        return True

    def _of(self, *kinds: str) -> list[Block]:
        return [block for block in self.blocks if BLOCK_SYNONYMS.get(block.kind, block.kind) in kinds]

    def _format(self, block: Block) -> None:
        settings = self.settings(block)
        kind = settings.pop("type", None)
        if len(block.labels) == 2 and kind is None:
            type_name, name = block.labels
        elif len(block.labels) == 1 and kind is not None and isinstance(kind.value, str):
            type_name, name = kind.value, block.labels[0]
        else:
            self.report.error(
                block.where, "a format block takes a type and a name", "labels",
                'write format "jsonl" "mine" { … }, or format "mine" { type = "jsonl" … }',
            )  # fmt: skip
            return
        description = settings.get("description")
        place = kind.where if kind else block.label_places[0]
        made = self.formats.make(type_name, settings, place)
        text = description.value if description and isinstance(description.value, str) else ""
        spec = FormatSpec(type_name, name, made, text, block.where) if made is not None else None
        self.formats.named.add(block.labels, spec, block.where)

    def _preferred(self) -> tuple[str, ...]:
        """Packages that the workspace at hand prefers: asked for before any block needs one."""
        for spec in self.workspaces.values():
            preferred = spec.settings.get("prefer_plugins")
            if spec.name == self.workspace and isinstance(preferred, tuple):
                return preferred
        return ()

    def _workspaces(self) -> None:
        blocks = {block.labels[0]: block for block in reversed(self._of("workspace"))}
        for block in self._of("workspace"):
            chain = [block]
            while (base := self._base(chain[-1])) is not None:
                name = base.path[1]
                if name not in blocks:
                    self.report.unknown(base.where, "workspace", name, blocks)
                    break
                if blocks[name] in chain:
                    hint = "one of them has to stand without a base"
                    self.report.error(base.where, f"workspace {name} is its own base", "circular-reference", hint)
                    break
                chain.append(blocks[name])
            self._workspace(chain)

    def _base(self, block: Block) -> Reference | None:
        base = self.settings(block).get("base")
        if base is None or base.value is None:
            return None
        if isinstance(base.value, Reference) and len(base.value.path) == 2 and base.value.path[0] == "workspace":
            return base.value
        self.report.error(base.where, "'base' must be a workspace", "wrong-type", "write workspace.name")
        return None

    def _workspace(self, chain: list[Block]) -> None:
        settings: Settings = {}
        for block in reversed(chain):
            settings.update(self.settings(block))
        settings.pop("base", None)
        values = checked(settings, WORKSPACE, self.report)
        connection = self.connection(settings["connection"]) if "connection" in values else None
        path = values.pop("path", None)
        values.pop("connection", None)
        name = chain[0].labels[0]
        back, kept, rests = (values.get(each) for each in ("lookback", "query_cache_size", "retention"))
        spec = WorkspaceSpec(
            name,
            path if isinstance(path, str) else None,
            connection,
            values,
            chain[0].where,
            duration(back) if isinstance(back, str) else None,
            size(kept) if isinstance(kept, str) else None,
            duration(rests) if isinstance(rests, str) else None,
        )
        self.workspaces.add((name,), spec, chain[0].where)


def _each_once(warnings: Iterable[Problem]) -> tuple[Problem, ...]:
    """The same warning about many places is told at the first of them."""
    places: dict[str, list[Problem]] = {}
    for warning in warnings:
        key = warning.message if warning.code == "config.not-active" else f"{warning.place} {warning.message}"
        places.setdefault(key, []).append(warning)
    for first, *others in places.values():
        if others:
            more = f" and {len(others) - 1} more" if others[1:] else ""
            first.hint = f"{first.hint}; the same at {others[0].place}{more}"
    return tuple(first for first, *_ in places.values())

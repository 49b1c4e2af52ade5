"""`source` blocks, at the top level or inside a partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tailrace.config.attributes import NOT_COLLECTED, checked, filled, not_active, require
from tailrace.config.declare_sources import KIND_SYNONYMS, KINDS, SOURCE
from tailrace.config.formats import Formats
from tailrace.config.layout_names import warn_of_names
from tailrace.config.locations import locations
from tailrace.config.model import ConnectionSpec, SourceSpec
from tailrace.config.names import Names
from tailrace.config.packaged import source_kind
from tailrace.config.places import Report, Where
from tailrace.config.syntax import Block
from tailrace.config.values import Setting, Settings
from tailrace.core import plugins
from tailrace.core.errors import ConfigError
from tailrace.core.table import Table


def require_available(source: SourceSpec) -> None:
    """Raise when the kind of source is known but cannot be collected from yet."""
    if source.kind in KINDS and not KINDS[source.kind].active:
        available = ", ".join(name for name, kind in KINDS.items() if kind.active)
        raise ConfigError(
            f"sources of kind {source.kind} cannot be collected yet",
            code="config.source-not-available",
            where=str(source.where),
            hint=f"available: {available}",
        )


class Sources:
    """Reads `source` blocks and keeps those that partitions may refer to."""

    def __init__(
        self,
        report: Report,
        settings: Callable[[Block], Settings],
        connection: Callable[[Setting], ConnectionSpec | None],
        formats: Formats,
    ) -> None:
        self.report = report
        self.settings = settings
        self.connection = connection
        self.formats = formats
        self.named: Names[SourceSpec] = Names("source", report, KIND_SYNONYMS)
        self.blocks: dict[Where, Block] = {}

    def declare(self, block: Block) -> None:
        """A top-level source: kept under its kind and name."""
        spec = self.read(block, None)
        if spec is not None:
            named = len(block.labels) == 2 or "type" in block.attributes or "name" in block.attributes
            self.named.add((spec.kind, spec.name) if named else block.labels, spec, block.where)
            self.blocks[block.where] = block

    def again(self, spec: SourceSpec, table: Table | None) -> SourceSpec:
        """A top-level source as the table reads it: a layout means what the table's format makes of it."""
        return self.read(self.blocks[spec.where], table) or spec

    def read(self, block: Block, table: Table | None) -> SourceSpec | None:
        """The block as a value; None, and a note in the report, when its kind is unknown."""
        settings = self.settings(block)
        for inner in block.blocks:
            self.report.unknown(inner.where, "block", inner.kind, [])
        kind_and_name = self._kind(block, settings)
        if kind_and_name is None:
            return None
        kind, name, place = kind_and_name
        kind = KIND_SYNONYMS.get(kind, kind)
        try:
            declared = source_kind(kind)
        except ConfigError as error:
            self.report.refused(place, error)
            return None
        if declared is None:
            self.report.unknown(place, "source", kind, [*KINDS, *plugins.offered("source")])
            return None
        values = checked(settings, {**declared.attributes, **SOURCE}, self.report)
        given = filled(block.attributes, settings) - SOURCE.keys()
        require(declared, f"{kind} source", given, block.where, self.report)
        if not declared.active:
            not_active(self.report, place, f"source {kind}", NOT_COLLECTED)
        args = {attr: value for attr, value in values.items() if attr not in SOURCE}
        if isinstance(layout := args.get("file_layout"), str):
            own = args.get("patterns")
            warn_of_names(layout, own if isinstance(own, Mapping) else {}, settings["file_layout"], self.report)
        return SourceSpec(
            kind=kind,
            name=name or kind,
            args=args,
            format=self.formats.resolve(settings["format"], table) if "format" in values else None,
            connection=self.connection(settings["connection"]) if "connection" in values else None,
            where=block.where,
            locations=locations(kind, args, settings, self.report),
        )

    def _kind(self, block: Block, settings: Settings) -> tuple[str, str | None, Where] | None:
        """Kind and name from labels, or from `type` and `name`."""
        given = {attr: settings[attr] for attr in ("type", "name") if attr in settings}
        labels = list(block.labels)
        place = block.label_places[0] if labels else block.where
        kind = given["type"].value if "type" in given else labels.pop(0) if labels else None
        name = given["name"].value if "name" in given else labels.pop(0) if labels else None
        if "type" in given:
            place = given["type"].where
        if not isinstance(kind, str) or labels or not isinstance(name, (str, type(None))):
            self.report.error(
                place, "a source takes its kind and, if it likes, a name", "labels",
                'write source "file" { … }, source "file" "web" { … } or source { type = "file" … }',
            )  # fmt: skip
            return None
        return kind, name, place

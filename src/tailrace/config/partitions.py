"""`partition` blocks (synonym `collection`), and the tiers that the same word may mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta

from tailrace.config.attributes import NOT_COLLECTED, checked, not_active
from tailrace.config.declare import BLOCK_TYPES, LATER_TABLES, PARTITION, RESTING
from tailrace.config.declare_sources import FILE
from tailrace.config.formats import Formats
from tailrace.config.functions import duration
from tailrace.config.model import OtherBlock, PartitionSpec, SourceSpec, TableSpec
from tailrace.config.names import Names
from tailrace.config.others import Others, as_tier
from tailrace.config.packaged import find_table
from tailrace.config.places import Report, Where
from tailrace.config.sources import Sources
from tailrace.config.syntax import Block
from tailrace.config.tables import made, table_name
from tailrace.config.values import Reference, Setting, Settings, Value, called
from tailrace.core import registry
from tailrace.core.table import TP_COLUMNS, Table

_INSIDE = {name: f'{name} stands inside of source "file" {{ … }}' for name in FILE}
_COLUMN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class Partitions:
    """Reads partitions; everything they refer to has been read before."""

    def __init__(
        self,
        report: Report,
        settings: Callable[[Block], Settings],
        others: Others,
        sources: Sources,
        formats: Formats,
        tables: Names[TableSpec],
    ) -> None:
        self.report = report
        self.settings = settings
        self.others = others
        self.sources = sources
        self.formats = formats
        self.declared = tables
        self.named: Names[PartitionSpec] = Names("partition", report)
        self._tables: dict[str, Table | None] = {}

    def read(self, block: Block) -> None:
        """Keep a partition, or a tier where the block is one."""
        if as_tier(block):
            self.others.keep(block, BLOCK_TYPES["tier"])
            return
        settings = self.settings(block)
        named = self._table_and_name(block, settings)
        if named is None:
            return
        table_name, name, place = named
        table = self._table(table_name, place)
        values = checked(settings, PARTITION, self.report, _INSIDE)
        dedupe, window = self._dedupe(values, settings, table, place)
        default = settings.get("source_format")
        sources = self._sources(block, values, table, default if "source_format" in values else None)
        self._index(settings.get("tp_index"), table, sources)
        tiers = self._tiers(block, values, settings)
        for inner in block.blocks:
            if inner.kind not in BLOCK_TYPES["partition"].blocks:
                self.report.unknown(inner.where, "block", inner.kind, ["source", "tier"])
        index, condition, text, back = (values.get(a) for a in ("tp_index", "filter", "description", "lookback"))
        spec = PartitionSpec(
            table=table_name,
            name=name,
            sources=tuple(sources),
            filter=condition if isinstance(condition, str) else None,
            tp_index=index if isinstance(index, str) else None,
            where=block.where,
            description=text if isinstance(text, str) else "",
            lookback=duration(back) if isinstance(back, str) else None,
            resting={attr: value for attr, value in values.items() if attr in RESTING},
            tiers=tiers,
            dedupe=dedupe,
            dedupe_window=window,
        )
        self.named.add((table_name, name), spec, block.where)

    def check_queues(self) -> None:
        """A message goes to one reader: of two that share a queue, each would miss what the other takes."""
        readers: dict[str, str] = {}
        for spec in self.named.values():
            for source in spec.sources:
                queue = source.args.get("sqs_queue_url")
                if isinstance(queue, str) and queue in readers:
                    what = f"the queue of this source is read by partition {readers[queue]} already"
                    hint = "give each its own: SNS and EventBridge send a notification to several queues"
                    self.report.error(source.where, what, "contradiction", hint)
                elif isinstance(queue, str):
                    readers[queue] = spec.full_name

    def _table_and_name(self, block: Block, settings: Settings) -> tuple[str, str, Where] | None:
        asked = settings.get("table") or settings.get("type")
        if len(block.labels) == 2 and asked is None:
            return table_name(block.labels[0]), block.labels[1], block.label_places[0]
        if len(block.labels) == 1 and asked is not None:
            match asked.value:
                case str() as name:
                    return table_name(name), block.labels[0], asked.where
                case Reference(path=("table", name)):
                    return table_name(name), block.labels[0], asked.where
            self.report.error(
                asked.where,
                f"'{asked.name}' must be a table, not {called(asked.value)}",
                "wrong-type",
                "write table.name",
            )
        elif not {"table", "type"} & block.attributes.keys() - settings.keys():
            self.report.error(
                block.where, f"a {block.kind} takes a table and a name", "labels",
                f'write {block.kind} "table" "name" {{ … }}, or {block.kind} "name" {{ type = "table" … }}',
            )  # fmt: skip
        return None

    def _table(self, name: str, place: Where) -> Table | None:
        """The table as partitions see it; None, and a note in the report, when there is none."""
        if name not in self._tables:
            reference = Reference(("table", name), place)
            spec = self.declared.get(reference)
            self._tables[name] = made(spec) if spec is not None else find_table(name, place, self.report)
        table = self._tables[name]
        if table is None and name in LATER_TABLES:
            not_active(self.report, place, f"table {name}", NOT_COLLECTED)
        elif table is None and not (registry.has_table(name) or self.declared.holds(Reference(("table", name), place))):
            known = [
                *LATER_TABLES,
                *registry.all_table_names(),
                *(spec.name for spec in self.declared.values()),
            ]
            otherwise = f'declare it: table "{name}" {{ … }}; `tailrace table list` shows those that are built in'
            self.report.unknown(place, "table", name, known, otherwise)
        return table

    def _tiers(self, block: Block, values: dict[str, Value], settings: Settings) -> tuple[OtherBlock, ...]:
        """Tiers that stand in the partition itself; days rest in one set of places."""
        blocks = [inner for inner in block.blocks if inner.kind in ("partition", "tier")]
        found = [self.others.read(inner, BLOCK_TYPES["tier"]) for inner in blocks]
        names: Names[OtherBlock] = Names("tier", self.report)
        for spec in found:
            if spec is not None and spec.name:
                names.add((spec.name,), spec, spec.where)
        said = [name for name in ("store", "tiers") if name in values] + ["tier"] * bool(blocks)
        if len(said) > 1:
            hint = f"days rest in a store or in tiers: keep {' or '.join(said)}"
            self.report.error(block.where, "two places say where the days rest", "contradiction", hint)
        return tuple(spec for spec in found if spec is not None)

    def _dedupe(
        self, values: dict[str, Value], settings: Settings, table: Table | None, place: Where
    ) -> tuple[tuple[str, ...], timedelta | None]:
        """Key and window: the partition's own, else the table's. An empty list does without."""
        spec = self.declared.get(Reference(("table", table.name), place)) if table is not None else None
        names, text = values.get("dedupe"), values.get("dedupe_window")
        given = tuple(map(str, names)) if isinstance(names, tuple) else spec.dedupe if spec else ()
        if table is not None and not table.map_fields:
            types = {column.name: column.type for column in (*table.columns, *TP_COLUMNS)}
            where = settings["dedupe"].where if "dedupe" in settings else spec.where if spec else place
            for name in given:
                if name not in types:
                    self.report.unknown(where, "column", name, types)
                elif types[name] in ("float", "double"):
                    hint = "numbers with a fraction are equal by chance: name columns with exact values"
                    self.report.error(where, f"column {name} cannot tell events apart", "wrong-type", hint)
        return given, duration(text) if isinstance(text, str) else spec.dedupe_window if spec else None

    def _index(self, setting: Setting | None, table: Table | None, sources: Iterable[SourceSpec]) -> None:
        """`tp_index` names a column or a part of the path; where fields map themselves, any name may become one."""
        if setting is None or not isinstance(setting.value, str):
            return
        if not _COLUMN.fullmatch(setting.value):
            self.report.error(
                setting.where,
                f"tp_index '{setting.value}' is not a column name",
                "bad-name",
                "expressions are not taken",
            )
        elif table is not None and not table.map_fields:
            columns = {column.name for column in (*table.columns, *TP_COLUMNS)}
            columns = columns.union(*(source.path_fields() for source in sources))
            if setting.value.split(".")[0] not in columns:
                self.report.unknown(setting.where, "column", setting.value, columns)

    def _sources(
        self, block: Block, values: dict[str, Value], table: Table | None, default: Setting | None
    ) -> list[SourceSpec]:
        """The partition's sources, each with a name of its own."""
        referred = values.get("source", ())
        found = [self._referred(value, table) for value in referred] if isinstance(referred, tuple) else []
        found += [self.sources.read(inner, table) for inner in block.blocks if inner.kind == "source"]
        if not found and "source" not in block.attributes:
            name = " ".join(block.labels)
            self.report.error(
                block.where,
                f"{block.kind} {name} has no source",
                "missing-source",
                'add source "file" { paths = ["…"] }',
            )
        fallback = self.formats.resolve(default, table) if default is not None else None
        sources = [source for source in found if source is not None]
        if fallback is not None:
            sources = [replace(source, format=source.format or fallback) for source in sources]
        if default is None:
            self._format_is_known(table, sources)
        return self._numbered(sources)

    def _referred(self, reference: Reference, table: Table | None) -> SourceSpec | None:
        spec = self.sources.named.find(reference)
        return self.sources.again(spec, table) if spec is not None else None

    def _format_is_known(self, table: Table | None, sources: Iterable[SourceSpec]) -> None:
        spec = (
            self.declared.get(Reference(("table", table.name), next(iter(sources)).where))
            if table and sources
            else None
        )
        if table is None or spec is None or spec.format is not None or registry.has_table(table.name):
            return
        value = self.report.outline.value
        if value(spec.where, "format") != spec.where:  # it names one that could not be read, which was said
            return
        for source in sources:
            if source.format is None and value(source.where, "format") == source.where:
                self.report.warn(
                    source.where,
                    f"no format is named by table {table.name} or by this source; JSON lines are assumed",
                    "no-format",
                    "add format = format.jsonl.default, or the one that fits",
                )

    def _numbered(self, sources: Iterable[SourceSpec]) -> list[SourceSpec]:
        """Sources without a name are called after their kind; the second of a kind gets `_2`."""
        named: dict[str, SourceSpec] = {}
        for source in sources:
            name, number = source.name, 1
            if name in named and name != source.kind:
                hint = f"it is declared at {named[name].where}; give one of them another name"
                self.report.error(source.where, f"source {name} already exists here", "duplicate-name", hint)
            while name in named:
                number += 1
                name = f"{source.name}_{number}"
            named[name] = replace(source, name=name)
        return list(named.values())

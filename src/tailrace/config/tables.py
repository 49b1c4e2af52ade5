"""`table` blocks → tables, on their own or on top of a built-in one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tailrace.config.attributes import checked
from tailrace.config.declare import COLUMN, LATER_TABLES, TABLE
from tailrace.config.evaluate import Evaluator
from tailrace.config.formats import Formats
from tailrace.config.functions import duration
from tailrace.config.model import Config, TableSpec
from tailrace.config.names import FOLDED
from tailrace.config.packaged import find_table
from tailrace.config.places import Report, Where, meant
from tailrace.config.syntax import Block
from tailrace.config.values import Reference, Setting, Settings, Value
from tailrace.core import registry
from tailrace.core.columns import SYNONYMS, TYPES, Column, is_column_name
from tailrace.core.errors import ConfigError
from tailrace.core.formats import Jsonl
from tailrace.core.table import TP_COLUMNS, Common, Table

_DECIMAL = re.compile(r"decimal(\(\d+\s*,\s*\d+\))?")
_TIMES = ("timestamp", "time", "ts")
_MAPPED = (
    "tp_timestamp", "tp_source_ip", "tp_destination_ip", "tp_ips", "tp_akas", "tp_tags", "tp_domains", "tp_emails",
    "tp_usernames",
)  # fmt: skip
_IGNORED = {"tp_index": "set tp_index in the partition", "tp_date": "it is the day of tp_timestamp"}
"Shared columns that other systems let tables map: taken, with a warning that this does nothing."
_SHARED = {column.name: column for column in TP_COLUMNS}
DEFAULT_FORMAT = Jsonl()
"How a table is read when neither it nor the source names a format."


def table_name(name: str) -> str:
    """The one name of a table that has several."""
    return registry.ALIASES.get(name, name)


def tables_for(config: Config, name: str) -> Table:
    """The table of that name: built in, declared by a `table` block, or built in and extended by one."""
    name = table_name(name)
    spec = config.table(name)
    if spec is not None:
        return made(spec)
    builtin = registry.find_table(name)
    if builtin is not None:
        return builtin
    if name in LATER_TABLES:
        raise ConfigError(
            f"table {name} is not available yet", code="config.table-not-available",
            hint=f"declare its columns yourself: table \"{name}\" {{ … }}",
        )  # fmt: skip
    raise registry.unknown("table", name, [*registry.all_table_names(), *(table.name for table in config.tables)])


def made(spec: TableSpec) -> Table:
    """What a `table` block stands for."""
    builtin = registry.find_table(spec.extends)
    if builtin is None:
        return Table(
            name=spec.name,
            doc=spec.description,
            format=spec.format or DEFAULT_FORMAT,
            columns=spec.columns,
            common=Common(time=(time_column(spec.columns) or "tp_timestamp",)),
            null=spec.null_if,
            map_fields=("*",) if spec.map_fields is None else spec.map_fields,
        )
    own = {column.name: column for column in spec.columns}
    times = dict.fromkeys([*builtin.common.time, *filter(None, [time_column(spec.columns)])])
    kept = tuple(own.pop(column.name, column) for column in builtin.columns)
    return replace(
        builtin,
        name=spec.name,
        aliases=builtin.aliases if spec.name == builtin.name else (),
        doc=spec.description or builtin.doc,
        format=spec.format or builtin.format,
        columns=(*kept, *own.values()),
        common=replace(builtin.common, time=tuple(times)),
        null=builtin.null if spec.null_if is None else spec.null_if,
        map_fields=builtin.map_fields if spec.map_fields is None else spec.map_fields,
    )


def time_column(columns: Sequence[Column]) -> str | None:
    """The column that gives `tp_timestamp`: itself, the only timestamp, or the one named like a time."""
    names = {column.name for column in columns}
    if "tp_timestamp" in names:
        return "tp_timestamp"
    times = [column.name for column in columns if column.type == "timestamp" and column.name not in _SHARED]
    if len(times) == 1:
        return times[0]
    return next((name for name in _TIMES if name in names), None)


class Tables:
    """Reads `table` blocks."""

    def __init__(self, report: Report, evaluator: Evaluator, formats: Formats) -> None:
        self.report = report
        self.evaluator = evaluator
        self.formats = formats

    def read(self, block: Block, settings: Settings) -> TableSpec | None:
        """The block as a value; what is wrong with it is in the report."""
        name = table_name(block.labels[0])
        values = checked(settings, TABLE, self.report)
        extends = self._extended(name, settings["extends"]) if "extends" in values else name
        builtin = find_table(extends, block.label_places[0], self.report)
        if builtin is None and registry.has_table(extends):
            return None
        columns = self._columns(block, builtin)
        for ignored in _IGNORED.keys() & columns.keys():
            del columns[ignored]
            self.report.warn(block.where, f"column {ignored} has no effect", "no-effect", _IGNORED[ignored])
        spec = TableSpec(
            name=name,
            extends=extends,
            columns=tuple(columns.values()),
            format=self.formats.resolve(settings["format"], builtin) if "format" in values else None,
            description=_text(values, "description") or "",
            null_if=_text(values, "null_if"),
            map_fields=_texts(values, "map_fields"),
            where=block.where,
            dedupe=_texts(values, "dedupe") or (),
            dedupe_window=duration(text) if (text := _text(values, "dedupe_window")) else None,
            retention=duration(text) if (text := _text(values, "retention")) else None,
        )
        if builtin is None and "extends" not in settings and time_column(spec.columns) is None:
            self.report.error(
                block.where, f"table {name} does not say when its events happened", "missing-time",
                'add column "tp_timestamp" { source = "…" }, or one column of type timestamp',
            )  # fmt: skip
        return spec

    def _extended(self, name: str, setting: Setting) -> str:
        """The built-in table that `extends` names."""
        value = setting.value
        base = table_name(value.path[-1] if isinstance(value, Reference) else str(value))
        if not registry.has_table(base):
            otherwise = "a table extends one that is built in; `tailrace table list` shows them"
            self.report.unknown(setting.where, "table", base, registry.all_table_names(), otherwise)
        elif base != name and registry.has_table(name):
            hint = f"leave out 'extends' to add to {name}, or give the table a name of its own"
            self.report.error(setting.where, f"{name} is built in and cannot extend {base}", "contradiction", hint)
        return base

    def _columns(self, block: Block, builtin: Table | None) -> dict[str, Column]:
        columns: dict[str, Column] = {}
        spelled = {column.name.lower(): column.name for column in (builtin.columns if builtin else ())}
        places: dict[str, Where] = {}
        for inner in block.blocks:
            if inner.kind != "column":
                self.report.unknown(inner.where, "block", inner.kind, ["column"])
                continue
            if len(inner.labels) != 1:
                self.report.error(inner.where, "a column needs one label", "labels", 'write column "name" { … }')
                continue
            name = inner.labels[0]
            first = spelled.setdefault(name.lower(), name)
            if name in columns or first != name:
                other = f"it is declared as '{first}', and {FOLDED}"
                hint = other if first != name else f"it is declared at {places[name]}; keep one of them"
                self.report.error(inner.where, f"column {name} already exists", "duplicate-name", hint)
            elif self._can_name(name, inner):
                columns[name] = self._column(inner, builtin)
                places[name] = inner.where
        return columns

    def _can_name(self, name: str, block: Block) -> bool:
        """Is this a name that a column may have? If not, the report says why."""
        if not is_column_name(name):
            hint = "a name is not empty, has no blanks around it and no control characters in it"
            self.report.error(block.label_places[0], f"{name!r} cannot name a column", "bad-name", hint)
        elif name.lower().startswith("tp_") and name not in _MAPPED and name not in _IGNORED:
            hint = f"Tailrace fills it; of the shared columns these may be mapped: {', '.join(_MAPPED)}"
            self.report.error(block.label_places[0], f"column {name} cannot be mapped", "reserved-name", hint)
        else:
            return True
        return False

    def _column(self, block: Block, builtin: Table | None) -> Column:
        name = block.labels[0]
        attributes = (self.evaluator.setting(attribute) for attribute in block.attributes.values())
        settings = {setting.name: setting for setting in attributes if setting is not None}
        values = checked(settings, COLUMN, self.report)
        for inner in block.blocks:
            self.report.unknown(inner.where, "block", inner.kind, [])
        if "source" in values and "transform" in values:
            self.report.error(
                settings["transform"].name_where, "source and transform cannot both be set", "contradiction",
                "name the source field inside the expression",
            )  # fmt: skip
        base = builtin.column(name) if builtin else None
        column = base or _SHARED.get(name) or Column(name)
        if "type" in values:
            kind = self._type(settings["type"])
            column = replace(column, type=kind, time=column.time if kind == column.type else None)
        if "source" in values:
            column = replace(column, src=_text(values, "source"), sql=None)
        if "transform" in values:
            column = replace(column, src=None, sql=_text(values, "transform"), time=None)
        return replace(
            column,
            null_if=_text(values, "null_if") or column.null_if,
            required=values.get("required", column.required) is True,
            doc=_text(values, "description") or column.doc,
            time=_text(values, "time") or column.time,
        )

    def _type(self, setting: Setting) -> str:
        spelled = " ".join(str(setting.value).lower().split())
        scalar = spelled.removesuffix("[]").strip()
        scalar = SYNONYMS.get(scalar, scalar)
        if scalar == "struct":
            self.report.warn(setting.where, "a struct without fields is stored as json", "no-effect")
            return "json"
        if scalar not in TYPES and not _DECIMAL.fullmatch(scalar):
            known = {*TYPES, *SYNONYMS, "decimal(18,3)"}
            self.report.error(setting.where, f"unknown type '{spelled}'", "unknown-type", meant(scalar, known))
        return scalar + ("[]" if spelled.endswith("[]") else "")


def _text(values: dict[str, Value], name: str) -> str | None:
    value = values.get(name)
    return value if isinstance(value, str) else None


def _texts(values: dict[str, Value], name: str) -> tuple[str, ...] | None:
    value = values.get(name)
    return value if isinstance(value, tuple) else None

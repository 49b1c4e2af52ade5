"""`format` blocks, `source_format` maps and layouts → formats."""

from __future__ import annotations

from dataclasses import replace

from tailrace.config.attributes import checked, filled, require
from tailrace.config.declare_formats import FORMAT_SYNONYMS, FORMATS, IGNORED_DELIMITED, NOTE, OF_TABLE
from tailrace.config.model import FormatSpec
from tailrace.config.names import Names
from tailrace.config.packaged import Extension, extension, find_table
from tailrace.config.places import Report, Where, meant
from tailrace.config.values import Reference, Setting, Settings, Value, called, settings_of
from tailrace.core import plugins, registry
from tailrace.core.errors import ConfigError
from tailrace.core.formats import (
    Avro,
    Delimited,
    Format,
    Grok,
    Json,
    Jsonl,
    Layout,
    Otlp,
    Pairs,
    Parquet,
    Regex,
    Syslog,
    W3c,
    Xml,
    Zeek,
)
from tailrace.core.table import Table

_PLAIN: dict[str, Format] = {
    "json": Json(),
    "jsonl": Jsonl(),
    "delimited": Delimited(),
    "parquet": Parquet(),
    "avro": Avro(),
    "otlp": Otlp(),
    "syslog": Syslog(),
    "w3c": W3c(),
    "zeek": Zeek(),
    **{dialect: Pairs(dialect) for dialect in ("logfmt", "ltsv", "cef", "leef")},
}
"Types that need no further attribute."


class Formats:
    """The named formats of a configuration, and how to make one where it is used."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.named: Names[FormatSpec] = Names("format", report)

    def make(self, type_name: str, settings: Settings, where: Where) -> Format | None:
        """A format of that type; None, and a note in the report, when it cannot be made."""
        type_name = FORMAT_SYNONYMS.get(type_name, type_name)
        if type_name not in FORMATS:
            return self._other(type_name, settings, where)
        values = checked(settings, FORMATS[type_name], self.report)
        match type_name:
            case "json":
                return Json(_str(values, "records"), _str(values, "keys") or "same", _pairs(values, "field_map"))
            case "jsonl":
                return Jsonl(_str(values, "keys") or "same", _pairs(values, "field_map"))
            case "delimited":
                return self._delimited(values, settings)
            case "parquet":
                return Parquet(_pairs(values, "field_map"))
            case "avro":
                return Avro(_str(values, "keys") or "same", _pairs(values, "field_map"))
            case "xml":
                return self._xml(values, settings, where)
            case "w3c" if values.get("fields"):
                return W3c((_strs(values, "fields"),))
            case plain if plain in _PLAIN:
                return _PLAIN[plain]
        if not values.get("layout"):
            if "layout" not in filled(settings, settings):
                self.report.error(
                    where, f"a {type_name} format needs a layout", "missing-attribute", "add layout = `…`"
                )
            return None
        layout = _str(values, "layout")
        start = _str(values, "start") or None
        if type_name == "grok":
            return Grok(layout, _pairs(values, "patterns"), start)
        return Regex(layout, start=start)

    def _other(self, type_name: str, settings: Settings, where: Where) -> Format | None:
        """A format as a table has it, or one of a package."""
        try:
            table = registry.find_table(type_name)
            if table is not None:
                return self._of_table(table, settings, where)
            found = extension("format", type_name)
            if found is not None:
                return self._packaged(found, settings, where)
        except ConfigError as error:
            self.report.refused(where, error)
            return None
        known = [*FORMATS, *FORMAT_SYNONYMS, *registry.all_table_names(), *plugins.offered("format")]
        self.report.unknown(where, "format type", type_name, known)
        return None

    def _packaged(self, found: Extension, settings: Settings, where: Where) -> Format | None:
        values = checked(settings, {**NOTE, **found.kind.attributes}, self.report)
        require(found.kind, f"{found.kind.name} format", filled(settings, settings), where, self.report)
        if any(attr.required and name not in values for name, attr in found.kind.attributes.items()):
            return None
        made: Format = found.make({name: value for name, value in values.items() if name in found.kind.attributes})
        return made

    def resolve(self, setting: Setting, table: Table | None) -> Format | None:
        """The format that an attribute asks for: a reference, a map, or a layout of the table's own kind."""
        match setting.value:
            case Reference(path=("format", *_)) as reference:
                return _in_own_words(self._refer(reference), table)
            case dict() as given:
                return _in_own_words(self._inline(settings_of(given, setting), setting, table), table)
            case str() as text:
                return self._spelled(text, setting, table)
        self.report.error(
            setting.where, f"'{setting.name}' must be a format, not {called(setting.value)}", "wrong-type",
            "write format.jsonl.default, { type = \"jsonl\" }, or a layout",
        )  # fmt: skip
        return None

    def _inline(self, settings: Settings, setting: Setting, table: Table | None) -> Format | None:
        kind = settings.pop("type", None)
        if kind is not None and isinstance(kind.value, str):
            return self.make(kind.value, settings, kind.where)
        if kind is None and table is not None and isinstance(table.format, Layout):
            return self._of_table(table, settings, setting.where)
        self.report.error(
            kind.where if kind else setting.where, "a format needs a type", "missing-attribute",
            f'add type = "…"; known: {", ".join(FORMATS)}',
        )  # fmt: skip
        return None

    def _spelled(self, text: str, setting: Setting, table: Table | None) -> Format | None:
        if FORMAT_SYNONYMS.get(text, text) in _PLAIN:
            return _PLAIN[FORMAT_SYNONYMS.get(text, text)]
        if table is not None and isinstance(table.format, Layout):
            return replace(table.format, text=text, also=())
        if text in plugins.offered("format"):
            return self._other(text, {}, setting.where)
        self.report.error(
            setting.where, f"'{text[:40]}' is no format", "unknown-format",
            f"{meant(text, _PLAIN)}; a layout needs its type: {{ type = \"grok\", layout = `…` }}",
        )  # fmt: skip
        return None

    def _refer(self, reference: Reference) -> Format | None:
        own = self.named.get(reference)
        if own is not None:
            return own.format
        kind = FORMAT_SYNONYMS.get(reference.path[1], reference.path[1]) if len(reference.path) > 1 else ""
        name = reference.path[2] if len(reference.path) > 2 else "default"
        if len(reference.path) <= 3 and name == "default" and kind in _PLAIN:
            return _PLAIN[kind]
        if len(reference.path) <= 3 and name == "default" and kind in plugins.offered("format"):
            return self._other(kind, {}, reference.where)
        table = find_table(kind, reference.where, self.report) if len(reference.path) in (2, 3) else None
        presets = {preset.name: preset.format for preset in table.presets} if table else {}
        if table is not None:
            presets.setdefault("default", table.format)
        if name in presets:
            return presets[name]
        self.named.miss(reference, [f"format.{kind}.{preset}" for preset in presets])
        return None

    def _of_table(self, table: Table, settings: Settings, where: Where) -> Format | None:
        values = checked(settings, OF_TABLE, self.report)
        layout = values.get("layout")
        if layout is None:
            return table.format
        if not isinstance(table.format, Layout):
            hint = "leave it out, or name another type of format"
            self.report.error(where, f"the format of {table.name} takes no layout", "unknown-attribute", hint)
            return None
        # Whoever writes a layout means that one: the table's own alternatives would let other lines through.
        return replace(table.format, text=str(layout), also=())

    def _xml(self, values: dict[str, Value], settings: Settings, where: Where) -> Format | None:
        record = _str(values, "record")
        if not record:
            if "record" not in settings:
                self.report.error(where, "an xml format needs a record", "missing-attribute", 'add record = "Event"')
            return None
        keys = _str(values, "keys") or "same"
        return Xml(record, _str(values, "named"), keys, _pairs(values, "field_map"))

    def _delimited(self, values: dict[str, Value], settings: Settings) -> Format:
        for name in IGNORED_DELIMITED & settings.keys():
            self.report.warn(settings[name].name_where, f"'{name}' has no effect here", "no-effect")
        null = values.get("null_str")
        header = values.get("header")
        longest = values.get("max_line_size")
        plain = Delimited()
        return Delimited(
            delimiter=_str(values, "delimiter") or plain.delimiter,
            header=header if isinstance(header, bool) else None,
            quote=_str(values, "quote") if "quote" in values else plain.quote,
            escape=_str(values, "escape") if "escape" in values else plain.escape,
            comment=_str(values, "comment") or None,
            null_str=null if isinstance(null, str) else None,
            fields=_strs(values, "fields"),
            field_map=_pairs(values, "field_map"),
            null_padding=values.get("null_padding") is True,
            allow_quoted_nulls=values.get("allow_quoted_nulls") is not False,
            force_not_null=_strs(values, "force_not_null"),
            decimal_separator=_str(values, "decimal_separator") or plain.decimal_separator,
            timestamp_format=_str(values, "timestamp_format") or None,
            all_varchar=values.get("all_varchar") is True,
            normalize_names=values.get("normalize_names") is True,
            new_line="\r" if _str(values, "new_line") in ("\r", "\\r") else None,
            max_line_size=longest if isinstance(longest, int) else None,
        )


def _in_own_words(made: Format | None, table: Table | None) -> Format | None:
    """VPC flow fields between blanks are a layout of that table, which spells them its own way (`vpc-id`); a table's
    own Parquet format knows what its fields are called there.
    """
    if made == Parquet() and table is not None:
        return next((p.format for p in table.presets if isinstance(p.format, Parquet)), made)
    if isinstance(made, Delimited) and made.fields and made.delimiter in (" ", "\\s") and table is not None:
        own = table.format
        if isinstance(own, Layout) and own.dialect == "vpc":
            return replace(own, text=" ".join(made.fields), also=())
    return made


def _str(values: dict[str, Value], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _strs(values: dict[str, Value], name: str) -> tuple[str, ...]:
    value = values.get(name)
    return value if isinstance(value, tuple) else ()


def _pairs(values: dict[str, Value], name: str) -> tuple[tuple[str, str], ...]:
    value = values.get(name)
    return tuple((key, str(text)) for key, text in value.items()) if isinstance(value, dict) else ()

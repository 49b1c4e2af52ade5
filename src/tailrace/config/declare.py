"""The vocabulary: which attributes each block takes and what they must be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tailrace.config.places import Problem, Report, meant
from tailrace.config.values import Reference, Setting, Settings, Value, called, is_block_reference, plain

NAME = re.compile(r"\w[\w \-]*")


@dataclass(frozen=True, slots=True)
class Attr:
    """One attribute: what kind of value it takes, and what it is for."""

    kind: str
    "text, texts (a list, or one text), names (also bare words), flag, number, map (of texts), format or any."
    doc: str
    required: bool = False


Attrs = Mapping[str, Attr]

PARTITION: Attrs = {
    "type": Attr("any", "The table, where the block has one label only."),
    "table": Attr("any", "The same as `type`."),
    "description": Attr("text", "What is collected here."),
    "filter": Attr("text", "A DuckDB condition; rows for which it is not true are not stored."),
    "tp_index": Attr("text", "The column whose value becomes `tp_index`; without it that is `default`."),
    "source": Attr("any", "A top-level source, or a list of them: `source.file.web`."),
    "source_format": Attr("format", "Format of sources that name none: a reference, a map or a layout."),
    "store": Attr("any", "Where the days rest."),
    "partition": Attr("any", "A tier where the days rest."),
    "partitions": Attr("any", "Tiers where the days rest."),
    "retention": Attr("text", "Age at which days expire, such as `400d`."),
    "dedupe": Attr("any", "Columns that tell equal rows."),
    "lookback": Attr("text", "How far the first collection goes back."),
}
LATER = frozenset({"store", "partition", "partitions", "retention", "dedupe", "lookback"})
COLUMN: Attrs = {
    "type": Attr("text", "A DuckDB type; varchar when absent."),
    "source": Attr("text", "The source field; by default the column's own name."),
    "transform": Attr("text", "A DuckDB expression over source fields, in place of `source`."),
    "time": Attr(
        "text",
        "How a timestamp is written: `epoch`, `epoch_ms`, or a strptime pattern; ISO 8601 when absent.",
    ),
    "null_if": Attr("text", "A text that means null."),
    "required": Attr("flag", "A row in which the column is null is quarantined."),
    "description": Attr("text", "What the column says."),
}
TABLE: Attrs = {
    "format": Attr("format", "Format of sources that name none."),
    "description": Attr("text", "What a row is."),
    "null_if": Attr("text", "A text that means null in every column."),
    "map_fields": Attr("texts", "Globs over source fields that become columns without being declared."),
    "retention": Attr("text", "Age at which days expire, such as `400d`."),
}
WORKSPACE: Attrs = {
    "base": Attr("any", "Another workspace whose settings hold unless set here."),
    "path": Attr("text", "Where the lake lies: a directory or a URL."),
    "connection": Attr("any", "Credentials for the path."),
    "log_level": Attr("text", "off, error, warn, info, debug or trace."),
    "update_check": Attr("flag", "Accepted for compatibility."),
    "memory_max_mb": Attr("number", "Upper bound of memory."),
    "plugin_memory_max_mb": Attr("number", "Accepted for compatibility."),
    "temp_dir_max_mb": Attr("number", "Accepted for compatibility."),
    "prefer_plugins": Attr("texts", "Packages that win when two provide one name."),
}
SOURCE: Attrs = {
    "type": Attr("text", "Kind of source, where no label says it."),
    "name": Attr("text", "Name of the source, where no label says it."),
    "connection": Attr("any", "Credentials: `connection.aws.prod`."),
    "format": Attr("format", "How the bytes are read; without it, as the table says."),
}
FILE: Attrs = {
    "paths": Attr("texts", "Files, directories or globs.", required=True),
    "file_layout": Attr("text", "A grok pattern over the path; others are left out."),
    "patterns": Attr("map", "Own grok patterns for `file_layout`."),
}
KINDS: Mapping[str, Attrs | None] = {"file": FILE} | dict.fromkeys(
    [
        "aws_s3_bucket",
        "aws_cloudwatch_log_group",
        "gcp_storage_bucket",
        "gcp_audit_log_api",
        "azure_blob_storage",
        "azure_activity_log_api",
        "pipes_audit_log_api",
        "okta_system_log_api",
        "crowdstrike_s3_bucket",
        "kubernetes_pod_logs",
        "kubernetes_events",
        "kubernetes_audit_logs",
        "http",
        "command",
    ]
)
"Kinds of source and their arguments; None = known, but not available yet, so any argument is taken."
KIND_SYNONYMS = {
    "aws_s3": "aws_s3_bucket",
    "aws_cloudwatch": "aws_cloudwatch_log_group",
    "cloudwatch": "aws_cloudwatch_log_group",
}
_NOTE = {"description": Attr("text", "What is written like this.")}
_MAPPED: Attrs = _NOTE | {
    "field_map": Attr("map", "Column → source key."),
    "keys": Attr("text", "`same`, or `camel` where `event_time` is written `eventTime`."),
}
_DELIMITED: Attrs = _NOTE | {
    "delimiter": Attr("text", "One character or several; `\\s` = one or more blanks."),
    "header": Attr("flag", "Does the first line name the fields? Without it, that is found out."),
    "quote": Attr("text", "The quote."),
    "escape": Attr("text", "What makes a quote plain inside a quoted field."),
    "comment": Attr("text", "Lines that begin with this are skipped."),
    "null_str": Attr("text", "A text that means null."),
    "null_if": Attr("text", "The same as `null_str`."),
    "null_column_char": Attr("text", "The same as `null_str`."),
    "fields": Attr("names", "Names of the fields in order, where no header line gives them."),
    "field_map": Attr("map", "Column → field."),
}
IGNORED_DELIMITED = frozenset(
    [
        "all_varchar",
        "allow_quoted_nulls",
        "decimal_separator",
        "filename",
        "force_not_null",
        "ignore_errors",
        "max_line_size",
        "new_line",
        "normalize_names",
        "null_padding",
        "sample_size",
        "timestamp_format",
    ]
)
"Options of DuckDB's CSV reader that other systems pass on: taken, with a warning that they do nothing."
FORMATS: Mapping[str, Attrs] = {
    "json": {**_MAPPED, "records": Attr("text", "Dotted path of the array that holds the records.")},
    "jsonl": _MAPPED,
    "delimited": {**_DELIMITED, **{name: Attr("any", "Has no effect.") for name in IGNORED_DELIMITED}},
    "grok": _NOTE
    | {
        "layout": Attr("text", "The pattern of a line.", required=True),
        "patterns": Attr("map", "Own patterns: name → grok text."),
    },
    "regex": _NOTE | {"layout": Attr("text", "The expression; named groups are the fields.", required=True)},
}
FORMAT_SYNONYMS = {"csv": "delimited", "ndjson": "jsonl"}
OF_TABLE: Attrs = _NOTE | {"layout": Attr("text", "The line in the spelling of the program that writes it.")}
"Attributes of a format whose type is a built-in table, such as `nginx_access_log`."
OTHER_BLOCKS = frozenset({"store", "tier", "schema", "dataset", "sink", "listener", "window", "variable"})
BLOCKS = OTHER_BLOCKS | {
    "connection",
    "source",
    "format",
    "table",
    "partition",
    "collection",
    "workspace",
    "locals",
}


def checked(given: Settings, declared: Attrs, report: Report) -> dict[str, Value]:
    """Values by name, each of its declared kind; what does not fit is noted and left out, and so is null."""
    values: dict[str, Value] = {}
    for name, setting in given.items():
        if name not in declared:
            report.error(setting.name_where, f"unknown attribute '{name}'", "unknown-attribute", meant(name, declared))
        elif setting.value is not None:
            try:
                values[name] = fitted(setting, declared[name].kind, report)
            except Problem as problem:
                report.add(problem)
    return values


def fitted(setting: Setting, kind: str, report: Report) -> Value:
    """The value as the kind wants it (lists of texts become tuples); raises a Problem."""
    value = setting.value
    match kind, value:
        case "format", _:
            return value
        case "any", _:
            _no_bare_names(setting, value, report)
            return plain(value)
        case ("text", str()) | ("flag", bool()):
            return value
        case "number", int() | float() if not isinstance(value, bool):
            return value
        case "texts" | "names", str():
            return (value,)
        case "texts" | "names", list():
            names = [_word(item) if kind == "names" else item for item in value]
            if all(isinstance(name, str) for name in names):
                return tuple(names)
        case "map", dict():
            if all(isinstance(item, str) for item in value.values()):
                return dict(value)
    wanted = {
        "text": "a text", "texts": "a list of texts", "names": "a list of names", "flag": "true or false",
        "number": "a number", "map": "a map of texts",
    }[kind]  # fmt: skip
    hint = f'write {setting.name} = "{value}"' if isinstance(value, Reference) and kind == "text" else None
    raise report.make(setting.where, f"'{setting.name}' must be {wanted}, not {called(value)}", "wrong-type", hint)


def _word(value: Value) -> Value:
    return value.path[0] if isinstance(value, Reference) and len(value.path) == 1 else value


def _no_bare_names(setting: Setting, value: Value, report: Report) -> None:
    if isinstance(value, Reference) and not is_block_reference(value):
        raise report.make(value.where, f"unknown name '{value}'", "unknown-name", f'for a text, write "{value}"')
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _no_bare_names(setting, inner, report)

"""The vocabulary of `format` blocks: every type, its attributes, and what they must be."""

from __future__ import annotations

from collections.abc import Mapping

from tailrace.config.attributes import Attr, Attrs, BlockType

NOTE = {"description": Attr("text", "What is written like this.")}
_MAPPED: Attrs = NOTE | {
    "field_map": Attr("map", "Column → source key."),
    "keys": Attr(
        "text", "`camel` where `event_time` is written `eventTime`.", default="same", choices=("same", "camel")
    ),
}
_DELIMITED: Attrs = NOTE | {
    "delimiter": Attr("text", "One character or several; `\\s` = one or more blanks.", default=","),
    "header": Attr("flag", "Does the first line name the fields? Without it, that is found out."),
    "quote": Attr("text", "The quote.", default='"'),
    "escape": Attr("text", "What makes a quote plain inside a quoted field.", default='"'),
    "comment": Attr("text", "Lines that begin with this are skipped."),
    "null_str": Attr("text", "A text that means null."),
    "null_if": Attr("text", "The same as `null_str`.", same_as="null_str"),
    "null_column_char": Attr("text", "The same as `null_str`.", same_as="null_str"),
    "fields": Attr("names", "Names of the fields in order, where no header line gives them."),
    "field_map": Attr("map", "Column → field."),
    "null_padding": Attr("flag", "Fields that a record lacks at its end are null.", default=False),
    "allow_quoted_nulls": Attr("flag", "Does `null_str` mean null between quotes too?", default=True),
    "force_not_null": Attr("names", "Fields in which no text means null."),
    "decimal_separator": Attr("text", "What stands before fractions.", default=".", choices=(".", ",")),
    "timestamp_format": Attr("text", "A strptime pattern for times whose column has none of its own."),
    "normalize_names": Attr("flag", "Names in the header become lower case with `_` between words.", default=False),
    "all_varchar": Attr("flag", "Are columns that are not declared texts, whatever they look like?", default=False),
    "new_line": Attr("text", "`\\r` where that alone ends a line; other ends are known without it."),
    "max_line_size": Attr("number", "Bytes; longer lines go to the quarantine."),
}
IGNORED_DELIMITED = frozenset({"filename", "ignore_errors", "sample_size"})
"Options of DuckDB's CSV reader that other systems pass on: taken, with a warning that they do nothing."
_START = Attr("text", "A regular expression: lines in which it is found begin a record, the others go on with it.")
FORMATS: Mapping[str, Attrs] = {
    "json": {**_MAPPED, "records": Attr("text", "Dotted path of the array that holds the records.")},
    "jsonl": _MAPPED,
    "delimited": {**_DELIMITED, **{name: Attr("any", "Has no effect.") for name in sorted(IGNORED_DELIMITED)}},
    "grok": NOTE
    | {
        "layout": Attr("text", "The pattern of a line.", required=True),
        "patterns": Attr("map", "Own patterns: name → grok text."),
        "start": _START,
    },
    "parquet": NOTE | {"field_map": Attr("map", "Column → field.")},
    "avro": _MAPPED,
    "xml": {
        **_MAPPED,
        "record": Attr("text", "Name of the element that is a record, without its namespace.", required=True),
        "named": Attr("text", "`Data@Name`: an element `Data` is called by its attribute `Name`."),
    },
    "otlp": NOTE,
    "regex": NOTE
    | {"layout": Attr("text", "The expression; named groups are the fields.", required=True), "start": _START},
    "syslog": NOTE,
    "w3c": NOTE | {"fields": Attr("names", "Names of the fields of lines without a `#Fields` line before them.")},
    "logfmt": NOTE,
    "ltsv": NOTE,
    "cef": NOTE,
    "leef": NOTE,
    "zeek": NOTE,
}
FORMAT_SYNONYMS = {"csv": "delimited", "ndjson": "jsonl"}
OF_TABLE: Attrs = NOTE | {"layout": Attr("text", "The line in the spelling of the program that writes it.")}
"Attributes of a format whose type is a built-in table, such as `nginx_access_log`."


def format_types() -> dict[str, BlockType]:
    """A block type for each, for the documentation and for whoever asks."""
    docs = {
        "json": "Whole JSON documents: objects, arrays, or records under a path.",
        "jsonl": "One JSON object per line.",
        "delimited": "Fields between delimiters.",
        "grok": "Lines that fit a grok pattern.",
        "parquet": "Parquet files.",
        "avro": "Avro object container files.",
        "xml": "Elements of XML documents.",
        "otlp": "Logs of OpenTelemetry: JSON or protobuf.",
        "regex": "Lines that fit a regular expression.",
        "syslog": "Messages of RFC 3164 and 5424.",
        "w3c": "Lines whose fields a `#Fields` line names.",
        "logfmt": "Lines of `key=value`.",
        "ltsv": "Lines of `label:value` between tabs.",
        "cef": "ArcSight's Common Event Format.",
        "leef": "QRadar's Log Event Extended Format.",
        "zeek": "Zeek's logs, tab-separated or JSON.",
    }
    return {name: BlockType(name, docs[name], attributes, ("type", "name")) for name, attributes in FORMATS.items()}

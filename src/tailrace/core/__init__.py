"""The nouns of Tailrace. No I/O, no Spark, nothing heavy to import.

A noun's module is imported when it is asked for: a question to the lake needs few of them, and to make all takes as
long as the question.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailrace.core.artifact import NOTHING_MORE, Artifact, Resume
    from tailrace.core.columns import Column, Struct, camel, col, leaves, pascal, struct
    from tailrace.core.errors import (
        ConfigError,
        DataError,
        LakeError,
        LockedError,
        QueryError,
        SourceError,
        TailraceError,
        TooManyBadRows,
        UsageError,
    )
    from tailrace.core.formats import (
        Avro,
        Delimited,
        Format,
        Grok,
        Json,
        Jsonl,
        Layout,
        Otlp,
        Packaged,
        Pairs,
        Parquet,
        Preset,
        Regex,
        Syslog,
        W3c,
        Xml,
        Zeek,
    )
    from tailrace.core.ranges import TimeRange, parse_time
    from tailrace.core.table import TP_COLUMNS, At, Common, Sql, StartsWith, Table

__all__ = [
    "NOTHING_MORE",
    "TP_COLUMNS",
    "Artifact",
    "At",
    "Avro",
    "Column",
    "Common",
    "ConfigError",
    "DataError",
    "Delimited",
    "Format",
    "Grok",
    "Json",
    "Jsonl",
    "LakeError",
    "Layout",
    "LockedError",
    "Otlp",
    "Packaged",
    "Pairs",
    "Parquet",
    "Preset",
    "QueryError",
    "Regex",
    "Resume",
    "SourceError",
    "Sql",
    "StartsWith",
    "Struct",
    "Syslog",
    "Table",
    "TailraceError",
    "TimeRange",
    "TooManyBadRows",
    "UsageError",
    "W3c",
    "Xml",
    "Zeek",
    "camel",
    "col",
    "leaves",
    "parse_time",
    "pascal",
    "struct",
]

_HOMES = {
    "artifact": ("NOTHING_MORE", "Artifact", "Resume"),
    "columns": ("Column", "Struct", "camel", "col", "leaves", "pascal", "struct"),
    "errors": (
        "ConfigError", "DataError", "LakeError", "LockedError", "QueryError", "SourceError", "TailraceError",
        "TooManyBadRows", "UsageError",
    ),
    "formats": (
        "Avro", "Delimited", "Format", "Grok", "Json", "Jsonl", "Layout", "Otlp", "Packaged", "Pairs", "Parquet",
        "Preset", "Regex", "Syslog", "W3c", "Xml", "Zeek",
    ),
    "ranges": ("TimeRange", "parse_time"),
    "table": ("TP_COLUMNS", "At", "Common", "Sql", "StartsWith", "Table"),
}  # fmt: skip
"By module, what comes from it."
_MODULES = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'tailrace.core' has no attribute '{name}'")
    found = getattr(import_module(f"tailrace.core.{_MODULES[name]}"), name)
    globals()[name] = found  # the next one does not come here
    return found

"""The nouns of Tailrace. No I/O, no Spark, nothing heavy to import."""

from tailrace.core.artifact import Artifact
from tailrace.core.columns import Column, Struct, camel, col, leaves, struct
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
from tailrace.core.formats import Delimited, Format, Grok, Json, Jsonl, Layout, Preset, Regex
from tailrace.core.ranges import TimeRange, parse_time
from tailrace.core.table import TP_COLUMNS, At, Common, Sql, StartsWith, Table

__all__ = [
    "TP_COLUMNS",
    "Artifact",
    "At",
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
    "Preset",
    "QueryError",
    "Regex",
    "SourceError",
    "Sql",
    "StartsWith",
    "Struct",
    "Table",
    "TailraceError",
    "TimeRange",
    "TooManyBadRows",
    "UsageError",
    "camel",
    "col",
    "leaves",
    "parse_time",
    "struct",
]

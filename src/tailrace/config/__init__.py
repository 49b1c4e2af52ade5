"""The configuration language: `.tpc` text → frozen values that remember file and line."""

from tailrace.config.load import find_files, load
from tailrace.config.model import (
    Config,
    ConnectionSpec,
    FormatSpec,
    OtherBlock,
    PartitionSpec,
    SourceSpec,
    TableSpec,
    WorkspaceSpec,
)
from tailrace.config.places import ConfigErrors, Problem, Where
from tailrace.config.select import select
from tailrace.config.sources import require_available
from tailrace.config.tables import tables_for
from tailrace.config.values import Reference, Secret

__all__ = [
    "Config",
    "ConfigErrors",
    "ConnectionSpec",
    "FormatSpec",
    "OtherBlock",
    "PartitionSpec",
    "Problem",
    "Reference",
    "Secret",
    "SourceSpec",
    "TableSpec",
    "Where",
    "WorkspaceSpec",
    "find_files",
    "load",
    "require_available",
    "select",
    "tables_for",
]

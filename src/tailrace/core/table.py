"""Tables: what columns mean, and the `tp_*` columns that all tables share."""

from __future__ import annotations

from dataclasses import dataclass, field

from tailrace.core.columns import Column, col
from tailrace.core.formats import Format, Preset


@dataclass(frozen=True, slots=True)
class At:
    """A time that is written in a text column: which one, and its strptime pattern."""

    path: str
    time: str


@dataclass(frozen=True, slots=True)
class Sql:
    """A DuckDB expression over the table's columns that gives one text or a list of texts."""

    text: str


@dataclass(frozen=True, slots=True)
class StartsWith:
    """Those values of a text column that begin with a text."""

    path: str
    text: str


Paths = tuple["str | Sql | StartsWith", ...]


@dataclass(frozen=True, slots=True)
class Common:
    """Which columns (dotted paths) fill the shared `tp_*` columns."""

    time: tuple[str | At, ...]
    "Candidates for tp_timestamp; the first that is not null wins."
    source_ip: str | None = None
    destination_ip: str | None = None
    ips: Paths = ()
    akas: Paths = ()
    tags: Paths = ()
    domains: Paths = ()
    emails: Paths = ()
    usernames: Paths = ()


@dataclass(frozen=True, slots=True)
class Table:
    """One log type: its columns, how it is written by default, and what its columns say in common terms."""

    name: str
    doc: str
    format: Format
    columns: tuple[Column, ...]
    common: Common
    null: str | None = None
    "Text that means null in every column, such as `-`."
    presets: tuple[Preset, ...] = ()
    "Formats that users may name: `format.nginx_access_log.combined`."
    file_layout: tuple[tuple[str, str], ...] = ()
    "Source kind → default `file_layout`."
    aliases: tuple[str, ...] = ()
    keep: tuple[str, ...] = field(default=("*",))
    "Globs over source fields without a column: those that match are kept in `tp_extra`."
    map_fields: tuple[str, ...] = ()
    "Globs over source fields that become columns of their own though none is declared; built-in tables have none."

    def column(self, name: str) -> Column | None:
        """The declared column of that name."""
        return next((c for c in self.columns if c.name == name), None)


TP_COLUMNS: tuple[Column, ...] = (
    col("tp_id", doc="Identity of the row: a hash of its artifact plus its position in it.", unique=True),
    col("tp_timestamp", "timestamp", doc="When the event happened, UTC."),
    col("tp_ingest_timestamp", "timestamp", doc="When the row was collected, UTC."),
    col("tp_table", doc="Name of the table."),
    col("tp_partition", doc="Name of the partition that collected the row."),
    col("tp_index", doc="Value of the partition's `tp_index` column, or `default`."),
    col("tp_date", "date", doc="Day of tp_timestamp."),
    col("tp_source_type", doc="Kind of source, such as `file`."),
    col("tp_source_name", doc="Bucket, log group or host the artifact came from."),
    col("tp_source_location", doc="Path, key or stream of the artifact."),
    col("tp_source_ip", doc="Address the event came from."),
    col("tp_destination_ip", doc="Address the event went to."),
    col("tp_ips", "varchar[]", doc="All addresses in the event, each once."),
    col("tp_akas", "varchar[]", doc="Names of resources in the event (ARNs and the like), each once."),
    col("tp_tags", "varchar[]", doc="Tags of the event."),
    col("tp_domains", "varchar[]", doc="Domain names in the event, each once."),
    col("tp_emails", "varchar[]", doc="Mail addresses in the event, each once."),
    col("tp_usernames", "varchar[]", doc="User names in the event, each once."),
    col("tp_extra", "json", doc="Fields without a column, and values that did not fit theirs (`tp_misfit`)."),
)
"""The 18 shared columns, and `tp_extra`; stored after a table's own columns, in this order."""

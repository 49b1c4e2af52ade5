"""Formats as values: how bytes become fields. The engines that read them live in `tailrace.formats`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Json:
    """JSON documents: an array of records, records under a key, one object, or several one after another."""

    records: str = ""
    "Dotted path of the array that holds the records, such as `Records`; empty = the document itself."
    keys: str = "same"
    """`same`: a column's key is its name; `camel`: `event_time` is read from `eventTime`, and from `EventTime` where a
    record has all its keys so; `pascal`: from `EventTime` alone."""
    field_map: tuple[tuple[str, str], ...] = ()
    "Column → source key, from a `format` block."
    unwrap: tuple[str, ...] = ()
    """Dotted paths at which a record may stand inside another object, such as `detail` or `logEvents.message`: as an
    object, an array of them, or JSON sent as a string, in envelopes within envelopes too. Tried in order on objects
    that have the path's first key, which no column may have; what stood around is kept in `tp_extra.tp_envelope`."""
    skip: tuple[str, ...] = ()
    "Keys that only objects of another kind have, which lie among the records and are passed over."


@dataclass(frozen=True, slots=True)
class Jsonl:
    """One JSON object per line."""

    keys: str = "same"
    field_map: tuple[tuple[str, str], ...] = ()
    unwrap: tuple[str, ...] = ()
    "As in `Json`."


@dataclass(frozen=True, slots=True)
class Delimited:
    """Character-separated values, RFC 4180 quoting; quoted fields may hold line ends."""

    delimiter: str = ","
    "One character, several, or `\\s` for one or more blanks."
    header: bool | None = None
    "None = the first line is a header iff it names at least half of the expected fields."
    quote: str = '"'
    escape: str = '"'
    comment: str | None = None
    null_str: str | None = None
    fields: tuple[str, ...] = ()
    "Field names in order, where no header line gives them."
    optional: int = 0
    "So many of the last fields may be missing, in all records of a file or in none."
    loose: bool = False
    "Names in a header are the columns' whatever their case and whatever stands between their words."
    other_names: tuple[tuple[str, str], ...] = ()
    "Names that a header may have instead of the usual: other name → field, for headers that lack the field."
    field_map: tuple[tuple[str, str], ...] = ()
    null_padding: bool = False
    "Fields that a record lacks at its end are null."
    allow_quoted_nulls: bool = True
    "Does a text that means null mean it between quotes too?"
    force_not_null: tuple[str, ...] = ()
    "Fields in which no text means null."
    decimal_separator: str = "."
    timestamp_format: str | None = None
    "A strptime pattern for times whose column has none of its own."
    normalize_names: bool = False
    "Names in a header become lower case with `_` between words."
    new_line: str | None = None
    "`\\r` where that alone ends a line; other ends are known without it."
    all_varchar: bool = False
    "Fields that become columns without being declared are texts, whatever they look like."
    max_line_size: int | None = None
    "Longer lines go to the quarantine."


@dataclass(frozen=True, slots=True)
class Layout:
    """Lines of fields between single blanks, quotes and brackets, written as a template.

    `dialect` says how `text` is spelled: `words` (`addr [time] "request" status ?"agent"`; `?` = may be missing),
    `nginx` (`$remote_addr - [$time_local]`), `apache` (`%h %l %u %t "%r" %>s %b`) or `vpc` (AWS field names,
    plain or as `${vpc-id}`).
    """

    text: str
    dialect: str = "words"
    header: str | None = None
    "A regex: a line that matches it whole names the fields of the lines after it."
    rename: tuple[tuple[str, str], ...] = ()
    "Token → field name, for tokens whose spelling is not the column's."
    split: tuple[tuple[str, tuple[str, str, str] | tuple[str, str]], ...] = ()
    "Field → three parts of an HTTP request line (method, target, protocol), or two of `address:port`."
    also: tuple[str, ...] = ()
    "Further templates of the same dialect tried, in order, on lines that do not fit `text`."
    comment: str | None = None
    "Lines that begin with this are skipped."


@dataclass(frozen=True, slots=True)
class Grok:
    """A grok pattern per line, such as `%{IP:client} %{WORD:verb}`."""

    layout: str
    patterns: tuple[tuple[str, str], ...] = ()
    "Own patterns: name → grok text."
    start: str | None = None
    "A regex: a line in which it is found begins a record, the lines up to the next one belong to it."


@dataclass(frozen=True, slots=True)
class Regex:
    """A regular expression per line; named groups are the fields."""

    layout: str
    also: tuple[str, ...] = ()
    "Further expressions tried, in order, on records that do not fit `layout`."
    start: str | None = None
    "As in Grok: records of several lines."
    lead: str | None = None
    "A regex: a line in which it is found, right before one that begins a record, belongs to that record."
    skip: str | None = None
    "A regex: records that do not fit, but in which it is found, are no records: what a server writes as it starts."


@dataclass(frozen=True, slots=True)
class Syslog:
    """Messages of RFC 5424 and RFC 3164, as they are sent and as the usual templates write them to files."""


@dataclass(frozen=True, slots=True)
class W3c:
    """Extended log format of the W3C: a `#Fields` line names the fields of the lines after it."""

    fields: tuple[tuple[str, ...], ...] = ()
    "Field lists for lines without a `#Fields` line before them: the one with as many fields as a line is taken."


@dataclass(frozen=True, slots=True)
class Pairs:
    """Keys with values."""

    dialect: str = "logfmt"
    '`logfmt` (`a=1 b="x y"`), `ltsv` (`a:1`, tabs between), `cef` or `leef`.'


@dataclass(frozen=True, slots=True)
class Zeek:
    """Zeek's own logs: tab-separated with `#fields` and `#types` lines, or one JSON object per line."""


@dataclass(frozen=True, slots=True)
class Otlp:
    """Logs of OpenTelemetry's protocol: JSON, JSON lines, or protobuf (one message, or several with their lengths)."""


@dataclass(frozen=True, slots=True)
class Parquet:
    """Parquet files: a row of theirs is a record."""

    field_map: tuple[tuple[str, str], ...] = ()
    "Column → source field."


@dataclass(frozen=True, slots=True)
class Avro:
    """Avro object container files."""

    keys: str = "same"
    field_map: tuple[tuple[str, str], ...] = ()
    "As in `Json`."


@dataclass(frozen=True, slots=True)
class Xml:
    """XML elements: each one of that name is a record, wherever it stands."""

    record: str
    "Name of the element, without its namespace."
    named: str = ""
    "An element that an attribute names better than its tag: `Data@Name` takes `<Data Name='x'>` for `<x>`."
    keys: str = "same"
    field_map: tuple[tuple[str, str], ...] = ()
    "As in `Json`."


@dataclass(frozen=True, slots=True)
class Packaged(ABC):
    """Base of formats that packages bring: frozen dataclasses that travel to the tasks and make their engine there."""

    @abstractmethod
    def decoder(self, table: Any) -> Any:
        """The engine (`tailrace.formats.base.Decoder`) for the columns of a table."""

    def field_types(self) -> dict[str, str | None] | None:
        """The fields that the format alone names, and their types if it says so; None: only the data tells."""
        return None


Format = (
    Json | Jsonl | Delimited | Layout | Grok | Regex | Syslog | W3c | Pairs | Zeek | Otlp | Parquet | Avro | Xml
    | Packaged
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Preset:
    """A named format that a table ships, such as nginx's `combined`."""

    name: str
    format: Format
    doc: str = field(default="")

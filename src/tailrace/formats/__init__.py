"""How bytes become typed columns: one engine per kind of format, imported when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.core import (
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
    Regex,
    Syslog,
    Table,
    W3c,
    Xml,
    Zeek,
)

if TYPE_CHECKING:
    from tailrace.formats.base import Decoder


def decoder(table: Table, fmt: Format) -> Decoder:
    """The engine for a format, set up for a table's columns; for a table's own, what it reads may tell otherwise."""
    if table.presets:
        from tailrace.formats.sniffing import SniffingDecoder, others

        if found := others(table, fmt):
            return SniffingDecoder(table, _decoder(table, fmt), found)
    return _decoder(table, fmt)


def _decoder(table: Table, fmt: Format) -> Decoder:
    if isinstance(fmt, Json | Jsonl):
        from tailrace.formats.json_decode import json_decoder

        return json_decoder(table, fmt)
    if isinstance(fmt, Layout):
        from tailrace.formats.layout import layout_decoder

        return layout_decoder(table, fmt)
    if isinstance(fmt, Delimited):
        from tailrace.formats.delimited import delimited_decoder

        return delimited_decoder(table, fmt)
    if isinstance(fmt, Syslog | W3c | Pairs | Zeek):
        return _text_decoder(table, fmt)
    if isinstance(fmt, Otlp | Parquet | Avro | Xml):
        return _structured_decoder(table, fmt)
    if isinstance(fmt, Packaged):
        engine: Decoder = fmt.decoder(table)
        return engine
    from tailrace.formats.regex_engine import regex_decoder

    return regex_decoder(table, fmt)


def _text_decoder(table: Table, fmt: Syslog | W3c | Pairs | Zeek) -> Decoder:
    if isinstance(fmt, Syslog):
        from tailrace.formats.syslog import SyslogDecoder

        return SyslogDecoder(table)
    if isinstance(fmt, W3c):
        from tailrace.formats.w3c import W3cDecoder

        return W3cDecoder(table, fmt)
    if isinstance(fmt, Pairs):
        from tailrace.formats.pairs import PairsDecoder

        return PairsDecoder(table, fmt)
    from tailrace.formats.zeek import ZeekDecoder

    return ZeekDecoder(table)


def _structured_decoder(table: Table, fmt: Otlp | Parquet | Avro | Xml) -> Decoder:
    if isinstance(fmt, Otlp):
        from tailrace.formats.otlp import OtlpDecoder

        return OtlpDecoder(table)
    if isinstance(fmt, Parquet):
        from tailrace.formats.parquet import ParquetDecoder

        return ParquetDecoder(table, fmt)
    if isinstance(fmt, Avro):
        from tailrace.formats.avro import AvroDecoder

        return AvroDecoder(table, fmt)
    from tailrace.formats.xml_events import XmlDecoder

    return XmlDecoder(table, fmt)


def field_types(fmt: Format) -> dict[str, str | None] | None:
    """The fields that the format alone names, and their types if it says so; None: only the data tells."""
    if isinstance(fmt, Packaged):
        return fmt.field_types()
    if isinstance(fmt, Grok | Regex):
        from tailrace.formats.grok import expressions_of

        expressions = expressions_of(fmt)
        return {name: e.types.get(name) for e in expressions for name in e.fields}
    if isinstance(fmt, Layout):
        from tailrace.formats.dialects import Field, parse_layout

        return {token.name: None for token in parse_layout(fmt) if isinstance(token, Field)}
    if isinstance(fmt, Delimited) and fmt.fields:
        return dict.fromkeys(fmt.fields)
    return None


def field_names(fmt: Format) -> tuple[str, ...] | None:
    """The source fields that the format alone names; None if only the data tells."""
    types = field_types(fmt)
    return None if types is None else tuple(types)

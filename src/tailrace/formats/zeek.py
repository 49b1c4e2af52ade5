"""Zeek's logs: tab-separated under a header that names and types the fields, or one JSON object per line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import Delimited, Jsonl, Table
from tailrace.formats.base import Batch, Positions, Stream, growing
from tailrace.formats.delimited import DelimitedDecoder, Reading, distinct
from tailrace.formats.fit import Fitter, Texts, joined, quoted
from tailrace.formats.json_decode import json_decoder
from tailrace.formats.lines import LineBlock
from tailrace.formats.sections import decode_ruled
from tailrace.formats.sniffing import Again
from tailrace.formats.times import parse_times

PATH = "_path"
"The field that holds the name of the log, such as `conn`; Zeek's JSON calls it so too."
TIME = "ts"
_NUMBERS = frozenset({"int", "count", "double", "interval", "port"})
_IS_NUMBER = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$"
_HEX = re.compile(r"\\x([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Header:
    """What the lines that begin with # say so far."""

    separator: str = "\t"
    set_separator: str = ","
    empty: str = "(empty)"
    unset: str = "-"
    path: str = ""
    opened: str = ""
    "When the log was begun, in seconds: the time of entries that have none, as those of loaded_scripts."
    fields: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


class ZeekDecoder:
    """Either way to write a log, told by its first character."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.json = json_decoder(table, Jsonl())
        self.readings: dict[Header, _Section] = {}

    def decode(self, stream: Stream) -> Iterator[Batch]:
        whole = Again(stream)
        grows = growing(stream)
        head = (grows.ruling if grows else b"") or whole.head().lstrip()
        if grows and head.startswith(b"{"):
            grows.ruling = head
        return self.json.decode(whole) if head.startswith(b"{") else self._tsv(whole)

    def _tsv(self, stream: Stream) -> Iterator[Batch]:
        return decode_ruled(stream, Header(), _ruled, self._read)

    def _read(self, header: Header, block: LineBlock, lines: Positions) -> list[Batch]:
        if not len(lines):
            return []
        part = block.narrowed(lines)
        if not header.fields:
            filled = np.flatnonzero(part.ends > part.starts)
            bad = [part.refuse(line, "zeek: no #fields before it") for line in filled.tolist()]
            return [Batch({}, np.empty(0, np.int64), part.raw, bad=bad, skipped=len(part) - len(filled))]
        if header not in self.readings:
            self.readings[header] = _Section(self.table, header)
        return self.readings[header].read(part, final=True)[1]


class _Section(Reading):
    """Lines below one header."""

    kind = "zeek"

    def __init__(self, table: Table, header: Header) -> None:
        table = replace(table, null=header.unset)
        fmt = Delimited(delimiter=header.separator, header=False, quote="", escape="", fields=header.fields)
        super().__init__(DelimitedDecoder(table, fmt))
        self.ruled = header
        self.timed = bool(header.opened) and "time" not in header.types and TIME not in header.fields
        made = (PATH, TIME) if self.timed else (PATH,)
        self.use(header.fields, made)
        types = header.types if len(header.types) == len(header.fields) else ("string",) * len(header.fields)
        self.zeek_types = dict(zip(header.fields, types, strict=True))
        self.types = {name: kind for name, kind in self.types.items() if self.zeek_types[name] in _NUMBERS | {"time"}}
        # What has no column is kept as what it is: numbers, lists and times, not texts.
        kept = [n for n in self.fitter.kept if self.zeek_types.get(n, "string") not in ("string", "enum")]
        self.typed = {*kept, *(source for column, source in self.fitter.fitted if column.type == "json")}
        times = {name: "epoch_s" for name, kind in self.zeek_types.items() if kind == "time"}
        self.fitter = Fitter(table, (*header.fields, *made), times=times, documents=self.typed)

    def made(self, fields: Texts) -> Texts:
        rows = len(next(iter(fields.values())))
        for name, values in fields.items():
            kind = self.zeek_types[name]
            if pa.types.is_string(values.type):
                fields[name] = self._plain(values, kind)
            if name in self.typed:
                fields[name] = self._json(fields[name], kind)
        fields |= {PATH: pa.repeat(pa.scalar(self.ruled.path), rows)} if self.ruled.path else {}
        return fields | ({TIME: pa.repeat(pa.scalar(self.ruled.opened), rows)} if self.timed else {})

    def _plain(self, values: pa.Array, kind: str) -> pa.Array:
        if kind == "bool":
            return pc.if_else(pc.equal(values, "T"), "true", pc.if_else(pc.equal(values, "F"), "false", values))
        empty = pc.equal(values, self.ruled.empty)
        return pc.if_else(empty, "", values) if pc.any(empty).as_py() else values

    def _json(self, values: pa.Array, kind: str) -> pa.Array:
        if kind.startswith(("set", "vector", "table")):
            inner = kind.partition("[")[2].rstrip("]")
            lists = pc.split_pattern(values, self.ruled.set_separator)
            items = self._json(self._plain(lists.flatten(), inner), inner)
            texts = pc.binary_join(pa.ListArray.from_arrays(lists.offsets, items), ",")
            texts = pc.if_else(pc.equal(values, ""), "", texts)
            return pc.if_else(values.is_valid(), joined("[", texts, "]"), pa.scalar(None, pa.string()))
        if kind == "bool":
            return pc.if_else(pc.is_in(values, pa.array(["true", "false"])), values, quoted(values))
        if kind in _NUMBERS:
            return pc.if_else(pc.match_substring_regex(values, _IS_NUMBER), values, quoted(values))
        if kind == "time":
            written = parse_times(values, "epoch_s").cast(pa.string())
            times = pc.binary_replace_slice(written, start=10, stop=11, replacement="T")
            return pc.coalesce(joined('"', times, 'Z"'), quoted(values))
        return quoted(values)


def _ruled(header: Header, line: bytes) -> Header:
    """The header after a line that begins with #."""
    text = line.decode(errors="replace")
    if text.startswith("#separator"):
        sign = text.removeprefix("#separator").strip(" \t")
        return Header(separator=_HEX.sub(lambda found: chr(int(found[1], 16)), sign) or "\t")
    name, _, value = text[1:].partition(header.separator)
    match name:
        case "set_separator":
            return replace(header, set_separator=value or ",")
        case "empty_field":
            return replace(header, empty=value)
        case "unset_field":
            return replace(header, unset=value)
        case "path":
            return replace(header, path=value)
        case "open":
            return replace(header, opened=_seconds(value))
        case "fields":
            return replace(header, fields=tuple(distinct(value.split(header.separator))), types=())
        case "types":
            return replace(header, types=tuple(value.split(header.separator)))
    return header


def _seconds(written: str) -> str:
    """`2024-06-10-06-13-20`, taken as UTC."""
    try:
        return str(int(datetime.strptime(written, "%Y-%m-%d-%H-%M-%S").replace(tzinfo=UTC).timestamp()))
    except ValueError:
        return ""

"""The W3C's extended log format: `#Fields` names the fields of the lines after it, and may come again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import Delimited, Table, W3c
from tailrace.formats.base import Batch, Positions, Stream
from tailrace.formats.delimited import DelimitedDecoder, Reading, distinct
from tailrace.formats.fit import Texts
from tailrace.formats.line_texts import texts_of
from tailrace.formats.lines import LineBlock
from tailrace.formats.sections import decode_ruled

DATE_TIME = "date_time"
"The field that holds `date` and `time`, or `time` with the day of the last `#Date`."
_BLANK = ord(" ")
_DIRECTIVE = re.compile(rb"#\s*([\w-]+)\s*:\s*(.*)")
_DAY = re.compile(rb"\d{4}-\d\d-\d\d")
_QUOTED = r'^[ \t]*(?:(?:"(?:[^"]|"")*"|[^"\s]+)(?:[ \t]+|$))+$'
_TAB, _BLANKS = "\t", r"\s"


@dataclass(frozen=True, slots=True)
class Header:
    """What the directives so far say."""

    names: tuple[str, ...] = ()
    separator: str = ""
    "Empty = blanks or tabs, as the lines have them."
    day: str = ""


class W3cDecoder:
    """Lines below the directives that rule them."""

    def __init__(self, table: Table, fmt: W3c) -> None:
        self.table = table
        self.without_header = {len(names): names for names in fmt.fields}
        self.readings: dict[tuple[Header, str, str], Reading] = {}

    def decode(self, stream: Stream) -> Iterator[Batch]:
        return decode_ruled(stream, Header(), _ruled, self._section)

    def _section(self, header: Header, block: LineBlock, lines: Positions) -> Iterator[Batch]:
        """Lines with one list of fields: quoted ones apart from those in which a quote is a character like any."""
        if not len(lines):
            return
        part = block.narrowed(lines)
        for ruled, same in self._by_width(header, part):
            separator = ruled.separator or _separator(same)
            quoted = np.full(len(same), separator == ",")
            if b'"' in same.buffer and separator != ",":
                quoted = _well_quoted(same)
            for quote in ('"', ""):
                chosen = np.flatnonzero(quoted == bool(quote))
                if len(chosen):
                    yield from self._reading(ruled, separator, quote).read(same.narrowed(chosen), final=True)[1]

    def _by_width(self, header: Header, part: LineBlock) -> Iterator[tuple[Header, LineBlock]]:
        """The lines with the header that they fall under; without one that fits, a line's width decides."""
        if not self.without_header or header.separator or (header.names and _blanks(part, len(header.names) - 1)):
            yield header, part
            return
        headers = {width: replace(header, names=names) for width, names in self.without_header.items()}
        width = len(header.names) or next(iter(headers))
        headers[width] = header if header.names else headers[width]
        texts = texts_of(part)
        tabs = pc.count_substring(texts, _TAB)
        words = pc.count_substring_regex(texts, r'"[^"]*"|[^ \t]+')
        widths = pc.if_else(pc.greater(tabs, 0), pc.add(tabs, 1), words).to_numpy(zero_copy_only=False)
        nearest = np.where(np.isin(widths, list(headers)), widths, width)
        for width in np.unique(nearest).tolist():
            yield headers[width], part.narrowed(np.flatnonzero(nearest == width))

    def _reading(self, header: Header, separator: str, quote: str) -> Reading:
        key = (header, separator, quote)
        if key not in self.readings:
            self.readings[key] = _Section(self.table, header, separator, quote)
        return self.readings[key]


class _Section(Reading):
    """Delimited lines whose day and time stand in fields of their own."""

    kind = "w3c"

    def __init__(self, table: Table, header: Header, separator: str, quote: str) -> None:
        fmt = Delimited(delimiter=separator, header=False, quote=quote, fields=header.names or ("line",))
        super().__init__(DelimitedDecoder(table, fmt))
        self.day = header.day
        names = header.names or ("line",)
        self.combined = "time" in names and ("date" in names or bool(header.day))
        self.use(names, (DATE_TIME,) if self.combined else ())
        asked = {source for _, source in self.fitter.fitted} | set(self.fitter.passed)
        spent = {"date", "time"} if self.combined else set()
        self.spent = spent - asked
        self.fitter.kept = [name for name in self.fitter.kept if name not in self.spent]

    def made(self, fields: Texts) -> Texts:
        if not self.combined:
            return fields
        day = fields["date"] if "date" in fields else pa.scalar(self.day)
        return fields | {DATE_TIME: pc.binary_join_element_wise(day, fields["time"], " ")}


def _blanks(block: LineBlock, number: int) -> bool:
    """Has each line so many? Then its width is right, if there are no quotes."""
    places = np.flatnonzero(np.frombuffer(block.buffer, np.uint8) == _BLANK)
    counts = np.searchsorted(places, block.ends) - np.searchsorted(places, block.starts)
    return bool((counts == number).all())


def _ruled(header: Header, line: bytes) -> Header:
    """The header after a directive."""
    found = _DIRECTIVE.match(line)
    if found is None:
        return header
    name, value = found[1].lower(), found[2].decode(errors="replace")
    if name == b"fields":
        comma = "," in value and not re.search(r"\w\s+\w", value)
        names = tuple(distinct(re.split(r"[,\s]+" if comma else r"\s+", value.strip())))
        return replace(header, names=names, separator="," if comma else "")
    day = _DAY.search(found[2]) if name in (b"date", b"start-date") else None
    return replace(header, day=day[0].decode()) if day else header


def _separator(block: LineBlock) -> str:
    """One blank where every line has no more between its fields, which is cheapest; tabs where there are any."""
    if b"\t" in block.raw(0):
        return _TAB
    data = np.frombuffer(block.buffer, np.uint8)
    blank = data == _BLANK
    some = block.starts < block.ends
    outside = blank[block.starts[some]].any() or blank[block.ends[some] - 1].any()
    odd = outside or (blank[1:] & blank[:-1]).any() or b"\t" in block.buffer
    return _BLANKS if odd else " "


def _well_quoted(block: LineBlock) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Lines in which quotes stand around whole fields and nowhere else."""
    texts = texts_of(block)
    has = pc.match_substring(texts, '"')
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = pc.and_(has, pc.match_substring_regex(texts, _QUOTED)).to_numpy(
        zero_copy_only=False
    )
    return found

"""Options of delimited files that other readers know: what they change, kept apart from the usual way."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import fields as fields_of
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import Delimited, Table
from tailrace.formats.base import Batch, Stream
from tailrace.formats.casts import spelled_type
from tailrace.formats.delimited import DelimitedDecoder, Reading
from tailrace.formats.fit import Texts
from tailrace.formats.lines import MAX_LINE_BYTES, LineBlock, cut_lines

_OPTIONS = (
    "null_padding", "force_not_null", "decimal_separator", "timestamp_format", "normalize_names", "new_line",
    "max_line_size",
)  # fmt: skip
_NOT_WORDS = re.compile(r"[^0-9a-z]+")


def has_options(fmt: Delimited) -> bool:
    """Is any of them set?"""
    return any(f.name in _OPTIONS and getattr(fmt, f.name) != f.default for f in fields_of(fmt))


class OptionsDecoder(DelimitedDecoder):
    """Reads streams as the options say."""

    def __init__(self, table: Table, fmt: Delimited) -> None:
        super().__init__(table, replace(fmt, loose=fmt.loose or fmt.normalize_names))

    def reading(self) -> Reading:
        return _OptionsReading(self)

    def lines(self, stream: Stream) -> Iterator[LineBlock]:
        if self.fmt.new_line == "\r":
            stream = _Returns(stream)
        return cut_lines(stream, min(self.fmt.max_line_size or MAX_LINE_BYTES, MAX_LINE_BYTES))


class _Returns:
    """A stream whose lines end with a return."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    @property
    def truncated(self) -> bool:
        return self._stream.truncated

    def __iter__(self) -> Iterator[bytes]:
        return (block.replace(b"\r", b"\n") for block in self._stream)


class _OptionsReading(Reading):
    def use(self, names: tuple[str, ...], made: Collection[str]) -> None:
        if self.fmt.normalize_names:
            names = tuple(name if name in self.expected else _normal(name) for name in names)
        super().use(names, made)
        for column, source in self.fitter.fitted:
            kind = spelled_type(column)
            if kind in ("timestamp", "date") and column.time is None and self.fmt.timestamp_format:
                self.fitter.times[source] = self.fmt.timestamp_format
            if self.fmt.decimal_separator != "." and kind in ("float", "double"):
                self.types.pop(source, None)

    def made(self, fields: Texts) -> Texts:
        made = dict(fields)
        for name in self.fmt.force_not_null:
            if name in made and pa.types.is_string(made[name].type):
                made[name] = made[name].fill_null(self.fmt.null_str or "")
        if self.fmt.decimal_separator != ".":
            made |= {source: self._pointed(made[source]) for source in self._fractions() if source in made}
        return made

    def _fractions(self) -> list[str]:
        """Fields whose columns hold numbers with a fraction."""
        kinds = [(spelled_type(column), source) for column, source in self.fitter.fitted]
        return [source for kind, source in kinds if kind in ("float", "double") or kind.startswith("decimal")]

    def _pointed(self, values: pa.Array) -> pa.Array:
        """Texts of numbers with a point; those that hold one already are not touched."""
        written = pc.replace_substring(values, self.fmt.decimal_separator, ".")
        return pc.if_else(pc.match_substring(values, "."), values, written)

    def mended(
        self, block: LineBlock, refused: dict[int, int], reasons: dict[int, str], newlines: bool
    ) -> tuple[list[Batch], dict[int, str]]:
        """Records that end too early get the delimiters that they lack."""
        wanted = len(self.names)
        short = [n for n in sorted(refused) if refused[n] < wanted]
        if not self.fmt.null_padding or not short or self.fmt.delimiter == r"\s":
            return [], reasons
        delimiter = self.fmt.delimiter.encode()
        lines = [block.raw(n).rstrip(b"\r") + delimiter * (wanted - refused[n]) for n in short]
        ends = np.cumsum([len(line) + 1 for line in lines]) - 1
        starts = np.concatenate([np.zeros(1, np.int64), ends[:-1] + 1])
        padded = LineBlock(b"\n".join(lines) + b"\n", starts, ends, block.positions[short], [], {})
        fmt, self.fmt = self.fmt, replace(self.fmt, null_padding=False)
        try:
            batches, wrong = self._rows(padded, newlines)
        finally:
            self.fmt = fmt
        left = {n: reason for n, reason in reasons.items() if n not in short}
        return batches, left | {short[n]: reason for n, reason in wrong.items()}


def _normal(name: str) -> str:
    return _NOT_WORDS.sub("_", name.lower()).strip("_") or name

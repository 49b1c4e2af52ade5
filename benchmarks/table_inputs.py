"""Input for every table, made of the good records of its golden test.

`mixed` has each of them equally often, again and again: all ways to write a record, and much that is odd, for golden
tests hold one record of every kind. `usual` is nearer to what is logged: the first record makes up nearly all of the
input, every other kind is one record in a hundred, and no record is like another, their digits being random.
"""

from __future__ import annotations

import io
import random
import re
from collections.abc import Iterator
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import pyarrow as pa

from tailrace.core import Json, Jsonl, Otlp, Table
from tailrace.core.registry import find_table, table_names
from tailrace.formats import decoder
from tailrace.formats.base import Batch
from tailrace.formats.stream import open_streams
from tailrace.testing.golden import computed, extras_of

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"
DOCUMENT = 500
"Records of one JSON document."
USUAL = 100
"Records among which every kind but the first stands once."
_KEY = re.compile(rb'\\?"[^"\\]*\\?"\s*:')
_DIGITS = b"12345678"
_TELLING = b"1248"
"Days and months that are none show with one of these."


def tables() -> list[Table]:
    """All that have a golden input."""
    found = (find_table(name) for name in table_names() if list((GOLDEN / name).glob("in.*")))
    return [table for table in found if table is not None]


def decoded(table: Table, data: bytes) -> list[Batch]:
    return [
        batch
        for _, stream in open_streams(io.BytesIO(data), "")
        for batch in decoder(table, table.format).decode(stream)
    ]


def mixed(table: Table, size: int) -> bytes:
    """About so many bytes: all good records equally often."""
    head, records = good(table)
    written = _written(table, head, records)
    return head + written * max(1, size // len(written))


def usual(table: Table, size: int) -> bytes:
    """About so many bytes: mostly the first good record, and no two alike."""
    head, records = good(table)
    chance = random.Random(table.name)
    variants = [_Variants(table, head, record) for record in records]
    first, *others = [variant.made(chance) for variant in variants]
    held, found = 0, []
    for number in range(size):
        place = number % USUAL
        record = next(others[place - 1] if 0 < place <= len(others) else first)
        found.append(record)
        held += len(record) + 1
        if held >= size:
            break
    return head + _written(table, head, found)


def records(table: Table) -> list[bytes]:
    """The good records themselves."""
    return good(table)[1]


def good(table: Table) -> tuple[bytes, list[bytes]]:
    """What stands before the first record, and the records that fit."""
    (path,) = (GOLDEN / table.name).glob("in.*")
    data = path.read_bytes()
    if isinstance(table.format, Otlp):
        return b"", [line for line in data.splitlines() if _is_good(decoded(table, line))]
    records: list[bytes] = []
    first = len(data)
    for _, stream in open_streams(io.BytesIO(data), ""):
        for batch in decoder(table, table.format).decode(stream):
            extras = extras_of(table, batch)
            kept = [number for number, extra in enumerate(extras) if "tp_misfit" not in (extra or "")]
            records += [batch.raw(number).rstrip(b"\r\n") for number in kept]
            first = min([first, *batch.positions.tolist(), *(bad.position for bad in batch.bad)])
    if isinstance(table.format, Json | Jsonl):
        return b"", records
    # A header in the middle of the input does not stand before the records any more.
    return data[:first], [r for r in records if _is_good(decoded(table, data[:first] + r + b"\n"))]


def _is_good(batches: list[Batch]) -> bool:
    return all(not batch.bad and not batch.flagged for batch in batches) and any(batch.rows for batch in batches)


def _written(table: Table, head: bytes, records: list[bytes]) -> bytes:
    """Records as a file has them; those of a document in documents of equal length."""
    if not (isinstance(table.format, Json) and table.format.records):
        return b"".join(record + b"\n" for record in records)
    name = table.format.records.rpartition(".")[2].encode()
    filled = list(islice(cycle(records), max(DOCUMENT, len(records) // DOCUMENT * DOCUMENT)))
    parts = (filled[start : start + DOCUMENT] for start in range(0, len(filled), DOCUMENT))
    return b"".join(b'{"%s":[%s]}\n' % (name, b",".join(part)) for part in parts)


class _Variants:
    """Records like one, with other digits where the table takes other ones and fills the same columns with them."""

    def __init__(self, table: Table, head: bytes, record: bytes) -> None:
        self._record = record
        self._shown = partial(_shown, table, head)
        self._usual = self._shown(record)
        keys = [range(*found.span()) for found in _KEY.finditer(record)]
        last = [found.end() - 1 for found in re.finditer(rb"\d+", record)]
        self._free = self._free_of([place for place in last if not any(place in key for key in keys)])

    def _free_of(self, places: list[int]) -> list[int]:
        """Those of the places that may hold any digit, found by halves."""
        if all(self._shown(self._with(dict.fromkeys(places, digit))) == self._usual for digit in _TELLING):
            return places
        half = len(places) // 2
        return self._free_of(places[:half]) + self._free_of(places[half:]) if half else []

    def made(self, chance: random.Random) -> Iterator[bytes]:
        """One after the other, without end."""
        while True:
            digits = chance.choices(_DIGITS, k=len(self._free))
            yield self._with(dict(zip(self._free, digits, strict=True)))

    def _with(self, digits: dict[int, int]) -> bytes:
        varied = bytearray(self._record)
        for place, digit in digits.items():
            varied[place] = digit
        return bytes(varied)


def _shown(table: Table, head: bytes, record: bytes) -> object:
    """Which columns are filled, and what is told beside them but for its digits."""
    batches = decoded(table, head + record + b"\n")
    if not _is_good(batches):
        return None
    extra = [re.sub(r"\d", "0", str(batch.extra and batch.extra.to_pylist())) for batch in batches]
    columns = [computed(table, batch) for batch in batches]
    return extra, [[(name, _valid(array)) for name, array in found.items()] for found in columns]


def _valid(array: pa.Array) -> object:
    if pa.types.is_struct(array.type):
        return [_valid(field) for field in array.flatten()]
    return array.is_valid().to_pylist()

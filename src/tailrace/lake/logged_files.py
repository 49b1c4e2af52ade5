"""The files of a table of very many, from its log: of what a question does not ask for, nothing is unpacked.

delta-rs unpacks the statistics of every file of a table before it tells the first, and holds them in memory. Here the
checkpoint is read in one pass for days and partitions alone; statistics are unpacked of the files that are left.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from struct import pack, unpack
from typing import Any
from urllib.parse import unquote

import msgspec
import pyarrow as pa
import pyarrow.types as pt

from tailrace.lake.arrow_listing import kind_of
from tailrace.lake.checkpoint import NOT_UNDERSTOOD, Checkpoint, Log, read_log, unpacking
from tailrace.lake.listing import BOOLEAN, DATE, DECIMAL, EPOCH, INTEGER, REAL, REAL32, TEXT, TIME, Files, Listing
from tailrace.lake.paths import PARTITION_COLUMNS, Lake
from tailrace.lake.snapshot import Snapshot
from tailrace.lake.sql import columns_of

FEW = 10_000
"Files of which all that the log says is held at once."
_BOUNDS = {"min.": "minValues", "max.": "maxValues"}
_DECODED: Mapping[str, Any] = {
    TEXT: str, INTEGER: int, REAL: float, REAL32: float, DECIMAL: Decimal, BOOLEAN: bool, DATE: date, TIME: datetime,
}  # fmt: skip
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


def logged_listing(lake: Lake, table: str) -> Listing | None:
    """The latest version of a table on disk; None: it has not so many files, or delta-rs has to be asked."""
    root = lake.table_root(table)
    log = read_log(root)
    if log is None:
        return None
    with suppress(*NOT_UNDERSTOOD):
        source = LoggedSource(log)
        return Listing(table, root, log.version, columns_of(log.schema), Files(source), source.checkpoint.is_moved)
    return None


def logged_amounts(lake: Lake, table: str) -> Snapshot | None:
    """The same as a snapshot without what is known of rows: how many, how large and of which day files are."""
    root = lake.table_root(table)
    log = read_log(root)
    if log is None:
        return None
    with suppress(*NOT_UNDERSTOOD):
        return Snapshot(table, root, log.version, log.schema, LoggedSource(log).amounts())
    return None


class Coded(Sequence[str]):
    """Texts of which there are few, each many times."""

    def __init__(self, texts: Sequence[str], codes: array[int]) -> None:
        self.texts, self.codes = texts, codes

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, place: Any) -> Any:
        return self.texts[self.codes[place]]

    def __iter__(self) -> Iterator[str]:
        texts = self.texts
        return (texts[code] for code in self.codes)


@dataclass(frozen=True, slots=True)
class _Held:
    """What the log says of a few files."""

    places: Sequence[int]
    entries: pa.Table


class LoggedSource:
    """Columns of files as a checkpoint and the commits behind it have them."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.checkpoint = Checkpoint(log)
        self.count = len(self.checkpoint.rows)
        self._held: _Held | None = None

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        leaves = [leaf for leaf in _leaves(self.log.schema) if leaf[0] not in PARTITION_COLUMNS]
        single = {name for name, times in Counter(name for name, *_ in leaves).items() if times == 1}
        found = ((name, kind_of(type)) for name, _, type in leaves if name in single)
        bounds = {f"{start}{name}": kind for name, kind in found if kind is not None for start in _BOUNDS}
        plain = {"path": TEXT, "size": INTEGER, "rows": INTEGER, "tp_partition": TEXT, "tp_index": TEXT}
        return bounds | plain | {"tp_date": DATE}

    def read(self, column: str) -> Sequence[Any]:
        match column:
            case "tp_date":
                return self.checkpoint.days
            case "tp_partition" | "tp_index":
                return Coded(*self.checkpoint.texts[column])
        return self._read(column, range(self.count))

    def some(self, column: str, places: Sequence[int]) -> Sequence[Any] | None:
        """Those at these places, where not all have to be unpacked for it."""
        if column in PARTITION_COLUMNS:
            return None
        ordered = sorted(set(places))
        values = self._read(column, ordered)
        if ordered == places:
            return values
        known = dict(zip(ordered, values, strict=True))
        return [known[place] for place in places]

    def amounts(self) -> pa.Table:
        """Of all files, as a snapshot calls them."""
        names = {"path": "path", "size": "size", "modificationTime": "modified"}
        found = pa.Table.from_batches(self.checkpoint.entries(range(self.count), [*names])).rename_columns(names)
        found = found.append_column("rows", pa.array(self._read("rows", range(self.count)), pa.int64()))
        for name, (texts, codes) in self.checkpoint.texts.items():
            found = found.append_column(name, pa.DictionaryArray.from_arrays(codes, texts).dictionary_decode())
        return found.append_column("tp_date", pa.array(self.checkpoint.days, pa.int32()).cast(pa.date32()))

    def _read(self, column: str, places: Sequence[int]) -> Sequence[Any]:
        with unpacking(self.log):
            return self._unpacked(column, places)

    def _unpacked(self, column: str, places: Sequence[int]) -> Sequence[Any]:
        if column == "path":
            return [unquote(path) if "%" in path else path for path in self._told("path", places)]
        if column in ("size", "modificationTime"):
            return [*self._told(column, places)]
        decoder, depth = self._decoder(column)
        revive = _REVIVED.get(self.kinds[column], _same)
        return [_decoded(text, decoder, depth, revive) for text in self._told("stats", places)]

    def _told(self, name: str, places: Sequence[int]) -> Iterator[Any]:
        """What entries of the log say, in order of the places, which are in order themselves."""
        if len(places) > FEW:
            for batch in self.checkpoint.entries(places, [name]):
                yield from batch.column(name).to_pylist()
            return
        if self._held is None or self._held.places != places:
            names = ["path", "size", "modificationTime", "stats"]
            self._held = _Held(places, pa.Table.from_batches(self.checkpoint.entries(places, names)))
        yield from self._held.entries.column(name).to_pylist()

    def _decoder(self, column: str) -> tuple[msgspec.json.Decoder[Any], int]:
        """What finds one value in the statistics of a file, and how deep it lies."""
        wanted: Any = int
        if column == "rows":
            steps = ["numRecords"]
        else:
            start = column[: len("min.")]
            path = next(path for name, path, _ in _leaves(self.log.schema) if name == column.removeprefix(start))
            steps, wanted = [_BOUNDS[start], *path], _DECODED[self.kinds[column]]
        for name in reversed(steps):
            field = ("inner", wanted | None, None)
            wanted = msgspec.defstruct("Stats", [field], rename={"inner": name})
        return msgspec.json.Decoder(wanted), len(steps)


def _leaves(schema: pa.Schema) -> Iterator[tuple[str, list[str], pa.DataType]]:
    """Columns and fields of structs: as statistics call them, the way there, and their types."""

    def below(path: list[str], field: pa.Field) -> Iterator[tuple[str, list[str], pa.DataType]]:
        path = [*path, field.name]
        if pt.is_struct(field.type):
            for inner in field.type.fields:
                yield from below(path, inner)
        else:
            yield ".".join(path), path, field.type

    for field in schema:
        yield from below([], field)


def _decoded(text: str | None, decoder: msgspec.json.Decoder[Any], depth: int, revive: Any) -> Any:
    """None where nothing is said, or something else than expected: that bounds nothing."""
    if text is None:
        return None
    try:
        value = decoder.decode(text)
        for _ in range(depth):
            value = None if value is None else value.inner
        return None if value is None else revive(value)
    except (msgspec.DecodeError, OverflowError):
        return None


def _same(value: Any) -> Any:
    return value


def _microseconds(time: datetime) -> int:
    plain = time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
    return (plain - _EPOCH) // _MICROSECOND


_REVIVED: Mapping[str, Any] = {
    DATE: lambda day: day.toordinal() - EPOCH,
    TIME: _microseconds,
    REAL32: lambda number: unpack("f", pack("f", number))[0],
}

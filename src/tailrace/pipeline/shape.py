"""From decoded batches to rows of the lake: computed columns, range, filter, identity and shared columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import Sql
from tailrace.formats.base import Bad, Batch
from tailrace.lake.identity import tp_ids
from tailrace.pipeline.compute import Computer
from tailrace.pipeline.enrich import LISTS, address_column, at_path, name_lists, plain, timestamps
from tailrace.pipeline.job import Counts, Job


EPOCH = date(1970, 1, 1)
DAY_US = 86_400_000_000
_DAY_ZERO = 1 << 24
Numbers = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a batch came from: the artifact's number in its unit, and how its rows are named."""

    artifact: int
    prefix: str
    source_type: str
    source_name: str | None
    location: str
    uri: str
    member: str | None = None
    day: date | None = None


@dataclass(slots=True)
class Shaped:
    """Rows ready to be written. Columns that no row has are left out."""

    columns: dict[str, pa.Array]
    timestamps: pa.Array
    index: pa.Array | None
    "tp_index per row; None = `default` throughout."
    origins: list[Origin]
    owner: Numbers
    "Per row: number of its origin."
    bad: list[tuple[Origin, Bad]] = field(default_factory=list)
    counts: dict[int, Counts] = field(default_factory=dict)
    "By number of the artifact."

    def days(self) -> Iterator[tuple[int, str, int]]:
        """(artifact, tp_date, rows) of the rows that are stored."""
        if not len(self.timestamps):
            return
        days = np.floor_divide(self.timestamps.cast(pa.int64()).to_numpy(), DAY_US)
        artifacts = np.array([o.artifact for o in self.origins], np.int64)[self.owner]
        keys, numbers = np.unique(artifacts << 32 | (days + _DAY_ZERO), return_counts=True)
        for key, rows in zip(keys.tolist(), numbers.tolist(), strict=True):
            day = (key & 0xFFFFFFFF) - _DAY_ZERO
            yield key >> 32, str(EPOCH + timedelta(days=day)), rows


Part = tuple[Origin, Batch]


class Shaper:
    """Shapes the batches of one job."""

    def __init__(self, job: Job) -> None:
        self.job = job
        table = job.table
        self.required = [c for c in table.columns if c.required]
        self.computer = Computer(table.columns, job.filter, _common_sql(job))

    def shape(self, parts: list[Part]) -> Shaped:
        """All parts together: batches of small artifacts are worth more as one."""
        rows = sum(batch.rows for _, batch in parts)
        counts = _received(parts)
        bad = [(origin, b) for origin, batch in parts for b in batch.bad]
        sizes = np.array([batch.rows for _, batch in parts], np.int64)
        owner = np.repeat(np.arange(len(parts), dtype=np.int32), sizes)
        shaped = Shaped({}, pa.nulls(0, pa.timestamp("us")), None, [o for o, _ in parts], owner, bad, counts)
        columns = _together(parts, rows)
        extra = columns.pop("tp_extra", None)
        refused: dict[int, str] = {}
        if self.computer.expressions:
            refused = self.computer.compute(columns, rows)
        columns = {name: array for name, array in columns.items() if self._stored(name)}
        if extra is not None:
            columns["tp_extra"] = extra
        times = self._timestamps(columns, rows)
        keep = self._keep(columns, times, refused, parts, shaped)
        if keep is not None:
            columns = {name: array.filter(keep) for name, array in columns.items()}
            times = times.filter(keep)
            shaped.owner = shaped.owner[keep.to_numpy(zero_copy_only=False)]
        ids = _ids(parts)
        columns["tp_id"] = ids if keep is None else ids.filter(keep)
        self._finish(shaped, columns, times)
        return shaped

    def _stored(self, name: str) -> bool:
        return self.job.table.column(name) is not None

    def _timestamps(self, columns: dict[str, pa.Array], rows: int) -> pa.Array:
        own = columns.pop("tp_timestamp", None)
        found = timestamps(columns, self.job.table.common, rows)
        return found if own is None else pc.coalesce(plain(own), found)

    def _keep(
        self,
        columns: dict[str, pa.Array],
        times: pa.Array,
        refused: dict[int, str],
        parts: list[Part],
        shaped: Shaped,
    ) -> pa.Array | None:
        """Which rows are stored; None = all. Counts the others and keeps the bytes of those that are bad."""
        rows = len(times)
        keep = np.ones(rows, bool)
        if times.null_count:
            refused |= dict.fromkeys(_nulls(times), "row: no timestamp")
        for column in self.required:
            array = columns.get(column.name)
            missing = range(rows) if array is None else _nulls(array)
            refused |= dict.fromkeys(missing, f"row: required column {column.name} is null")
        if refused:
            keep[list(refused)] = False
            self._quarantine(refused, parts, shaped)
        window = self.job.window
        inside = np.ones(rows, bool)
        if window.start is not None:
            inside &= pc.greater_equal(times, pa.scalar(window.start, times.type)).fill_null(True).to_numpy(False)
        if window.end is not None:
            inside &= pc.less(times, pa.scalar(window.end, times.type)).fill_null(True).to_numpy(False)
        _count(shaped, keep & ~inside, "out_of_range")
        keep &= inside
        if self.job.filter is not None:
            wanted = self.computer.wanted({**columns, "tp_timestamp": times}, rows)
            _count(shaped, keep & ~wanted, "filtered")
            keep &= wanted
        _count(shaped, keep, "stored")
        return None if keep.all() else pa.array(keep)

    def _quarantine(self, refused: dict[int, str], parts: list[Part], shaped: Shaped) -> None:
        starts = np.cumsum([0, *(batch.rows for _, batch in parts)])
        for row in sorted(refused):
            number = int(np.searchsorted(starts, row, side="right")) - 1
            origin, batch = parts[number]
            inner = row - int(starts[number])
            raw = batch.raw(inner)
            bad = Bad(int(batch.positions[inner]), raw[: 64 * 1024], len(raw), refused[row])
            shaped.bad.append((origin, bad))
            shaped.counts[origin.artifact].quarantined += 1

    def _finish(self, shaped: Shaped, columns: dict[str, pa.Array], times: pa.Array) -> None:
        """Adds the shared columns that differ from row to row; the writer adds those that a file has in common."""
        rows = len(times)
        common = self.job.table.common
        made: dict[str, pa.Array | None] = {
            "tp_source_ip": address_column(columns, common.source_ip),
            "tp_destination_ip": address_column(columns, common.destination_ip),
        }
        computed = self.computer.common(columns, rows)
        made.update(name_lists(columns, common, rows, computed))
        made.update(_places(shaped.origins, shaped.owner))
        for name, array in made.items():
            if array is not None and columns.get(name) is None:
                columns[name] = array
        for kind in LISTS:
            _as_list(columns, f"tp_{kind}")
        shaped.index = _index(columns, self.job.index)
        shaped.columns = {n: a for n, a in columns.items() if a.null_count < rows}
        shaped.timestamps = times


def _common_sql(job: Job) -> list[str]:
    return [c.text for kind in LISTS for c in getattr(job.table.common, kind) if isinstance(c, Sql)]


def _received(parts: list[Part]) -> dict[int, Counts]:
    counts: dict[int, Counts] = {}
    for origin, batch in parts:
        count = counts.setdefault(origin.artifact, Counts())
        count.received += batch.rows + len(batch.bad)
        count.quarantined += len(batch.bad)
        count.flagged += batch.flagged
    return counts


def _together(parts: list[Part], rows: int) -> dict[str, pa.Array]:
    """Concatenates the parts column by column; a part without a column has nulls there."""
    batches = [batch for _, batch in parts if batch.rows]
    if len(batches) == 1:
        single = dict(batches[0].columns)
        if batches[0].extra is not None:
            single["tp_extra"] = batches[0].extra
        return single
    names: dict[str, pa.DataType] = {}
    for batch in batches:
        for name, array in batch.columns.items():
            kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
            if names.get(name, pa.null()) == pa.null():
                names[name] = kind
    together = {}
    for name, kind in names.items():
        together[name] = joined([batch.columns.get(name) for batch in batches], kind, [b.rows for b in batches])
    if any(batch.extra is not None for batch in batches):
        together["tp_extra"] = joined([b.extra for b in batches], pa.string(), [b.rows for b in batches])
    return together


def joined(arrays: list[pa.Array | None], kind: pa.DataType, sizes: list[int]) -> pa.Array:
    """One array of all; absent ones are nulls; dictionaries survive when all parts have one."""
    if all(a is not None and pa.types.is_dictionary(a.type) for a in arrays):
        return pa.chunked_array(arrays).unify_dictionaries().combine_chunks()
    chunks = []
    for array, size in zip(arrays, sizes, strict=True):
        if array is None or array.type == pa.null():
            chunks.append(pa.nulls(size, kind))
        else:
            chunks.append(plain(array))
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)


def _nulls(array: pa.Array) -> list[int]:
    found: list[int] = np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)).tolist()
    return found


def _count(shaped: Shaped, mask: Mask, what: str) -> None:
    if not mask.any():
        return
    numbers = np.bincount(shaped.owner[mask], minlength=len(shaped.origins))
    for origin, number in zip(shaped.origins, numbers.tolist(), strict=True):
        count = shaped.counts[origin.artifact]
        setattr(count, what, getattr(count, what) + number)


def _ids(parts: list[Part]) -> pa.Array:
    ids = [tp_ids(origin.prefix, batch.positions) for origin, batch in parts if batch.rows]
    return ids[0] if len(ids) == 1 else pa.concat_arrays(ids) if ids else pa.array([], pa.string())


def _places(origins: list[Origin], owner: Numbers) -> dict[str, pa.Array]:
    """tp_source_type, tp_source_name, tp_source_location: few values, many rows."""
    codes = pa.array(owner)
    texts: dict[str, list[str | None]] = {
        "tp_source_type": [o.source_type for o in origins],
        "tp_source_name": [o.source_name for o in origins],
        "tp_source_location": [o.location for o in origins],
    }
    return {name: _coded(codes, words) for name, words in texts.items() if any(w is not None for w in words)}


def _coded(codes: pa.Array, texts: list[str | None]) -> pa.Array:
    words = sorted({t for t in texts if t is not None})
    place = {w: i for i, w in enumerate(words)}
    translated = pa.array([place.get(t) if t is not None else None for t in texts], pa.int32())
    return pa.DictionaryArray.from_arrays(translated.take(codes), pa.array(words, pa.string()))


def _index(columns: dict[str, pa.Array], name: str | None) -> pa.Array | None:
    array = at_path(columns, name) if name else None
    return None if array is None else plain(array).cast(pa.string())


def _as_list(columns: dict[str, pa.Array], name: str) -> None:
    """A custom table may map a text to a list column: it becomes a list of one."""
    array = columns.get(name)
    if array is not None and not pa.types.is_list(array.type):
        texts = plain(array).cast(pa.string())
        columns[name] = pa.ListArray.from_arrays(
            pa.array(np.arange(len(texts) + 1, dtype=np.int32)), texts, mask=texts.is_null()
        )

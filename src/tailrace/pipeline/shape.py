"""From decoded batches to rows that are wanted: computed columns, time, range and filter; the rest is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import TimeRange
from tailrace.core.ranges import Ranges
from tailrace.formats.base import RAW_LIMIT, Bad, Batch
from tailrace.lake.identity import tp_ids
from tailrace.lake.words import words_of
from tailrace.pipeline.compute import Computer
from tailrace.pipeline.enrich import Enricher, at_path, timestamps
from tailrace.pipeline.job import Counts, Job
from tailrace.pipeline.joining import together
from tailrace.pipeline.lists import plain
from tailrace.pipeline.misfits import told
from tailrace.pipeline.moments import Mask, Numbers, days_of, untimely, within, within_own
from tailrace.pipeline.timeless import Timeless

_EVER = TimeRange()
ARRIVED = " arrived"
"Column of batches whose rows came by themselves: when they did, which is their time where they tell none."
SMALL = 512
"Rows of a part that is not worth a call of its own."


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
    fields: tuple[tuple[str, str], ...] = ()
    "What its path says by `file_layout`."
    deleted: Ranges = ()
    "Rows that were deleted and are not to come back."
    refused_at: datetime | None = None
    "When its records went into the quarantine, where they are decoded again."


Part = tuple[Origin, Batch]


@dataclass(slots=True)
class Shaped:
    """Rows to be stored. Columns that no row has are left out; those made from others come when a file is written."""

    columns: dict[str, pa.Array]
    timestamps: pa.Array
    index: pa.Array | None
    "tp_index per row; None = `default` throughout."
    positions: pa.Array
    owner: Numbers
    "Per row: number of its origin in `Shaper.origins`."
    bad: list[tuple[Origin, Bad]] = field(default_factory=list)
    counts: dict[int, Counts] = field(default_factory=dict)
    "By number of the artifact."
    deleted: tuple[pa.Array, Numbers] | None = None
    "Times and owners of rows that are left out because they were deleted."

    def days(self, origins: list[Origin]) -> Iterator[tuple[int, str, int]]:
        """(artifact, tp_date, rows) of the rows that are stored; of those left out as deleted too, as 0 rows."""
        artifacts = np.array([o.artifact for o in origins], np.int64)
        yield from days_of(self.timestamps, artifacts[self.owner])
        if self.deleted is not None:
            times, owner = self.deleted
            yield from ((artifact, day, 0) for artifact, day, _ in days_of(times, artifacts[owner]))


class Shaper:
    """Shapes the batches of one unit."""

    def __init__(self, job: Job, enricher: Enricher) -> None:
        self.job = job
        self.origins: list[Origin] = []
        self.required = [c for c in job.table.columns if c.required]
        self.stored = {c.name for c in job.table.columns}
        self.computer = Computer(job.table.columns, job.filter, ())
        gone, columns = job.erased, job.table.columns
        self.eraser = Computer(columns, gone.condition, (), dict(gone.others), "deletion") if gone else None
        self.asks_sql = bool(self.computer.expressions or job.filter or gone)
        self.enricher = enricher
        conditions = f"{job.filter or ''} {gone.condition if gone else ''}"
        self.asked = {word.lower() for word in (*words_of(conditions), job.index or "")}
        self.timeless = Timeless(job.table)
        self.looks_at_shared = any(word.startswith("tp_") for word in self.asked - {"tp_timestamp"})
        "The filter or tp_index names a shared column: then it has to be made before, not when the file is written."

    def shape(self, parts: list[Part]) -> Iterator[Shaped]:
        """Together where SQL looks at them, which is dear by the call; else large parts by themselves, uncopied."""
        yield from map(self._shape, [parts] if self.asks_sql else _gathered(parts))

    def _shape(self, parts: list[Part]) -> Shaped:
        rows = sum(batch.rows for _, batch in parts)
        bad = [(origin, b) for origin, batch in parts for b in batch.bad]
        positions = pa.array(np.concatenate([batch.positions for _, batch in parts]))
        times = pa.nulls(0, pa.timestamp("us"))
        shaped = Shaped({}, times, None, positions, self._owner(parts), bad, _received(parts))
        columns = together([batch for _, batch in parts if batch.rows])
        extra, arrived = columns.pop("tp_extra", None), columns.pop(ARRIVED, None)
        refused: dict[int, str] = {}
        if self.computer.expressions:
            refused, misfits = self.computer.compute(columns, rows)
            if misfits:
                extra, fresh = told(extra, misfits, rows)
                self._count(shaped, fresh, "flagged")
        columns = {name: array for name, array in columns.items() if name in self.stored}
        if extra is not None:
            columns["tp_extra"] = extra
        times = self._timestamps(columns, rows)
        if arrived is not None and times.null_count:
            times = pc.if_else(self.timeless.absent(times, extra), arrived, times)
        if arrived is not None and self.job.lateness is not None:
            refused |= untimely(times, arrived, self.job.lateness)
        shaped.index = self._index(columns, shaped, times)
        if shaped.index is not None:
            nul = pc.match_substring(shaped.index, "\0").fill_null(False).to_numpy(zero_copy_only=False)
            refused |= dict.fromkeys(np.flatnonzero(nul).tolist(), "row: the value of tp_index holds a NUL")
        keep = self._keep(columns, times, refused, parts, shaped)
        if keep is not None:
            if extra is not None:
                misfits = pc.match_substring(extra, '"tp_misfit"').fill_null(False)
                self._count(shaped, pc.and_not(misfits, keep).to_numpy(zero_copy_only=False), "flagged", -1)
            columns = {name: array.filter(keep) for name, array in columns.items()}
            times = times.filter(keep)
            shaped.owner = shaped.owner[keep.to_numpy(zero_copy_only=False)]
            shaped.positions = positions.filter(keep)
            shaped.index = None if shaped.index is None else shaped.index.filter(keep)
        shaped.columns = {n: a for n, a in columns.items() if a.null_count < len(times)}
        shaped.timestamps = times
        return shaped

    def _owner(self, parts: list[Part]) -> Numbers:
        numbers = []
        for origin, _ in parts:
            if not self.origins or self.origins[-1] is not origin:
                self.origins.append(origin)
            numbers.append(len(self.origins) - 1)
        return np.repeat(np.array(numbers, np.int32), np.array([b.rows for _, b in parts], np.int64))

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
        wanted, erased = keep, ~keep
        if self.job.filter is not None or self.eraser is not None:
            given = {**columns, "tp_timestamp": times, **self._shared(columns, shaped, times)}
            if self.job.filter is not None:
                wanted, failing = self.computer.wanted(given, rows)
                refused = failing | refused
            if self.eraser is not None:
                erased, failing = self.eraser.wanted(given, rows)
                refused = failing | refused
        # Where an expression raises, nothing is computed: that the row has no time then is no reason of its own.
        refused = self._lacking(columns, times, parts) | refused
        if refused:
            keep[list(refused)] = False
            _quarantine(refused, parts, shaped)
        if self.job.window != _EVER:
            inside = within(times, [self.job.window])
            self._count(shaped, keep & ~inside, "out_of_range")
            keep &= inside
        if any(self.job.deleted) or self.eraser is not None:
            deleted = within_own(times, shaped.owner, lambda number: self.origins[number].deleted)
            deleted = keep & (deleted | erased)
            self._count(shaped, deleted, "deleted")
            shaped.deleted = times.filter(pa.array(deleted)), shaped.owner[deleted]
            keep &= ~deleted
        self._count(shaped, keep & ~wanted, "filtered")
        keep &= wanted
        self._count(shaped, keep, "stored")
        return None if keep.all() else pa.array(keep)

    def _lacking(self, columns: dict[str, pa.Array], times: pa.Array, parts: list[Part]) -> dict[int, str]:
        """Rows without a time, or without a value in a column that has to have one."""
        lacking: dict[int, str] = {}
        if times.null_count:
            lacking |= self.timeless.reasons(times, columns.get("tp_extra"), [batch for _, batch in parts])
        for column in self.required:
            array = columns.get(column.name)
            missing = range(len(times)) if array is None else np.flatnonzero(array.is_null()).tolist()
            lacking |= dict.fromkeys(missing, f"row: required column {column.name} is null")
        return lacking

    def _shared(self, columns: dict[str, pa.Array], shaped: Shaped, times: pa.Array) -> dict[str, pa.Array]:
        """Shared columns for a filter or tp_index that asks for them."""
        if not self.looks_at_shared:
            return {}
        rows, owner = len(times), pa.array(shaped.owner)
        constant = {"tp_table": self.job.table.name, "tp_partition": self.job.partition, "tp_index": "default"}
        facts = {name: pa.repeat(pa.scalar(text), rows) for name, text in constant.items()}
        facts["tp_date"] = times.cast(pa.date32(), safe=False)
        facts["tp_ingest_timestamp"] = pa.repeat(pa.scalar(self.job.started, times.type), rows)
        if "tp_id" in self.asked:
            facts["tp_id"] = tp_ids([o.prefix for o in self.origins], shaped.owner, shaped.positions.to_numpy())
        facts |= {name: plain(array) for name, array in places(self.origins, owner).items()}
        facts |= {name: plain(array) for name, array in self.enricher.made(columns, rows).items()}
        index = self._found(columns | facts, shaped.owner)
        return facts if index is None else facts | {"tp_index": index.fill_null("default")}

    def _index(self, columns: dict[str, pa.Array], shaped: Shaped, times: pa.Array) -> pa.Array | None:
        return self._found(columns | self._shared(columns, shaped, times), shaped.owner) if self.job.index else None

    def _found(self, columns: dict[str, pa.Array], owner: Numbers) -> pa.Array | None:
        """Values of tp_index: those of a column, else what the paths of the rows say."""
        name = self.job.index
        array = at_path(columns, name) if name else None
        if array is not None:
            return plain(array).cast(pa.string())
        told = [dict(origin.fields).get(name) for origin in self.origins] if name and name not in self.stored else []
        return pa.array(told, pa.string()).take(pa.array(owner)) if any(told) else None

    def _count(self, shaped: Shaped, mask: Mask, what: str, sign: int = 1) -> None:
        if not mask.any():
            return
        numbers = np.bincount(shaped.owner[mask])
        for number in np.flatnonzero(numbers).tolist():
            count = shaped.counts[self.origins[number].artifact]
            setattr(count, what, getattr(count, what) + sign * int(numbers[number]))


def places(origins: list[Origin], owner: pa.Array) -> dict[str, pa.Array]:
    """tp_source_type, tp_source_name, tp_source_location: few values, many rows."""
    texts: dict[str, list[str | None]] = {
        "tp_source_type": [o.source_type for o in origins],
        "tp_source_name": [o.source_name for o in origins],
        "tp_source_location": [o.location for o in origins],
    }
    made = {}
    for name, values in texts.items():
        words = list(dict.fromkeys(v for v in values if v is not None))
        number = {word: i for i, word in enumerate(words)}
        codes = pa.array([None if v is None else number[v] for v in values], pa.int32())
        made[name] = pa.DictionaryArray.from_arrays(codes.take(owner), pa.array(words, pa.string()))
    return made


def _quarantine(refused: dict[int, str], parts: list[Part], shaped: Shaped) -> None:
    starts = np.cumsum([0, *(batch.rows for _, batch in parts)])
    for row in sorted(refused):
        number = int(np.searchsorted(starts, row, side="right")) - 1
        origin, batch = parts[number]
        inner = row - int(starts[number])
        raw = batch.raw(inner)
        bad = Bad(int(batch.positions[inner]), raw[:RAW_LIMIT], len(raw), refused[row])
        shaped.bad.append((origin, bad))
        shaped.counts[origin.artifact].quarantined += 1


def _gathered(parts: list[Part]) -> Iterator[list[Part]]:
    """Small ones with their neighbours: of short files a call for each would be most of the work."""
    small: list[Part] = []
    for part in parts:
        if part[1].rows < SMALL:
            small.append(part)
            continue
        if small:
            yield small
            small = []
        yield [part]
    if small:
        yield small


def _received(parts: list[Part]) -> dict[int, Counts]:
    counts: dict[int, Counts] = {}
    for origin, batch in parts:
        count = counts.setdefault(origin.artifact, Counts())
        count.received += batch.rows + len(batch.bad)
        count.quarantined += len(batch.bad)
        count.flagged += batch.flagged
    return counts

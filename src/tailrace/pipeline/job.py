"""What a task is told and what it tells back: plain values that travel between driver and workers."""

from __future__ import annotations

import hashlib
from datetime import date, datetime, timedelta
from typing import Literal

import msgspec
import pyarrow as pa

from tailrace.config.model import PartitionSpec
from tailrace.core import Artifact, Format, Table, TimeRange
from tailrace.core.ranges import Ranges
from tailrace.lake.ledger import Entry, Known
from tailrace.lake.place import Place
from tailrace.lake.unique import DAY, Key
from tailrace.sources import Source
from tailrace.sources.base import GONE

Status = Literal["ok", "partial", "failed", "later"]
"`later`: it changed while it was read, or rows would be lost; nothing is stored or noted, the next run looks again."
LOSES = "data.rows-would-go"
"Why an artifact is left for later: rows that are stored would be refused, or nothing would come in their place."


class Erased(msgspec.Struct, frozen=True):
    """Rows that were deleted by a condition and are not to come back."""

    condition: str
    "SQL over the columns of the table."
    others: tuple[tuple[str, pa.DataType], ...]
    "Columns that the stored table has, and this one no longer declares."


class Job(msgspec.Struct, frozen=True):
    """One partition in one run: what its tasks have in common."""

    table: Table
    "With every column spelled out, custom and inferred ones included."
    partition: str
    formats: tuple[Format, ...]
    "By number of the partition's source."
    run: str
    started: datetime
    table_root: Place
    quarantine_root: Place
    sources: tuple[Source, ...] = ()
    "By number as well: what opens their artifacts."
    window: TimeRange = msgspec.field(default_factory=TimeRange)
    deleted: tuple[Ranges, ...] = ()
    "By number of the source: rows that were deleted and are not to come back."
    erased: Erased | None = None
    filter: str | None = None
    index: str | None = None
    "Column or part of the path whose value becomes tp_index."
    notes: str | None = None
    "Directory in which tasks note how far they are; None where nobody watches."
    key: Key | None = None
    "Of rows with the same key one is stored."
    lateness: timedelta | None = None
    "Of rows that came by themselves: older ones, and those of more than a day ahead, are refused. None: none are."
    noted: Place | None = None
    "Where the run is noted: whoever sees the driver's lake finds it there. None: nobody has noted it."

    def recipe(self, source: int) -> str:
        """How artifacts of that source are read."""
        return recipe_of(self.table, self.formats[source], self.filter, self.key)


def key_of(spec: PartitionSpec) -> Key | None:
    """What tells the partition's events apart, where it says so."""
    return Key(spec.dedupe, DAY if spec.dedupe_window is None else spec.dedupe_window) if spec.dedupe else None


def recipe_of(table: Table, fmt: Format, filter: str | None, key: Key | None) -> str:
    """Equal as long as reading the same bytes again can only give the same rows."""
    told = repr((fmt, table.columns, table.common, table.null, table.keep, filter, *([key] if key else [])))
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


class Held(msgspec.Struct, frozen=True):
    """What is stored of an artifact that is read again as a whole, and what was not."""

    rows: int
    filtered: int
    refused: int
    "Quarantined, or out of range."
    same_recipe: bool = False
    "It is read as it was before: if records are missing or bad now, it is the artifact that has changed."
    may_be_empty: bool = True
    "A log is emptied, an API has no more to tell; an object that held records and holds none is an upload gone wrong."

    @classmethod
    def of(cls, before: Known | Entry, recipe: str | None = None, *, may_be_empty: bool = True) -> Held:
        """As the ledger knows it; where rows were left out as duplicates, they could be read."""
        refused = before.quarantined + (before.out_of_range or 0)
        rows = before.rows + (before.duplicates or 0)
        return cls(rows, before.filtered, refused, before.recipe == recipe, may_be_empty)

    def lost(self, now: Counts) -> int:
        """Rows that were read before and would be refused now; those that a filter drops are not wanted."""
        return max(min(self._fewer(now), now.quarantined + now.out_of_range - self.refused), 0)

    def gone(self, now: Counts, *, partial: bool) -> int:
        """Rows that nothing comes for, since the artifact was cut off, or holds not one record that can be read."""
        useless = now.received == now.quarantined and (now.received > 0 or not self.may_be_empty)
        return max(self._fewer(now), 0) if partial or useless else 0

    def _fewer(self, now: Counts) -> int:
        return self.rows - now.stored - max(now.filtered - self.filtered, 0)


class KeptFile(msgspec.Struct, frozen=True):
    """A quarantine file that is gone through again; a bit per row says what becomes of it."""

    place: Place
    name: str
    tried: bytes
    "Rows that are decoded again."
    stays: bytes
    "Rows that are copied as they are; the others are left out."


class Unit(msgspec.Struct, frozen=True):
    """Artifacts that one task reads into the same files."""

    number: int
    artifacts: tuple[Artifact, ...]
    sources: tuple[int, ...]
    "Per artifact: number of the source that listed it."
    attempt: int = 0
    kept: tuple[KeptFile, ...] = ()
    "Where the records of these artifacts are read from, if not from their sources."
    held: tuple[Held | None, ...] = ()
    "Per artifact, where fewer rows than that must not take their place; none: whatever comes does."

    @property
    def days(self) -> frozenset[date | None]:
        return frozenset(a.day for a in self.artifacts)


class Counts(msgspec.Struct):
    """Where the records of an artifact went. received = the sum of the others but `flagged`."""

    received: int = 0
    stored: int = 0
    filtered: int = 0
    out_of_range: int = 0
    deleted: int = 0
    "They were deleted before: by range, or by a condition."
    quarantined: int = 0
    duplicates: int = 0
    "Known only at the commit."
    flagged: int = 0
    "Of the stored ones, and of duplicates, those with a value that did not fit its column."

    def add(self, other: Counts) -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Mark(msgspec.Struct):
    """What is remembered of a local file, so that a later run knows it again and goes on where this one ended."""

    node: str
    version: str
    offset: int | None = None
    fingerprint: str | None = None
    lines: str | None = None
    ruling: bytes = b""


class Outcome(msgspec.Struct):
    """What became of one artifact."""

    uri: str
    status: Status
    counts: Counts
    dates: dict[str, int]
    "Rows per tp_date; 0 where all were deleted."
    reason: str | None = None
    code: str | None = None
    "Of the source's error, if that is why it failed."
    refusal: str | None = None
    "The most frequent reason of records that were quarantined."
    members: list[str] = []
    mark: Mark | None = None

    @property
    def is_final(self) -> bool:
        """Has everything in it been dealt with, so that nobody need offer it again?"""
        return self.code == GONE or (self.status not in ("failed", "later") and not self.counts.out_of_range)


class WrittenFile(msgspec.Struct):
    """A Parquet file that nobody can see yet."""

    path: str
    size: int
    index: str
    day: date
    rows: int
    stats: str


class UnitResult(msgspec.Struct):
    """What one task did, or why it could not."""

    number: int
    outcomes: list[Outcome] = []
    files: list[WrittenFile] = []
    quarantine: list[str] = []
    error: str | None = None
    hint: str | None = None
    retried: bool = False
    "Spark had begun this task before, on a machine that it lost."
    host: str | None = None
    "The machine on which it ran."

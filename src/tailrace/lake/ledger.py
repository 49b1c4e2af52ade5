"""What has been collected: one segment per commit, and their fold, one row per artifact. No files here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.lake.identity import artifact_prefix

_COUNT = pa.int64()
ENTRY_SCHEMA = pa.schema(
    [
        ("uri", pa.string()),
        ("version", pa.string()),
        ("size", _COUNT),
        ("generation", pa.int32()),
        ("status", pa.string()),
        ("source", pa.string()),
        ("day", pa.date32()),
        ("rows", _COUNT),
        ("received", _COUNT),
        ("quarantined", _COUNT),
        ("filtered", _COUNT),
        ("out_of_range", _COUNT),
        ("dates", pa.list_(pa.date32())),
        ("taken_from", pa.timestamp("us")),
        ("taken_to", pa.timestamp("us")),
        ("members", pa.list_(pa.string())),
        ("error", pa.string()),
        ("recipe", pa.string()),
        ("at", pa.timestamp("us")),
        ("identity", pa.string()),
        ("node", pa.string()),
        ("offset", _COUNT),
        ("fingerprint", pa.string()),
        ("lines", pa.string()),
        ("ruling", pa.binary()),
        ("resumed", _COUNT),
        ("duplicates", _COUNT),
    ]
)
_RUNS = ("run", "stored_by")
LEDGER_SCHEMA = pa.schema([*ENTRY_SCHEMA, *((name, pa.string()) for name in _RUNS)])
"With the run that last read the artifact, and the one whose rows are stored: not the same when reading failed."


@dataclass(frozen=True, slots=True)
class Entry:
    """One artifact as it was collected."""

    uri: str
    version: str
    size: int
    status: str
    "`ok`, `partial` (cut off; whole records kept) or `failed` (nothing stored); the last two are read again."
    at: datetime
    generation: int = 1
    "How many versions of this artifact have been stored; grows when it is replaced."
    source: str | None = None
    day: date | None = None
    rows: int = 0
    received: int = 0
    quarantined: int = 0
    filtered: int = 0
    out_of_range: int = 0
    dates: tuple[date, ...] = ()
    "Every `tp_date` its rows lie in."
    taken_from: datetime | None = None
    taken_to: datetime | None = None
    "The range of event time that was asked for, [from, to); None is open."
    members: tuple[str, ...] = ()
    error: str | None = None
    recipe: str | None = None
    "Fingerprint of format, columns and filter with which it was read."
    duplicates: int = 0
    "Rows that were left out because others have the same key; their days are among `dates`."
    identity: str | None = None
    "What its rows are known by, where that is not the URI: it was renamed, or took the place of another."
    node: str | None = None
    "Of a local file: its number in the file system."
    offset: int | None = None
    "Of a file that may grow: up to here it has been read; None: when it changes it is read as a whole."
    fingerprint: str | None = None
    "Of its first bytes: those before the offset, or all."
    lines: str | None = None
    "Hashes of its first and last lines, to tell a changed file from another one in its place."
    ruling: bytes | None = None
    "Header lines that rule what comes after the offset."
    resumed: int | None = None
    "Where the last reading began; None = at the beginning, so that it replaced all before."

    @property
    def key(self) -> str:
        """What its rows are known by."""
        return self.identity or self.uri


class Known(NamedTuple):
    """What decides whether a listed artifact is to be read."""

    version: str
    status: str
    generation: int
    taken_from: datetime | None = None
    taken_to: datetime | None = None
    size: int = 0
    rows: int = 0
    stored_by: str | None = None
    "The run whose rows are stored; None when no version could be read."
    quarantined: int = 0
    filtered: int = 0
    recipe: str | None = None
    duplicates: int | None = 0
    "None: early versions did not count them."
    at: datetime | None = None
    "When it was read."
    out_of_range: int = 0
    received: int = 0

    @property
    def is_whole(self) -> bool:
        """Was it read, and were its rows of all times asked for, or none left out?"""
        return self.status != "failed" and self.has_all_times

    @property
    def has_all_times(self) -> bool:
        """Whatever range was asked for, no row lies outside it."""
        return (self.taken_from is None and self.taken_to is None) or self.out_of_range == 0


class KnownFile(NamedTuple):
    """What tells whether a local file is one that was read before, and how far."""

    uri: str
    "Where it was last seen."
    version: str
    size: int
    rows: int
    at: datetime
    node: str | None
    offset: int | None
    fingerprint: str | None
    lines: str | None
    ruling: bytes | None


COPY = "copy"
"Status of a file that holds nothing but the beginning of another one: it has no rows of its own."
VOID, RESET, RESTORE = "void", "reset", "restore"
"Kinds of segments that are more than their entries: nothing at all; all before is forgotten; all is as it once was."
COMPACT = "compact"
"Other files, the same rows: what a partition holds does not change."
MOVE = "move"
"The same files in another place."
PUSH, PULL = "push", "pull"
"Rows that another lake had: it brought them, or they were fetched from there."
REINDEX = "reindex"
"The same rows with another `tp_index`."
DELETE, EXPIRE = "delete", "expire"
"Segments that take the rows of a range away: because somebody said so, or because they are old."
LIFT = "lift"
"A segment of notes alone: rows that were deleted by a condition may come again."
BEGIN = "begin"
"A segment of notes alone: the range that a collection means to take."
RESTORED = "restored"
"Note of a restoring segment: the sequence to which the ledger goes back."


@dataclass(frozen=True, slots=True)
class Segment:
    """The intent of one commit; valid once the Delta log says so."""

    sequence: int
    run: str
    kind: str = "collect"
    files: tuple[str, ...] = ()
    quarantine: tuple[str, ...] = ()
    lifted: tuple[str, ...] = ()
    "Quarantine files of earlier segments whose records hold no longer: what is left of them is in new files."
    notes: Mapping[str, str] = field(default_factory=dict)
    "What a later run has to know, such as the intended range; the last word of each name counts."
    entries: pa.Table = field(default_factory=ENTRY_SCHEMA.empty_table)

    @property
    def is_void(self) -> bool:
        return self.kind == VOID


@dataclass(frozen=True, slots=True)
class Ledger:
    """The fold of all valid segments up to `sequence`."""

    sequence: int = 0
    entries: pa.Table = field(default_factory=LEDGER_SCHEMA.empty_table)
    quarantine: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)

    def known(self) -> dict[str, Known]:
        """By key, all artifacts ever taken."""
        columns = (self.entries.column(name).to_pylist() for name in Known._fields)
        return {key: Known(*rest) for key, *rest in zip(keys(self.entries).to_pylist(), *columns, strict=True)}

    def last_day(self) -> date | None:
        """The newest day of which an artifact is known."""
        day: date | None = pc.max(self.entries.column("day")).as_py()
        return day

    def files(self) -> dict[str, KnownFile]:
        """By key, all local files ever taken, the last one seen last: some take the places of others."""
        local = self.entries.filter(pc.starts_with(self.entries.column("uri"), "file:"))
        columns = (local.column(name).to_pylist() for name in KnownFile._fields)
        found = [(key, KnownFile(*rest)) for key, *rest in zip(keys(local).to_pylist(), *columns, strict=True)]
        return dict(sorted(found, key=lambda entry: entry[1].at))

    def of(self, wanted: Iterable[str]) -> pa.Table:
        """The entries of the artifacts with those keys."""
        return self.entries.filter(pc.is_in(keys(self.entries), value_set=pa.array(list(wanted), pa.string())))

    def left_out(self) -> pa.Table:
        """The entries of artifacts that held duplicates."""
        return self.entries.filter(pc.greater(self.entries.column("duplicates"), 0))

    def cut_short(self, wanted: Iterable[str]) -> set[date | None]:
        """Days of those artifacts that hold rows outside the range asked for, which had an end."""
        more = pc.greater(self.entries.column("out_of_range"), 0)
        ended = self.entries.filter(pc.and_(pc.is_valid(self.entries.column("taken_to")), more))
        concerned = pc.is_in(keys(ended), value_set=pa.array(list(wanted), pa.string()))
        return set(ended.column("day").filter(concerned).to_pylist())

    def of_days(self, first: date | None, last: date | None) -> pa.Table:
        """The entries that have rows on any of those days."""
        dates = self.entries.column("dates").combine_chunks()
        flat = dates.flatten()
        inside = pc.is_valid(flat)
        if first is not None:
            inside = pc.and_(inside, pc.greater_equal(flat, pa.scalar(first)))
        if last is not None:
            inside = pc.and_(inside, pc.less_equal(flat, pa.scalar(last)))
        rows = pc.list_parent_indices(dates).filter(inside).unique()
        return self.entries.take(rows)

    def fold(self, segments: Sequence[Segment]) -> Ledger:
        """This ledger with later segments on top: the last entry of an artifact wins."""
        if not segments:
            return self
        for number, segment in enumerate(segments):
            if segment.kind == RESET:
                return Ledger(segment.sequence, notes=dict(segment.notes)).fold(segments[number + 1 :])
        notes = dict(self.notes)
        for segment in segments:
            notes.update(segment.notes)
        quarantine = dict.fromkeys(self.quarantine)
        for segment in segments:
            for name in segment.lifted:
                quarantine.pop(name, None)
            quarantine |= dict.fromkeys(segment.quarantine)
        rows = pa.concat_tables([self.entries, *map(_with_runs, segments)])
        return Ledger(segments[-1].sequence, _last_per_key(rows), tuple(quarantine), notes)


def entries_table(entries: Iterable[Entry]) -> pa.Table:
    """Entries as Arrow."""
    rows = list(entries)
    names = [f.name for f in ENTRY_SCHEMA]
    return pa.table({n: pa.array([getattr(r, n) for r in rows], ENTRY_SCHEMA.field(n).type) for n in names})


def keys(entries: pa.Table) -> pa.ChunkedArray:
    """What the rows of each artifact are known by."""
    return pc.coalesce(entries.column("identity"), entries.column("uri"))


def prefixes(entries: pa.Table) -> list[str]:
    """Every prefix that `tp_id`s of those artifacts and their members begin with."""
    names, members = keys(entries).to_pylist(), entries.column("members").to_pylist()
    whole = [artifact_prefix(name) for name in names]
    return whole + [artifact_prefix(n, m) for n, inner in zip(names, members, strict=True) for m in inner or ()]


def _with_runs(segment: Segment) -> pa.Table:
    runs = pa.repeat(pa.scalar(segment.run), segment.entries.num_rows)
    # Rows that were there before stay those of the run that read the artifact from its beginning.
    kept = pc.or_(pc.equal(segment.entries.column("status"), "failed"), pc.is_valid(segment.entries.column("resumed")))
    stored_by = pc.if_else(kept, pa.scalar(None, pa.string()), runs)
    return pa.table([*segment.entries.columns, runs, stored_by], schema=LEDGER_SCHEMA)


def _last_per_key(rows: pa.Table) -> pa.Table:
    numbered = pa.table([keys(rows), rows.column("stored_by"), np.arange(rows.num_rows)], ["key", "stored_by", "row"])
    last = numbered.group_by("key", use_threads=False).aggregate([("row", "max"), ("stored_by", "last")])
    taken = rows.drop_columns(["stored_by"]).take(last.column("row_max"))
    return taken.append_column(LEDGER_SCHEMA.field("stored_by"), last.column("stored_by_last")).combine_chunks()

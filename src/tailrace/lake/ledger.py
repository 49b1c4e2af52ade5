"""What has been collected: one segment per commit, and their fold, one row per artifact."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailrace.core.errors import LakeError, one_line
from tailrace.lake.identity import artifact_prefix
from tailrace.lake.objects import put

FOLD_EVERY = 64
"Segments that may lie behind the last fold before a new one is written."
PLAIN_ROWS = 1000
_HEADER = b"tailrace.segment"
_FOLD = "fold-"
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


@dataclass(frozen=True, slots=True)
class Segment:
    """The intent of one commit; valid once the Delta log says so."""

    sequence: int
    run: str
    kind: str = "collect"
    files: tuple[str, ...] = ()
    quarantine: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    "What a later run has to know, such as the intended range; the last word of each name counts."
    entries: pa.Table = field(default_factory=ENTRY_SCHEMA.empty_table)

    @property
    def is_void(self) -> bool:
        return self.kind == "void"


@dataclass(frozen=True, slots=True)
class Ledger:
    """The fold of all valid segments up to `sequence`."""

    sequence: int = 0
    entries: pa.Table = field(default_factory=LEDGER_SCHEMA.empty_table)
    quarantine: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)

    def known(self) -> dict[str, Known]:
        """By URI, all artifacts ever taken."""
        columns = (self.entries.column(name).to_pylist() for name in ("uri", *Known._fields))
        return {uri: Known(*rest) for uri, *rest in zip(*columns, strict=True)}

    def of(self, uris: Iterable[str]) -> pa.Table:
        """The entries of those artifacts."""
        wanted = pa.array(list(uris), pa.string())
        return self.entries.filter(pc.is_in(self.entries.column("uri"), value_set=wanted))

    def fold(self, segments: Sequence[Segment]) -> Ledger:
        """This ledger with later segments on top: the last entry of an artifact wins."""
        if not segments:
            return self
        notes = dict(self.notes)
        for segment in segments:
            notes.update(segment.notes)
        quarantine = tuple(q for s in segments for q in s.quarantine)
        rows = pa.concat_tables([self.entries, *map(_with_runs, segments)])
        return Ledger(segments[-1].sequence, _last_per_uri(rows), self.quarantine + quarantine, notes)


def entries_table(entries: Iterable[Entry]) -> pa.Table:
    """Entries as Arrow."""
    rows = list(entries)
    names = [f.name for f in ENTRY_SCHEMA]
    return pa.table({n: pa.array([getattr(r, n) for r in rows], ENTRY_SCHEMA.field(n).type) for n in names})


def prefixes(entries: pa.Table) -> list[str]:
    """Every prefix that `tp_id`s of those artifacts and their members begin with."""
    uris, members = (entries.column(name).to_pylist() for name in ("uri", "members"))
    whole = [artifact_prefix(uri) for uri in uris]
    return whole + [artifact_prefix(u, m) for u, inner in zip(uris, members, strict=True) for m in inner or ()]


def segment_path(directory: Path, sequence: int) -> Path:
    return directory / f"{sequence:012d}.parquet"


def segment_numbers(directory: Path) -> list[int]:
    """All segments that exist, in order."""
    if not directory.is_dir():
        return []
    return sorted(int(p.stem) for p in directory.iterdir() if p.suffix == ".parquet" and p.stem.isdigit())


def segment_bytes(segment: Segment) -> bytes:
    """A segment as Parquet: entries as rows, the rest in the footer."""
    header = {f.name: getattr(segment, f.name) for f in fields(segment) if f.name != "entries"}
    return _parquet(segment.entries, header)


def read_segment(directory: Path, sequence: int) -> Segment:
    """One segment, valid or not."""
    path = segment_path(directory, sequence)
    try:
        entries, header = _read(path)
    except FileNotFoundError:
        raise _damaged(path, f"ledger segment {sequence} is missing") from None
    if entries.schema != ENTRY_SCHEMA:
        raise _damaged(path, "not a ledger segment: its columns are others")
    return Segment(**_with_tuples(header), entries=entries)


def load_ledger(directory: Path, decided: int, is_last_valid: bool) -> Ledger:
    """Fold of the segments up to `decided`; the last one counts only if its commit said so."""
    last = decided if is_last_valid else decided - 1
    ledger = _read_fold(directory, last)
    tail = range(ledger.sequence + 1, last + 1)
    return ledger.fold([read_segment(directory, n) for n in tail])


def write_fold(directory: Path, ledger: Ledger, owner: str) -> None:
    """Keep the fold, so that later runs read only what came after; and the one before, for readers."""
    header = {"sequence": ledger.sequence, "quarantine": ledger.quarantine, "notes": ledger.notes}
    put(directory / f"{_FOLD}{ledger.sequence:012d}.parquet", _parquet(ledger.entries, header), owner)
    for old in sorted(directory.glob(f"{_FOLD}*.parquet"))[:-2]:
        old.unlink(missing_ok=True)


def last_fold(directory: Path) -> int:
    """Sequence of the newest fold, 0 without one."""
    return max(_folds(directory), default=0)


def _folds(directory: Path) -> Iterator[int]:
    for path in directory.glob(f"{_FOLD}*.parquet"):
        yield int(path.stem.removeprefix(_FOLD))


def _read_fold(directory: Path, last: int) -> Ledger:
    for sequence in sorted((n for n in _folds(directory) if n <= last), reverse=True):
        try:
            entries, header = _read(directory / f"{_FOLD}{sequence:012d}.parquet")
        except FileNotFoundError:
            continue
        if entries.schema != LEDGER_SCHEMA:
            continue  # of another version: the segments say the same
        return Ledger(**_with_tuples(header), entries=entries)
    return Ledger()


def _with_runs(segment: Segment) -> pa.Table:
    runs = pa.repeat(pa.scalar(segment.run), segment.entries.num_rows)
    failed = pc.equal(segment.entries.column("status"), "failed")
    stored_by = pc.if_else(failed, pa.scalar(None, pa.string()), runs)
    return pa.table([*segment.entries.columns, runs, stored_by], schema=LEDGER_SCHEMA)


def _last_per_uri(rows: pa.Table) -> pa.Table:
    numbered = rows.select(["uri", "stored_by"]).append_column("row", pa.array(np.arange(rows.num_rows)))
    last = numbered.group_by("uri", use_threads=False).aggregate([("row", "max"), ("stored_by", "last")])
    taken = rows.drop_columns(["stored_by"]).take(last.column("row_max"))
    return taken.append_column(LEDGER_SCHEMA.field("stored_by"), last.column("stored_by_last")).combine_chunks()


def _parquet(entries: pa.Table, header: Mapping[str, Any]) -> bytes:
    sink = pa.BufferOutputStream()
    table = entries.replace_schema_metadata({_HEADER: json.dumps(header).encode()})
    # Most segments hold a few artifacts, and plain pages are read three times as fast.
    is_large = entries.num_rows > PLAIN_ROWS
    compression = "zstd" if is_large else "none"
    pq.write_table(table, sink, compression=compression, use_dictionary=is_large, write_statistics=False)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _read(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    data = path.read_bytes()
    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
        header: dict[str, Any] = json.loads(table.schema.metadata[_HEADER])
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(path, f"not a ledger file: {one_line(error)}") from error
    return table.replace_schema_metadata(None), header


def _damaged(path: Path, message: str) -> LakeError:
    hint = "restore the file from a backup of the workspace's `meta` directory"
    return LakeError(message, code="lake.damaged-ledger", where=str(path), hint=hint)


def _with_tuples(header: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in header.items()}

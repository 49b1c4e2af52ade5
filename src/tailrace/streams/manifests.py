"""Batch manifests: what came of a run of segments. A manifest on disk means that they are never decoded again."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pyarrow as pa

from tailrace.core.errors import ConfigError
from tailrace.lake.steps import reached
from tailrace.streams import segments
from tailrace.streams.segments import replace, sync_directory
from tailrace.streams.shape import PERIOD

MANIFESTS, RUNS, QUARANTINE, STAGING = "manifests", "runs", "quarantine", "staging"
_FOLDED = "folded.json"
_SPOOL = "spool"
"Names the spool whose segments were taken."
_BATCH = 65_536


class Range(msgspec.Struct, frozen=True):
    """Rows of a run that belong into one file."""

    workspace: int
    period: int
    start: int
    rows: int


class Run(msgspec.Struct, frozen=True):
    """Sorted rows of one kind, of all tenants and periods."""

    kind: str
    file: str
    ranges: tuple[Range, ...]


class Manifest(msgspec.Struct, frozen=True):
    """Segments from `first` to `last` are these runs."""

    first: int
    last: int
    runs: tuple[Run, ...]
    counts: dict[str, int]
    refused: tuple[str, ...] = ()
    "Files of what could not be stored: among the runs until the manifest is folded, then in the quarantine."
    replayed: tuple[str, ...] = ()
    "Files of the quarantine whose records are in here: they go when the manifest is folded."


class Folded(msgspec.Struct, frozen=True):
    """How far everything is in its files, and what all manifests so far have counted."""

    through: int = 0
    counts: dict[str, int] = {}


def make_state(state: Path) -> None:
    for name in (MANIFESTS, RUNS, QUARANTINE, STAGING):
        (state / name).mkdir(parents=True, exist_ok=True)


def bind(state: Path, spool: Path, last: int, sink: str) -> None:
    """A sink knows segments by their numbers, which mean something in one spool only: it says so where they do not.

    Otherwise segments that nobody has read would be taken for stored ones, and deleted.
    """
    identity = segments.identity_of(spool)
    try:
        known = (state / _SPOOL).read_text()
    except FileNotFoundError:
        known = ""
    if known == identity:
        return
    lost = [number for number in segments.numbers(spool, segments.CLOSED) if number <= last] if known else []
    if lost:
        message = f"sink {sink} was filled from another spool, behind whose numbers those of this one lie"
        hint = f"give the sink another path, or move {len(lost)} segments away"
        raise ConfigError(message, code="serve.other-spool", where=str(spool), hint=hint)
    replace(state / _SPOOL, identity.encode())


def write_run(state: Path, kind: str, table: pa.Table, first: int) -> Run:
    """The run is on disk when this returns, and means nothing until a manifest names it."""
    name = f"{first:016d}-{uuid.uuid4().hex}.{kind}"
    ranges = tuple(_ranges(table))
    rows = table.drop_columns([PERIOD])
    with open(state / RUNS / name, "wb") as file:
        with pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=_BATCH)
        file.flush()
        os.fsync(file.fileno())
    reached("run-written")
    return Run(kind, name, ranges)


def _ranges(table: pa.Table) -> Iterator[Range]:
    """Rows are sorted by workspace and period: each pair is one range."""
    start = 0
    pair = ["workspace_id", PERIOD]
    counted = table.select(pair).group_by(pair, use_threads=False).aggregate([([], "count_all")])
    for row in counted.sort_by([(name, "ascending") for name in pair]).to_pylist():
        yield Range(row["workspace_id"], row[PERIOD], start, row["count_all"])
        start += row["count_all"]


def read_range(state: Path, run: Run, part: Range) -> pa.Table:
    """The rows of one file in a run."""
    return read_run(state, run).slice(part.start, part.rows)


def read_run(state: Path, run: Run) -> pa.Table:
    """All rows of a run, mapped: they stay readable when its file is deleted."""
    with pa.memory_map(str(state / RUNS / run.file)) as source:
        return pa.ipc.open_file(source).read_all()


def write_manifest(state: Path, manifest: Manifest) -> None:
    """The commit point: from here on the segments may go."""
    name = f"{manifest.first:016d}-{manifest.last:016d}.json"
    sync_directory(state / RUNS)
    replace(state / MANIFESTS / name, msgspec.json.encode(manifest), "manifest-staged")
    reached("manifest-named")


def read_folded(state: Path) -> Folded:
    try:
        return msgspec.json.decode((state / _FOLDED).read_bytes(), type=Folded)
    except FileNotFoundError:
        return Folded()


def write_folded(state: Path, folded: Folded) -> None:
    replace(state / _FOLDED, msgspec.json.encode(folded), "fold-staged")


def read_manifests(state: Path) -> Iterator[Manifest]:
    """Those on disk, in order, for somebody who only looks: any may be deleted meanwhile."""
    try:
        names = sorted(name for name in os.listdir(state / MANIFESTS) if name.endswith(".json"))
    except FileNotFoundError:
        return
    for name in names:
        with suppress(FileNotFoundError):
            yield msgspec.json.decode((state / MANIFESTS / name).read_bytes(), type=Manifest)


def open_manifests(state: Path) -> list[Manifest]:
    """Manifests that are not folded, in order; those that are, and runs of none, are removed."""
    folded = read_folded(state)
    # Whoever wrote one may have died, or failed, before its name was on disk; behind this its segments may go.
    sync_directory(state / MANIFESTS)
    found = []
    for path in sorted((state / MANIFESTS).iterdir()):
        if path.suffix != ".json":
            path.unlink()
            continue
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
        if manifest.last <= folded.through:
            _clear(state, manifest)
        else:
            found.append(manifest)
    named = {run.file for manifest in found for run in manifest.runs}
    named.update(name for manifest in found for name in manifest.refused)
    for path in (state / RUNS).iterdir():
        if path.name not in named:
            path.unlink()
    for path in (state / STAGING).iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return found


def _clear(state: Path, manifest: Manifest) -> None:
    """What was refused moves to the quarantine, the rest goes; again and again with the same result."""
    for name in manifest.refused:
        if (state / RUNS / name).exists():
            os.rename(state / RUNS / name, state / QUARANTINE / name)
    for name in manifest.replayed:
        (state / QUARANTINE / name).unlink(missing_ok=True)
    if manifest.refused:
        sync_directory(state / QUARANTINE)
    for run in manifest.runs:
        (state / RUNS / run.file).unlink(missing_ok=True)
    (state / MANIFESTS / f"{manifest.first:016d}-{manifest.last:016d}.json").unlink(missing_ok=True)


def fold(state: Path, manifests: list[Manifest]) -> None:
    """All their rows are in files: first the mark, then their runs go, then they themselves."""
    folded = read_folded(state)
    counts = dict(folded.counts)
    for manifest in manifests:
        for name, number in manifest.counts.items():
            counts[name] = counts.get(name, 0) + number
    write_folded(state, Folded(manifests[-1].last, counts))
    reached("fold-marked")
    for manifest in manifests:
        _clear(state, manifest)

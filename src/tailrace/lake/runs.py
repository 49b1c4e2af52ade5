"""Runs and what they leave behind. A manifest is written before any data file, so that all can be found."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from tailrace.core.errors import LakeError
from tailrace.lake.paths import Lake, partition_path
from tailrace.lake.place import Place

LATE_WRITERS = 600
"Seconds for which tasks of a dead run may still be writing; its manifest is kept that long."
_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """A run that may have files which no commit names."""

    run: str
    sequence: int
    "The last sequence number before the run's first."
    pid: int
    host: str
    since: float
    swept: float | None = None
    "When another run first cleared its files away."
    lost: bool = False
    "Others are about to do that: whoever comes back from a long sleep must not commit any more."


def new_run_id() -> str:
    """Sorts by time; letters and digits only, because file names begin with it."""
    return f"{datetime.now(UTC):%Y%m%d%H%M%S%f}{secrets.token_hex(5)}"


def check_run_id(run: str) -> None:
    """Refuse an id that could be the beginning of another run's file names."""
    if not run.isalnum():
        raise LakeError(f"bad run id '{run}'", code="lake.bad-run-id", hint="use `new_run_id()`")


def new_manifest(run: str, sequence: int) -> Manifest:
    return Manifest(run, sequence, os.getpid(), socket.gethostname(), datetime.now(UTC).timestamp())


def write_manifest(directory: Place, manifest: Manifest) -> None:
    directory.put(_name(manifest.run), msgspec.json.encode(manifest), manifest.run)


def remove_manifest(directory: Place, run: str) -> None:
    directory.delete([_name(run)])


def is_announced(directory: Place, run: str) -> bool:
    """Do others still count on it?"""
    return any(manifest.run == run and not manifest.lost for manifest in manifests(directory))


def manifests(directory: Place) -> list[Manifest]:
    """All runs that have not cleaned up after themselves, oldest first."""
    return sorted((manifest for _, manifest, _ in _found(directory)), key=lambda m: m.since)


def damaged_manifests(directory: Place) -> list[str]:
    """Addresses of manifests that cannot be read."""
    return [directory.address(name) for name, _, is_damaged in _found(directory) if is_damaged]


def _found(directory: Place) -> Iterator[tuple[str, Manifest, bool]]:
    """Files, what each says, and whether that had to be made up."""
    for name in directory.names():
        run = name.removesuffix(_SUFFIX)
        # Others cannot be of a run: files might be taken for theirs that begin with the id of another.
        if run == name or not run.isalnum():
            continue
        # Whoever only looks holds no lock: a run may end between the listing and here.
        with suppress(FileNotFoundError):
            manifest = _decoded(directory.read(name))
            is_damaged = manifest is None or manifest.run != run
            yield name, _dead(run) if manifest is None or is_damaged else manifest, is_damaged


def _decoded(data: bytes) -> Manifest | None:
    try:
        return msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _dead(run: str) -> Manifest:
    """What holds of a run whose manifest cannot be read.

    It was written before the run's first file, whose name begins with the same id, so its files are found by name. All
    segments have to be asked which of them were committed. Nobody knows whether it was given up: it may not commit.
    """
    return Manifest(run, 0, 0, "", 0, lost=True)


def is_noted(directory: Place, run: str) -> bool:
    """Is the run's manifest there, whatever it says?"""
    try:
        directory.size(_name(run))
    except FileNotFoundError:
        return False
    return True


def _name(run: str) -> str:
    return f"{run}{_SUFFIX}"


def files_of_run(lake: Lake, table: str, partition: str, run: str, *, everywhere: bool = True) -> Iterator[str]:
    """Data files of a run, whether a commit names them or not, relative to the table's root; in tiers only if asked."""
    beginning = f"/{run}-"
    root = lake.table_root(table) if everywhere else lake.table_home(table)
    for path in root.walk(partition_path(partition)):
        # Only names of files: a directory has `=` in its name.
        if path.startswith(beginning, path.rindex("/")):
            yield path


def quarantine_of_run(lake: Lake, table: str, partition: str, run: str) -> Iterator[str]:
    """Quarantine files of a run, by name."""
    beginning = f"{run}-"
    for name in lake.meta("quarantine", table, partition).names(beginning):
        if not name.startswith(beginning):
            return
        yield name

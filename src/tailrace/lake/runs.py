"""Runs and what they leave behind. A manifest is written before any data file, so that all can be found."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tailrace.core.errors import LakeError
from tailrace.lake.objects import put
from tailrace.lake.paths import Lake, partition_path

LATE_WRITERS = 600
"Seconds for which tasks of a dead run may still be writing; its manifest is kept that long."


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


def new_run_id() -> str:
    """Sorts by time; letters and digits only, because file names begin with it."""
    return f"{datetime.now(UTC):%Y%m%d%H%M%S%f}{secrets.token_hex(5)}"


def check_run_id(run: str) -> None:
    """Refuse an id that could be the beginning of another run's file names."""
    if not run.isalnum():
        raise LakeError(f"bad run id '{run}'", code="lake.bad-run-id", hint="use `new_run_id()`")


def new_manifest(run: str, sequence: int) -> Manifest:
    return Manifest(run, sequence, os.getpid(), socket.gethostname(), datetime.now(UTC).timestamp())


def manifest_path(directory: Path, run: str) -> Path:
    return directory / f"{run}.json"


def write_manifest(directory: Path, manifest: Manifest) -> None:
    put(manifest_path(directory, manifest.run), msgspec.json.encode(manifest), manifest.run)


def manifests(directory: Path) -> list[Manifest]:
    """All runs that have not cleaned up after themselves, oldest first."""
    found = [msgspec.json.decode(p.read_bytes(), type=Manifest) for p in directory.glob("*.json")]
    return sorted(found, key=lambda m: m.since)


def files_of_run(lake: Lake, table: str, partition: str, run: str) -> Iterator[str]:
    """Data files of a run on disk, relative to the table's root."""
    root = lake.table_root(table)
    for directory, _, names in os.walk(root / partition_path(partition)):
        for name in names:
            if name.startswith(f"{run}-"):
                yield os.path.relpath(os.path.join(directory, name), root)


def quarantine_of_run(lake: Lake, table: str, partition: str, run: str) -> Iterator[str]:
    """Quarantine files of a run, by name."""
    for path in lake.meta("quarantine", table, partition).glob(f"{run}-*"):
        yield path.name

"""The newest version of a large table, kept in the cache directory: its log is not read again until the next commit.

To read the log of a table of some thousand files takes a third of a second, most of it to unpack statistics. What is
kept is found by the newest entry of the log, which is never changed, and mapped into memory.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

from tailrace.core.directories import cache_directory
from tailrace.lake.damage import LOG
from tailrace.lake.paths import Lake
from tailrace.lake.place import Place
from tailrace.lake.snapshot import Snapshot, snapshot

KEEP_FROM = 8
"Files: what reads the log takes as long to load as the log of a thousand files to read."
UNUSED = 30 * 24 * 3600.0
"Seconds after which something that was kept is thrown away."
KINDS = ("snapshots", "footers")
"What is kept of a table."
_ENTRY = re.compile(r"\d{20}\.json")
_FORM = 1
"Raised when what is kept of a version changes, so that nothing is read which another release wrote."
_MARK, _VERSION, _SCHEMA = b"tailrace.mark", b"tailrace.version", b"tailrace.schema"


def kept_snapshot(lake: Lake, table: str) -> Snapshot:
    """The latest version of a table."""
    root = lake.table_root(table)
    if not root.is_local:
        return snapshot(lake, table)
    place = place_of(root, "snapshots")
    newest = _newest(root)
    found = None if newest is None else _load(place, newest, table, root)
    if found is not None:
        return found
    seen = snapshot(lake, table)
    mark = _mark(root, f"{seen.version:020}.json")
    if mark is not None and seen.files.num_rows >= KEEP_FROM:
        told = {_MARK: mark, _VERSION: str(seen.version).encode(), _SCHEMA: seen.schema.serialize().to_pybytes()}
        keep(place, seen.files.replace_schema_metadata(told))
    return seen


def _load(place: Path, mark: bytes, table: str, root: Place) -> Snapshot | None:
    with suppress(OSError, pa.ArrowInvalid, KeyError):
        files = pa.ipc.open_file(pa.memory_map(str(place))).read_all()
        told = files.schema.metadata or {}
        if told[_MARK] == mark:
            schema = pa.ipc.read_schema(pa.py_buffer(told[_SCHEMA]))
            return Snapshot(table, root, int(told[_VERSION]), schema, files.replace_schema_metadata(None))
    return None


def _newest(root: Place) -> bytes | None:
    try:
        names = os.listdir(root.address(LOG))
    except OSError:
        return None
    return _mark(root, max(filter(_ENTRY.fullmatch, names), default=""))


def _mark(root: Place, name: str) -> bytes | None:
    """Of one entry of the log, as no other table at the same place would have it; None where there is no such entry."""
    if not name:
        return None
    try:
        status = os.stat(root.address(f"{LOG}/{name}"))
    except OSError:
        return None
    return f"{_FORM} {name} {status.st_size} {status.st_mtime_ns} {status.st_ino}".encode()


# What is kept of tables


def place_of(root: Place, kind: str) -> Path:
    """One file a table, wherever the lake lies."""
    return cache_directory() / kind / f"{sha256(root.uri.encode()).hexdigest()[:32]}.arrow"


def forget_kept(root: Place) -> None:
    """Values of rows that are deleted for good may be among what is kept: statistics, ends of files."""
    for kind in KINDS:
        place_of(root, kind).unlink(missing_ok=True)


def keep(place: Path, table: pa.Table) -> None:
    """For the next process; where the directory takes nothing, that one looks for itself."""
    with suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _forget_unused(place.parent)
        # A name of its own: another thread may be keeping the same.
        staged = place.with_name(f"{place.name}.{os.urandom(8).hex()}.tmp")
        try:
            with pa.OSFile(str(staged), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
                writer.write_table(table)
            os.replace(staged, place)
        finally:
            staged.unlink(missing_ok=True)


def _forget_unused(directory: Path) -> None:
    limit = time.time() - UNUSED
    for entry in os.scandir(directory):
        with suppress(FileNotFoundError):
            if entry.stat().st_mtime < limit:
                os.unlink(entry.path)

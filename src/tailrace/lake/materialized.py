"""Snapshots of schemas: whole files of the lake, kept under names of their own until the schema is refreshed.

    <home>/snapshots/<workspace>/<schema>/snapshot.json          what holds: a run, and the tables it found
    <home>/snapshots/<workspace>/<schema>/<run>/<table>.arrow    files and columns of each table then
    <home>/snapshots/<workspace>/<schema>/tp_table=<table>/…     the files

Replacing `snapshot.json` is the only step that changes what is read. Files are links where the lake is on the same
disk, else copies; either way they stay when the lake deletes its own.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core.errors import LakeError, one_line
from tailrace.lake.lock import local_lock
from tailrace.lake.paths import Lake, decode_value, encode_value, partition_path
from tailrace.lake.place import STAGED, LocalPlace
from tailrace.lake.runs import new_run_id
from tailrace.lake.snapshot import Snapshot
from tailrace.lake.steps import reached
from tailrace.lake.versions import vacuumed

STEPS = ("snapshot-staged", "snapshot-kept", "snapshot-listed", "object-staged", "snapshot-published", "snapshot-swept")
"Of a refresh, at which a fault test can kill it."
_POINTER = "snapshot.json"
_LOCK = "lock"
_COLUMNS = b"tailrace.columns"
Told = Callable[[int], None]
"Is told the bytes of each file that has been kept."


@dataclass(frozen=True, slots=True)
class Kept:
    """One table of a snapshot."""

    table: str
    version: int
    rows: int
    files: int
    size: int


@dataclass(frozen=True, slots=True)
class Refreshed:
    """A schema as it was when it was refreshed."""

    run: str
    at: datetime
    "UTC, without zone."
    tables: tuple[Kept, ...]
    before: str | None = None
    "The run that held before: somebody may still read its files."

    @property
    def rows(self) -> int:
        return sum(kept.rows for kept in self.tables)

    @property
    def size(self) -> int:
        return sum(kept.size for kept in self.tables)


def refreshed(lake: Lake, schema: str) -> Refreshed | None:
    """What holds of a schema; None if it was never refreshed."""
    place = _place(lake, schema)
    try:
        return msgspec.json.decode(place.read(_POINTER), type=Refreshed)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise _damaged(place.address(_POINTER), error) from None


def kept_table(lake: Lake, schema: str, run: str, kept: Kept) -> Snapshot:
    """One table as that run found it."""
    place = _place(lake, schema)
    name = _listing(run, kept.table)
    try:
        files = pa.ipc.open_file(place.read(name)).read_all()
        columns = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(files.schema.metadata[_COLUMNS])))
    except (FileNotFoundError, pa.ArrowException, KeyError, TypeError) as error:
        raise _damaged(place.address(name), error) from None
    return Snapshot(kept.table, place / _folder(kept.table), kept.version, columns, files)


def schemas_with(lake: Lake, table: str, partition: str) -> list[str]:
    """Names of schemas whose snapshots keep files of a partition, in small letters."""
    root, directory = _root(lake), f"/{partition_path(partition)}/"
    kept = ((name, (root / name / _folder(table)).walk()) for name in root.folders())
    # Files of tiers lie deeper, below the tier's own name.
    return [decode_value(name) for name, files in kept if any(directory in f"/{file}" for file in files)]


def _damaged(where: str, error: Exception) -> LakeError:
    message = f"the snapshot cannot be read: {one_line(error)}"
    hint = "`tailrace schema refresh` writes it anew"
    return LakeError(message, code="lake.damaged-snapshot", where=where, hint=hint)


def refresh(
    lake: Lake, schema: str, tables: Sequence[Snapshot], command: str, told: Told = lambda _: None
) -> Refreshed:
    """Keep these files of these tables, all of them or none; what held before holds until then."""
    place = _place(lake, schema)
    with local_lock(place.path / _LOCK, f"schema {schema}", command):
        before = _or_none(lake, schema)
        now = Refreshed(
            new_run_id(),
            datetime.now(UTC).replace(tzinfo=None, microsecond=0),
            tuple(map(_kept, tables)),
            before.run if before else None,
        )
        for table in tables:
            _keep(place, table, now.run, told)
        reached("snapshot-listed")
        place.put(_POINTER, msgspec.json.encode(now), now.run)
        reached("snapshot-published")
        _sweep(lake, schema, now, before)
        reached("snapshot-swept")
    return now


def _or_none(lake: Lake, schema: str) -> Refreshed | None:
    with suppress(LakeError):
        return refreshed(lake, schema)
    return None


def _kept(table: Snapshot) -> Kept:
    rows, size = (pc.sum(table.files.column(name)).as_py() or 0 for name in ("rows", "size"))
    return Kept(table.table, table.version, rows, table.files.num_rows, size)


def _keep(place: LocalPlace, table: Snapshot, run: str, told: Told) -> None:
    folder = place / _folder(table.table)
    names, sizes = (table.files.column(name).to_pylist() for name in ("path", "size"))
    kept = [_kept_name(name) for name in names]
    for name, own, size in zip(names, kept, sizes, strict=True):
        # A file's name is never given to another one: what is there is the same.
        with suppress(FileNotFoundError):
            if folder.size(own) == size:
                told(size)
                continue
        try:
            _bring(table, name, folder.address(own), run)
        except FileNotFoundError:
            raise vacuumed(table.root.address(name)) from None
        reached("snapshot-kept")
        told(size)
    columns = {_COLUMNS: base64.b64encode(table.schema.serialize().to_pybytes())}
    paths = pa.array(kept, pa.string())
    files = table.files.set_column(table.files.schema.get_field_index("path"), "path", paths)
    listed = files.replace_schema_metadata(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, listed.schema) as writer:
        writer.write_table(listed)
    place.put(_listing(run, table.table), sink.getvalue().to_pybytes(), run)


def _kept_name(path: str) -> str:
    """Of a file that rests in an object store: its address as a path."""
    return path.replace("://", "/")


def _bring(table: Snapshot, name: str, path: str, run: str) -> None:
    """A file of the lake under a name of its own, whole or not at all."""
    staged = f"{path}.{run}{STAGED}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        if not table.root.has_near(name) or not _linked(table.root.address(name), staged):
            table.root.fetch(name, staged)
        reached("snapshot-staged")
        os.replace(staged, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(staged)
        raise


def _linked(path: str, other: str) -> bool:
    """False where the disk is another one, or takes no links."""
    try:
        os.link(path, other)
    except FileNotFoundError:
        raise
    except OSError:
        return False
    return True


def _sweep(lake: Lake, schema: str, now: Refreshed, before: Refreshed | None) -> None:
    """Deletes what neither of the runs holds, and what those that died have left."""
    place = _place(lake, schema)
    held = {_POINTER, _LOCK} | _names(lake, schema, now)
    with suppress(LakeError):  # of a listing that is damaged nobody can read the files
        held |= _names(lake, schema, before) if before else set()
    gone = [name for name in place.walk() if name not in held]
    place.delete(gone)
    for directory in {os.path.dirname(name) for name in gone}:
        with suppress(OSError):  # not empty
            os.removedirs(place.address(directory))


def _names(lake: Lake, schema: str, run: Refreshed) -> set[str]:
    """Every file of a run, its listings included."""
    found: set[str] = set()
    for kept in run.tables:
        files = kept_table(lake, schema, run.run, kept).files
        found.update(f"{_folder(kept.table)}/{name}" for name in files.column("path").to_pylist())
        found.add(_listing(run.run, kept.table))
    return found


def _place(lake: Lake, schema: str) -> LocalPlace:
    """On this machine, also where the lake is not: SQL does not tell upper case from lower."""
    return _root(lake) / encode_value(schema.lower())


def _root(lake: Lake) -> LocalPlace:
    return LocalPlace(f"{lake.home}/snapshots/{encode_value(lake.workspace)}")


def _folder(table: str) -> str:
    return f"tp_table={encode_value(table)}"


def _listing(run: str, table: str) -> str:
    return f"{run}/{encode_value(table)}.arrow"

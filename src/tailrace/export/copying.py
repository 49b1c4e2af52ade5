"""Data files from the lake to the target: bytes as they are, counted and looked at before they get their name."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.core.errors import LakeError, one_line
from tailrace.export.scope import Held
from tailrace.lake.damage import not_mounted
from tailrace.lake.steps import reached

if TYPE_CHECKING:
    from tailrace.lake.place import Place

THREADS = 4
_BLOCK = 8 << 20
Told = Callable[[int], None]
"Bytes that have been copied since the last time."


def copy_all(root: Place, files: Mapping[str, Held], into: Path, staging: Path, told: Told) -> None:
    """All of them, by name below `into`; whatever was copied by a run that did not get to its end is used."""
    staging.mkdir(parents=True, exist_ok=True)
    staged = {name: staging / f"{hashlib.blake2b(name.encode(), digest_size=16).hexdigest()}.part" for name in files}
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in pool.map(lambda name: _stage(root, files[name], staged[name], told), files):
            reached("export-staged")
    for name in files:
        place = into / name
        place.parent.mkdir(parents=True, exist_ok=True)
        staged[name].replace(place)
        reached("export-placed")


def _stage(root: Place, file: Held, draft: Path, told: Told) -> None:
    if draft.exists() and draft.stat().st_size == file.size and _rows(draft) == file.rows:
        told(file.size)
        return
    unnamed = draft.with_suffix(f".{os.getpid()}")
    with _opened(root, file.name) as source, unnamed.open("wb") as copy:
        for block in iter(partial(source.read, _BLOCK), b""):
            copy.write(block)
            told(len(block))
    size, rows = unnamed.stat().st_size, _rows(unnamed)
    if size != file.size or rows != file.rows:
        unnamed.unlink()
        held = f"{size:,} bytes and {'no readable' if rows is None else f'{rows:,}'} rows"
        raise _damaged(root, file.name, f"it has {held}, the log says {file.size:,} and {file.rows:,}")
    unnamed.replace(draft)


def _opened(root: Place, name: str) -> pa.NativeFile:
    try:
        return root.open(name)
    except FileNotFoundError:
        raise not_mounted(root, [name]) or _damaged(root, name, "the file is missing") from None


def _damaged(root: Place, name: str, why: str) -> LakeError:
    hint = "restore it from a backup, or collect its day again"
    return LakeError(why, code="lake.damaged-file", where=root.address(name), hint=hint)


def _rows(path: Path) -> int | None:
    """As its footer says; None where it cannot be read."""
    try:
        rows: int = pq.read_metadata(path).num_rows
        return rows
    except (OSError, pa.ArrowException):
        return None


def check_room(directory: Path, needed: int) -> None:
    """Better said before the first byte than after the last that fits."""
    existing = next(folder for folder in (directory, *directory.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    if needed > free:
        raise LakeError(
            f"{needed:,} bytes are to be copied, and {free:,} are free",
            code="lake.io",
            where=str(directory),
            hint="export fewer days, or to another disk",
        )


def copy_error(error: OSError, directory: Path) -> LakeError:
    """What the system said."""
    where = error.filename or str(directory)
    return LakeError(
        error.strerror or one_line(error), code="lake.io", where=where, hint="run the command again: it goes on"
    )

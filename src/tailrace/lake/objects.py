"""Small metadata objects: written whole or not at all, and never over each other by accident."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from tailrace.lake.steps import reached

STAGED = ".tmp"


def put_if_absent(path: Path, data: bytes, owner: str) -> bool:
    """Create the object; False when it exists."""
    while True:
        staged = _stage(path, data, owner)
        reached("segment-staged")
        # A run that takes this one for dead may clear away what it staged: then stage it again.
        with suppress(FileNotFoundError):
            try:
                os.link(staged, path)
                return True
            except FileExistsError:
                return False
            finally:
                staged.unlink(missing_ok=True)


def put(path: Path, data: bytes, owner: str) -> None:
    """Create or replace the object in one step."""
    while True:
        with suppress(FileNotFoundError):
            staged = _stage(path, data, owner)
            reached("object-staged")
            os.replace(staged, path)
            return


def clear_staged(directory: Path) -> None:
    """Remove what writers that died had staged; the caller holds the partition's lock."""
    for staged in directory.glob(f"*{STAGED}"):
        staged.unlink(missing_ok=True)


def _stage(path: Path, data: bytes, owner: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_name(f"{path.name}.{owner}{STAGED}")
    staged.write_bytes(data)
    return staged

"""What is broken in a lake, said with the file that is broken and what to do about it."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from tailrace.core.errors import LakeError, one_line

_RESTORE = "restore the file from a backup; other tables are not affected"


@contextmanager
def reading_log(root: Path) -> Iterator[None]:
    """Errors of delta-rs, which come with a backtrace, become one line with the file's name."""
    from deltalake.exceptions import DeltaError

    try:
        yield
    except DeltaError as error:
        gist = one_line(error).split(": 0: ")[0].removeprefix("Kernel error: ")
        raise damaged_log(root, gist[:200]) from None


def damaged_log(root: Path, why: str) -> LakeError:
    """The error for a Delta log that cannot be read."""
    place = _first_bad_commit(root / "_delta_log") or root / "_delta_log"
    missing = "" if place.exists() else "; this file is missing"
    message = f"the table's Delta log cannot be read: {why}{missing}"
    return LakeError(message, code="lake.damaged-log", where=str(place), hint=_RESTORE)


@contextmanager
def reading_file(path: Path) -> Iterator[None]:
    """Errors of a Parquet file that is missing, cut off or another kind of file name that file."""
    try:
        yield
    except (pa.ArrowException, KeyError, OSError) as error:
        # Arrow's own complaints about the content have no number; a full disk has one.
        if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT):
            raise
        message = f"the file cannot be read: {one_line(error)}"
        raise LakeError(message, code="lake.damaged-file", where=str(path), hint=_RESTORE) from error


def _first_bad_commit(log: Path) -> Path | None:
    """The first commit that is missing, empty or no JSON; None when it is something else."""
    commits = sorted(p for p in log.glob("*.json") if p.stem.isdigit())
    # Commits before a checkpoint may have been cleaned away.
    first = 0 if not any(log.glob("*.checkpoint*.parquet")) or not commits else int(commits[0].stem)
    for number, path in enumerate(commits, first):
        if int(path.stem) != number:
            return log / f"{number:020d}.json"
        try:
            lines = path.read_bytes().splitlines()
            actions = [json.loads(line) for line in lines if line.strip()]
        except (OSError, ValueError):
            return path
        if not actions:
            return path
    return None

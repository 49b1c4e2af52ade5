"""What is broken in a lake, said with the file that is broken and what to do about it."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.core.errors import LakeError, one_line
from tailrace.core.written import NO_ROOM_IN_WORDS
from tailrace.lake.place import Place
from tailrace.lake.stored import LOG as LOG
from tailrace.lake.table_place import LINKS

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_OF_A_SERVER = re.compile(r"Generic (S3|GCS|MicrosoftAzure) error|error sending request|status code|HTTP status")
_DENIED = re.compile(r"Permission denied \(os error 13\)|Operation not permitted \(os error 1\)")
_OS_ERROR = re.compile(r"\(os error (\d+)\)")
_MAY_READ = "run as a user who may read it, or give it back to the one whose lake it is; other tables are not affected"
_RESTORE = "restore the file from a backup; other tables are not affected"
COLLECT_AGAIN = "restore the file from a backup, or collect its whole day again: `tailrace collect --overwrite`"
DAMAGED_FILE = "lake.damaged-file"
COMMIT = re.compile(r"\d{20}\.json")
CHECKPOINT = re.compile(r"\d{20}\.checkpoint\.(.*\.)?parquet")
_DIGITS = 20
_LEAST = len('{"commitInfo":{}}')
"Bytes of a commit: with fewer it says nothing."
_BATCH = 16_384
"Rows of a checkpoint that are in memory at a time."
_RECENT = 100
"Versions among which there is a checkpoint, as a rule."


@contextmanager
def reading_log(root: Place) -> Iterator[None]:
    """Errors of delta-rs, which come with a backtrace, become one line with the file's name."""
    from deltalake.exceptions import DeltaError

    try:
        yield
    except (DeltaError, OSError) as error:
        if not root.is_local and _OF_A_SERVER.search(str(error)):
            from tailrace.lake.object_place import refused

            raise refused(error, root.uri) from None
        if isinstance(error, FileNotFoundError):
            raise
        if isinstance(error, OSError):
            raise unreadable(error, (root / LOG).uri) from None
        gist = one_line(error).split(": 0: ")[0].removeprefix("Kernel error: ")
        raise damaged_log(root, gist[:200]) from None


@contextmanager
def writing_log(root: Place) -> Iterator[None]:
    """What the system refuses delta-rs tells in words, by many kinds of error: here it is one that has a number."""
    from deltalake.exceptions import CommitFailedError, DeltaError

    try:
        yield
    except CommitFailedError:
        raise
    except (DeltaError, OSError) as error:
        if not root.is_local and _OF_A_SERVER.search(str(error)):
            from tailrace.lake.object_place import refused

            raise refused(error, root.uri) from None
        if (found := _OS_ERROR.search(str(error))) is None:
            raise
        number = int(found[1])
        raise OSError(number, os.strerror(number), (root / LOG).uri) from None


def failed_commit(error: Exception, root: Place) -> LakeError:
    """With what is known of the reason."""
    if isinstance(error, LakeError):
        return LakeError(f"the commit failed: {error.message}", code=error.code, where=str(root), hint=error.hint)
    why = getattr(error, "strerror", None) or one_line(error)
    return LakeError(f"the commit failed: {why}", code="lake.io", where=str(root))


def unreadable(error: OSError, where: str) -> LakeError:
    """What the operating system refuses, whoever was told by it: delta-rs has it in words only."""
    is_denied = error.errno in (errno.EACCES, errno.EPERM) or _DENIED.search(str(error)) is not None
    code = "lake.denied" if is_denied else "lake.io"
    said = "Permission denied" if is_denied else error.strerror or one_line(error)
    return LakeError(said, code=code, where=where, hint=_MAY_READ if is_denied else None)


def version_of(name: str) -> int:
    """Of a file of a log."""
    return int(name[:_DIGITS])


def commit_name(version: int) -> str:
    """The file of a version in its log."""
    return f"{version:0{_DIGITS}d}.json"


def require_commits(root: Place, version: int) -> None:
    """Refuses a log with an empty commit: delta-rs takes one that a crash left so for one that did nothing.

    Looked at are the sizes of those since the last checkpoint: no others make up the version.
    """
    log = root / LOG
    begin, found = -1, {}
    # In a bucket a long log is many pages: the last one will do, unless checkpoints are rare.
    for first in (version - _RECENT, 0):
        if begin < 0 <= first:
            found = log.sizes_behind(f"{first:0{_DIGITS}d}")
            whole = (version_of(name) for name in found if CHECKPOINT.fullmatch(name))
            begin = max((number for number in whole if number <= version), default=-1)
    for name in sorted(found):
        if COMMIT.fullmatch(name) and begin <= version_of(name) <= version and found[name] < _LEAST:
            raise damaged_log(root, "the commit is empty", name)


def damaged_log(root: Place, why: str, name: str | None = None) -> LakeError:
    """The error for a Delta log that cannot be read; `name`: of the file in it, where it is known."""
    log = root / LOG
    name, is_missing = (name, False) if name else _first_bad_commit(log)
    # What delta-rs makes of a gap is a dump of its own records.
    why = f"the file of version {version_of(name)} is missing" if name and is_missing else why
    name = name or _bad_checkpoint(log)
    message = f"the table's Delta log cannot be read: {why}"
    where = log.address(name) if name else log.uri
    return LakeError(message, code="lake.damaged-log", where=where, hint=_RESTORE)


@contextmanager
def reading_file(place: Place, name: str) -> Iterator[pq.ParquetFile]:
    """A Parquet file; where it is missing, cut off or another kind of file the error names it."""
    import pyarrow.parquet as pq

    try:
        with place.open(name) as opened, pq.ParquetFile(opened, pre_buffer=not place.is_local) as file:
            yield file
    except (pa.ArrowException, KeyError, OSError) as error:
        # Arrow's own complaints about the content have no number; a full disk has one.
        if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT, errno.ENOTDIR):
            raise
        if (
            isinstance(error, FileNotFoundError | NotADirectoryError)
            and (why := not_mounted(place, [name])) is not None
        ):
            raise why from None
        message = f"the file cannot be read: {one_line(error)}"
        raise LakeError(message, code=DAMAGED_FILE, where=place.address(name), hint=COLLECT_AGAIN) from error


def engine_failure(error: Exception, read: Iterable[tuple[Place, Iterable[str]]], room: str) -> LakeError:
    """An engine's error over several files: it does not always name the one that is damaged, nor what to do.

    `room`: the directory where it keeps what does not fit into memory.
    """
    gist = one_line(error)
    if any(words in gist for words in NO_ROOM_IN_WORDS):
        hint = "make room there, or name a directory of another disk with TMPDIR"
        return LakeError(f"the rows cannot be read: {gist}", code="lake.io", where=room, hint=hint)
    if gist.startswith("Out of Memory Error"):
        hint = "no file is damaged; fewer days at once need less memory"
        return LakeError(f"the rows cannot be read: {gist}", code="lake.memory", hint=hint)
    for place, names in read:
        for name in names:
            if (flaw := _flaw_of(place, name)) is not None:
                return flaw
    hint = "`tailrace doctor --deep` reads every file"
    return LakeError(f"the rows cannot be read: {gist}", code=DAMAGED_FILE, hint=hint)


def _flaw_of(place: Place, name: str) -> LakeError | None:
    """Of a file, once every page of it has been read."""
    try:
        with reading_file(place, name) as file:
            for _ in file.iter_batches(_BATCH, use_threads=False):
                pass
    except LakeError as error:
        return error
    return None


def not_mounted(place: Place, names: Iterable[str]) -> LakeError | None:
    """Why files of a table are missing, if it is the disk of a tier: to collect their days again would be no remedy.

    Where the sources do not have them any more it would take them away.
    """
    links = sorted({"/".join(name.split("/")[:2]) for name in names if name.startswith(f"{LINKS}/")})
    gone = [link for link in (links if place.is_local else ()) if not os.path.isdir(place.address(link))]
    if not gone:
        return None
    name = place.address(gone[0])
    if not os.path.lexists(name):
        message = "the link to a tier is missing, and files of the table lie there"
        hint = "`tailrace maintain` makes it again for every tier in the configuration"
        return LakeError(message, code="lake.tier-not-mounted", where=name, hint=hint)
    message = "the tier is not mounted, and files of the table lie there"
    hint = "mount it; if it was emptied on purpose, make the directory"
    return LakeError(message, code="lake.tier-not-mounted", where=os.path.realpath(name), hint=hint)


def _bad_checkpoint(log: Place) -> str | None:
    """The last checkpoint, if it is that which cannot be read."""
    import pyarrow.parquet as pq

    name = max(filter(CHECKPOINT.fullmatch, log.names()), default=None)
    try:
        if name is not None:
            with log.open(name) as opened, pq.ParquetFile(opened) as file:
                for _ in file.iter_batches(_BATCH, use_threads=False):
                    pass
    except (pa.ArrowException, OSError):
        return name
    return None


def _first_bad_commit(log: Place) -> tuple[str | None, bool]:
    """The first commit that is missing, empty or no JSON, and whether it is missing; None: it is something else."""
    names = log.names()
    commits = [int(n.removesuffix(".json")) for n in names if n.removesuffix(".json").isdigit()]
    # Commits before a checkpoint may have been cleaned away.
    has_checkpoint = any(".checkpoint" in name for name in names)
    for number, found in enumerate(commits, commits[0] if has_checkpoint and commits else 0):
        name = commit_name(number)
        if found != number:
            return name, True
        try:
            lines = log.read(name).splitlines()
            actions = [json.loads(line) for line in lines if line.strip()]
        except (OSError, ValueError):
            return name, False
        if not actions:
            return name, False
    return None, not log.exists()

"""Files of a lake in an object store, at hand: fetched whole, in parallel, and kept on disk up to a size.

A file's name says what is in it for ever, so nothing here goes stale. A process links what it uses into a directory of
its own: what others throw out of the cache meanwhile stays readable for it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from pathlib import Path

from tailrace.core.directories import cache_directory
from tailrace.core.errors import LakeError, one_line
from tailrace.lake.damage import COLLECT_AGAIN, DAMAGED_FILE
from tailrace.lake.place import Place

FETCHED_AT_ONCE = 16
_LOCK = ".lock"


class Cache:
    """One process's view of it.

    `announce` is told of what is about to be fetched, files and bytes; `proceed` is called after each, and may raise.
    """

    def __init__(
        self,
        limit: int,
        directory: Path | None = None,
        announce: Callable[[int, int], None] | None = None,
        proceed: Callable[[], None] = lambda: None,
    ) -> None:
        root = directory or cache_directory() / "lake"
        self._pool, self._sessions, self._limit, self._announce = root / "files", root / "sessions", limit, announce
        self._proceed = proceed
        self._own: Path | None = None

    def at_hand(self, place: Place, files: Sequence[tuple[str, int | None]]) -> list[str]:
        """Paths of files on local disk, readable for as long as this cache lives; of files the sizes may be known."""
        try:
            return self._at_hand(place, files)
        except OSError as error:
            hint = "make some space, or put the cache elsewhere: TAILRACE_CACHE_DIR"
            where = str(error.filename or self._pool)
            raise LakeError(error.strerror or one_line(error), code="lake.cache", where=where, hint=hint) from error

    def _at_hand(self, place: Place, files: Sequence[tuple[str, int | None]]) -> list[str]:
        own = self._session()
        targets = {name: own / _name_of(place, name) for name, _ in files}
        missing = [(name, size) for name, size in files if not self._has(targets[name])]
        if missing:
            if self._announce:
                self._announce(len(missing), sum(size or 0 for _, size in missing))
            self._fetch_all(place, [(name, size, targets[name]) for name, size in missing])
            self.trim()
        return [str(target) for target in targets.values()]

    def trim(self) -> None:
        """Throw out what was not used for longest, until what stays is no more than the limit."""
        with _held(self._pool / _LOCK) as is_held:
            if not is_held:
                return  # somebody else is at it
            self._forget_dead()
            found = [(entry.stat(), entry.path) for entry in os.scandir(self._pool) if entry.name != _LOCK]
            used = sum(status.st_size for status, _ in found)
            for status, path in sorted(found, key=lambda each: each[0].st_mtime_ns):
                if used <= self._limit:
                    return
                os.unlink(path)
                used -= status.st_size

    def clear(self) -> None:
        """Throw everything out; what processes use now goes with them."""
        if not self._pool.exists():
            return
        for entry in os.scandir(self._pool):
            with suppress(FileNotFoundError):
                if entry.name != _LOCK:
                    os.unlink(entry.path)

    def _session(self) -> Path:
        while self._own is None:
            self._pool.mkdir(parents=True, exist_ok=True)
            own = self._sessions / f"{os.getpid()}-{secrets.token_hex(4)}"
            own.mkdir(parents=True)
            handle = os.open(own / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if not own.exists():  # somebody took it for that of a process that was killed
                os.close(handle)
                continue
            weakref.finalize(self, _leave, own, handle)
            self._own = own
        return self._own

    def _has(self, target: Path) -> bool:
        kept = self._pool / target.name
        with suppress(FileNotFoundError):
            os.utime(kept)
        if target.exists():
            return True
        with suppress(FileNotFoundError):
            os.link(kept, target)
            return True
        return False

    def _fetch_all(self, place: Place, wanted: Sequence[tuple[str, int | None, Path]]) -> None:
        """After an error or an interrupt none is begun any more."""
        with ThreadPoolExecutor(min(FETCHED_AT_ONCE, len(wanted)), thread_name_prefix="fetch") as pool:
            try:
                for each in as_completed([pool.submit(self._fetch, place, *one) for one in wanted]):
                    each.result()
                    self._proceed()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _fetch(self, place: Place, name: str, size: int | None, target: Path) -> None:
        part = target.with_name(f"{target.name}.part")
        try:
            got = place.fetch(name, str(part))
        except FileNotFoundError as error:
            if error.errno:
                raise  # of this machine
            raise _damaged(place, name, "the file is missing") from None
        if size is not None and got != size:
            raise _damaged(place, name, f"it has {got:,} bytes, and {size:,} were written")
        os.replace(part, target)
        with suppress(FileExistsError):
            os.link(target, self._pool / target.name)

    def _forget_dead(self) -> None:
        """Directories of processes that were killed."""
        for entry in os.scandir(self._sessions):
            with suppress(FileNotFoundError), _held(Path(entry.path, _LOCK), create=False) as is_held:
                if is_held:
                    shutil.rmtree(entry.path, ignore_errors=True)


def _name_of(place: Place, name: str) -> str:
    digest = hashlib.blake2b(place.address(name).encode(), digest_size=12).hexdigest()
    return f"{digest}-{name.rpartition('/')[2]}"


def _leave(own: Path, handle: int) -> None:
    shutil.rmtree(own, ignore_errors=True)
    os.close(handle)


@contextmanager
def _held(path: Path, *, create: bool = True) -> Iterator[bool]:
    """Is the lock ours, for the length of the block?"""
    handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def _damaged(place: Place, name: str, message: str) -> LakeError:
    return LakeError(message, code=DAMAGED_FILE, where=place.address(name), hint=COLLECT_AGAIN)

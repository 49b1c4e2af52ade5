"""Walking directories: real files first, then what symbolic links lead to."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import quote_from_bytes

from tailrace.core import TimeRange
from tailrace.sources.base import GONE, SPECIAL, TRANSIENT, Unreadable, os_code, os_reason
from tailrace.sources.globs import Glob, States

_PARTIAL = ("~", ".swp", ".swx", ".swo", ".tmp", ".temp", ".part", ".partial", ".crdownload", ".filepart")
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """A regular file: how it was reached and what it really is."""

    path: str
    real: str
    below: str
    "The path below the base."
    status: os.stat_result


@dataclass(frozen=True, slots=True)
class Passed:
    """A file whose name says that it is no log: hidden, temporary, an editor's copy."""

    path: str


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    real: str
    below: str
    states: States

    def down(self, name: str, states: States, real: str | None = None) -> _Folder:
        below = f"{self.below}/{name}" if self.below else name
        return _Folder(_join(self.path, name), real or _join(self.real, name), below, states)


@dataclass(slots=True)
class Walk:
    """One walk below a base. `may_hold` tells by the path below the base if a directory is worth opening."""

    glob: Glob
    may_hold: Callable[[str], bool]
    days: Callable[[str], TimeRange]
    "Days of the artifacts in a directory."
    _links: deque[tuple[_Folder, str]] = field(default_factory=deque)
    _followed: set[str] = field(default_factory=set)

    def below(self, base: str) -> Iterator[Seen | Passed | Unreadable]:
        """Files in a stable order; a directory that cannot be opened, or has vanished, is reported."""
        yield from self._tree(_Folder(base, os.path.realpath(base), "", self.glob.start()))
        while self._links:
            folder, name = self._links.popleft()
            link = _join(folder.real, name)
            # Each link is followed once, so that links among directories cannot multiply without end.
            if link not in self._followed:
                self._followed.add(link)
                yield from self._follow(folder, name)

    def _tree(self, top: _Folder) -> Iterator[Seen | Passed | Unreadable]:
        stack = [top]
        while stack:
            folder = stack.pop()
            try:
                if is_kernels(os.stat(folder.path)):
                    yield special(folder.path, folder.real, os.stat(folder.path))
                    continue
                with os.scandir(folder.path) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                yield unreadable(folder.path, folder.real, error, hides=self.days(folder.below))
                continue
            inner: list[_Folder] = []
            for entry in entries:
                yield from self._entry(folder, entry, inner)
            stack.extend(reversed(inner))

    def _entry(
        self, folder: _Folder, entry: os.DirEntry[str], inner: list[_Folder]
    ) -> Iterator[Seen | Passed | Unreadable]:
        states = self.glob.step(folder.states, entry.name)
        if not states:
            if not self.glob.segments:
                yield Passed(entry.path)
            return
        try:
            if entry.is_symlink():
                self._links.append((folder, entry.name))
            elif entry.is_dir(follow_symlinks=False):
                down = folder.down(entry.name, states)
                if self.may_hold(down.below):
                    inner.append(down)
            elif self.glob.complete(states):
                yield from self._file(folder, entry.name, states, entry.stat(follow_symlinks=False))
        except OSError as error:
            yield self._lost(folder, entry.name, error)

    def _follow(self, folder: _Folder, name: str) -> Iterator[Seen | Passed | Unreadable]:
        states = self.glob.step(folder.states, name)
        path = _join(folder.path, name)
        try:
            status = os.stat(path)
            real = os.path.realpath(path, strict=True)
        except OSError as error:
            yield self._lost(folder, name, error, "symbolic link leads nowhere")
            return
        if not stat.S_ISDIR(status.st_mode):
            if self.glob.complete(states):
                yield from self._file(folder, name, states, status, real)
            return
        loops = _join(folder.real, "").startswith(_join(real, ""))
        down = folder.down(name, states, real)
        if not loops and self.may_hold(down.below):
            yield from self._tree(down)

    def _file(
        self, folder: _Folder, name: str, states: States, status: os.stat_result, real: str | None = None
    ) -> Iterator[Seen | Passed | Unreadable]:
        here = folder.down(name, states, real)
        if not stat.S_ISREG(status.st_mode) or is_kernels(status):
            yield special(here.path, here.real, status)
        elif self._is_partial(name):
            yield Passed(here.path)
        else:
            yield Seen(here.path, here.real, here.below, status)

    def _lost(self, folder: _Folder, name: str, error: OSError, when_gone: str = "") -> Unreadable:
        hides = self.days(folder.below) if os_code(error) in TRANSIENT else None
        return unreadable(_join(folder.path, name), _join(folder.real, name), error, when_gone, hides)

    def _is_partial(self, name: str) -> bool:
        if not name.endswith(_PARTIAL):
            return False
        spelled_out = self.glob.segments[-1] if self.glob.segments else ""
        return not any(name.endswith(end) and spelled_out.endswith(end) for end in _PARTIAL)


def file_uri(real: str) -> str:
    """`file://` and the percent-encoded path; `!` is encoded too, because it sets off members of archives."""
    return "file://" + quote_from_bytes(os.fsencode(real), safe="/=:+,@")


def shown(path: str) -> str:
    """The path as text that any engine can store: bytes that are not UTF-8 become U+FFFD."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "replace")


def unreadable(path: str, real: str, error: OSError, when_gone: str = "", hides: TimeRange | None = None) -> Unreadable:
    """What the operating system said about a path."""
    code = os_code(error)
    reason = when_gone if when_gone and code == GONE else os_reason(error)
    return Unreadable(shown(path), reason, file_uri(real), code, hides)


def is_kernels(status: os.stat_result) -> bool:
    """Does it lie in a file system that the kernel makes up?"""
    return status.st_dev in _made_up()


@cache
def _made_up() -> frozenset[int]:
    mounted = [path for path in ("/proc", "/sys", "/dev/mqueue") if os.path.ismount(path)]
    return frozenset(os.stat(path).st_dev for path in mounted)


def special(path: str, real: str, status: os.stat_result) -> Unreadable:
    """Pipes, sockets, devices and what the kernel makes up have no end and are not opened."""
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "not a regular file")
    kind = "made up by the kernel" if is_kernels(status) else kind
    return Unreadable(shown(path), f"is {kind}", file_uri(real), SPECIAL)


def _join(folder: str, name: str) -> str:
    return f"{folder}{name}" if folder.endswith("/") else f"{folder}/{name}"

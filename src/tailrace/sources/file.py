"""Source `file`: directories, single files and globs of this machine (or of a disk that all machines share).

A file is known by its real path: reached twice, by a symbolic link or by two entries of `paths`, it is
collected once. The layout is matched against the path below the directory given, below the part of a glob
before its first wildcard, and, for a file named singly, against as many of its last segments as fit.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO, ClassVar, cast
from urllib.parse import unquote_to_bytes

from tailrace.core import Artifact, ConfigError, SourceError, TimeRange
from tailrace.core.registry import unknown
from tailrace.sources.base import SPECIAL, Found, Given, Skipped, Unreadable, os_code, os_reason
from tailrace.sources.globs import split_glob
from tailrace.sources.layout import Layout, PathMatch, layout_given
from tailrace.sources.walk import Passed, Seen, Walk, file_uri, is_kernels, shown, special, unreadable

ARGS = ("paths", "file_layout", "patterns")
_UNSAID = PathMatch((), None, None, None)


@dataclass(frozen=True, slots=True)
class FileSource:
    """Files below `paths`."""

    kind: ClassVar[str] = "file"
    late: ClassVar[None] = None
    paths: tuple[str, ...]
    layout: Layout | None = None

    def discover(self, window: TimeRange) -> Iterator[Found]:
        listed: set[str] = set()
        skipped: dict[str, tuple[int, str]] = {}
        for found in self._files(window):
            if isinstance(found, Unreadable):
                yield found
            elif isinstance(found, Passed):
                _count(skipped, "name", found.path)
            elif found.real not in listed:
                match = self._match(found)
                if match is None:
                    _count(skipped, "layout", found.path)
                    continue
                listed.add(found.real)
                if match.meets(window):
                    yield _artifact(found, match)
        for reason, (count, example) in skipped.items():
            yield Skipped(reason, count, shown(example))

    def open(self, artifact: Artifact) -> BinaryIO:
        """The file's bytes, unbuffered: readers ask for large blocks."""
        path = _path_of(artifact.uri)
        try:
            # Without O_NONBLOCK a pipe that has taken the file's place would hang the task.
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise _failed(error, artifact.location) from error
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            os.close(handle)
            raise SourceError("is not a regular file any more", code=SPECIAL, where=artifact.location)
        return cast(BinaryIO, _Bytes(handle, artifact.location))

    def _files(self, window: TimeRange) -> Iterator[Seen | Passed | Unreadable]:
        may_hold = self.layout.directories(window).may_hold if self.layout else lambda _: True
        for path in self.paths:
            base, glob = split_glob(path)
            try:
                status = os.stat(base)
            except OSError as error:
                yield unreadable(base, os.path.realpath(base), error, hides=TimeRange())
                continue
            if stat.S_ISDIR(status.st_mode) or glob.segments:
                yield from Walk(glob, may_hold, lambda below: self._days(below, window)).below(base)
            elif stat.S_ISREG(status.st_mode) and not is_kernels(status):
                # Named singly: an odd name is no reason to pass it over.
                yield Seen(base, os.path.realpath(base), "", status)
            else:
                yield special(base, os.path.realpath(base), status)

    def _days(self, directory: str, window: TimeRange) -> TimeRange:
        return self.layout.days(directory, window) if self.layout and directory else TimeRange()

    def _match(self, file: Seen) -> PathMatch | None:
        if self.layout is None:
            return _UNSAID
        if file.below:
            return self.layout.match(file.below)
        segments = file.path.strip("/").split("/")
        tails = ("/".join(segments[i:]) for i in reversed(range(len(segments))))
        return next((match for tail in tails if (match := self.layout.match(tail))), None)


def make(given: Given) -> FileSource:
    """`paths` (a text or a list), `file_layout`, `patterns`."""
    args = given.args
    for name in args:
        if name not in ARGS:
            raise unknown("argument", name, ARGS)
    paths = args.get("paths")
    paths = (paths,) if isinstance(paths, str) else paths
    if not isinstance(paths, (list, tuple)) or not paths or not all(isinstance(p, str) and p for p in paths):
        raise ConfigError(
            "source 'file' needs `paths`, a list of texts",
            code="config.bad-argument",
            hint='paths = ["/var/log/nginx", "~/logs/**/*.gz"]',
        )
    return FileSource(tuple(paths), layout_given(args))


class _Bytes(io.FileIO):
    """A file whose read errors say where they happened."""

    def __init__(self, handle: int, location: str) -> None:
        super().__init__(handle, "rb")
        self._location = location

    def read(self, size: int | None = -1, /) -> bytes:
        try:
            return super().read(-1 if size is None else size) or b""
        except OSError as error:
            raise _failed(error, self._location) from error


def _failed(error: OSError, location: str) -> SourceError:
    return SourceError(f"cannot be read: {os_reason(error)}", code=os_code(error), where=location)


def _artifact(file: Seen, match: PathMatch) -> Artifact:
    return Artifact(
        uri=file_uri(file.real),
        size=file.status.st_size,
        version=version_of(file.status),
        source_type="file",
        location=shown(file.path),
        day=match.day,
        hour=match.hour,
        fields=tuple((name, shown(value)) for name, value in match.fields),
        modified=_moment(file.status.st_mtime),
        node=str(file.status.st_ino),
    )


def _path_of(uri: str) -> bytes:
    return unquote_to_bytes(uri.removeprefix("file://"))


def is_there(uri: str, node: str | None) -> bool:
    """Does the file of that number still lie there?"""
    try:
        return str(os.stat(_path_of(uri)).st_ino) == node
    except OSError:
        return False


def is_as_listed(artifact: Artifact) -> bool:
    """Does the file lie there as it was listed?"""
    try:
        status = os.stat(_path_of(artifact.uri))
    except OSError:
        return False
    return (str(status.st_ino), version_of(status)) == (artifact.node, artifact.version)


def version_of(status: os.stat_result) -> str:
    """Another one whenever a file was written to."""
    return f"{status.st_size}-{status.st_mtime_ns}"


def _moment(seconds: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None  # file systems take times that no calendar knows


def _count(skipped: dict[str, tuple[int, str]], reason: str, path: str) -> None:
    count, example = skipped.get(reason, (0, path))
    skipped[reason] = (count + 1, example)

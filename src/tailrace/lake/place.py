"""A directory, on local disk or in an object store. Who keeps rows or reads them need not know which.

A place is a plain value: it travels to Spark's tasks, is compared and hashed, and shows no secret. What is in it is
named relative to it, `a/b.parquet`. Nothing here imports a library before it is needed: neither the start of a
command nor a process that is about to fork may pay for it.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.lake.draft import Draft as Draft
from tailrace.lake.draft import LocalDraft
from tailrace.lake.refused_links import refused_link
from tailrace.lake.steps import reached

if TYPE_CHECKING:
    import pyarrow as pa

STAGED = ".tmp"


class Place(ABC):
    """One directory. Its `str` is its address, as people and delta-rs know it."""

    @property
    @abstractmethod
    def uri(self) -> str: ...

    @property
    @abstractmethod
    def is_local(self) -> bool:
        """Can any program of this machine open what is in it by its address?"""

    @property
    @abstractmethod
    def delta_uri(self) -> str:
        """Its address as delta-rs takes it."""

    @property
    @abstractmethod
    def storage_options(self) -> Mapping[str, str] | None:
        """What delta-rs needs to know to get there: call it where a table is opened, keep it nowhere."""

    @property
    @abstractmethod
    def renews_keys(self) -> bool:
        """Do those options hold for a while only?"""

    @abstractmethod
    def __truediv__(self, name: str) -> Place:
        """A directory in it."""

    def __str__(self) -> str:
        return self.uri

    @property
    def is_near(self) -> bool:
        """Can any program of this machine open all that may belong to it, be it moved elsewhere?"""
        return self.is_local

    def has_near(self, name: str) -> bool:
        """The same of one file."""
        return self.is_local

    def address(self, name: str) -> str:
        """Of something in it."""
        return f"{self.uri}/{name}"

    # What there is

    @abstractmethod
    def exists(self) -> bool:
        """Has anything been put into it? On disk it may have been taken out again."""

    @abstractmethod
    def names(self, after: str = "") -> list[str]:
        """Names of the files right in it, in order; those behind `after` only. None where there is no such place."""

    @abstractmethod
    def holds(self, suffix: str) -> bool:
        """Is there a file right in it whose name ends like that?"""

    @abstractmethod
    def folders(self) -> list[str]:
        """Names of the directories right in it, in order."""

    @abstractmethod
    def walk(self, below: str = "") -> Iterator[str]:
        """All files at any depth, or those below a directory in it, relative to the place itself."""

    @abstractmethod
    def size(self, name: str) -> int:
        """Bytes of a file; FileNotFoundError if it is not there."""

    @abstractmethod
    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        """Bytes of those of many files that are there."""

    @abstractmethod
    def sizes_behind(self, after: str) -> dict[str, int]:
        """Bytes of the files right in it whose names come behind `after`: one look, wherever it is."""

    # Small objects, and deleting

    @abstractmethod
    def read(self, name: str) -> bytes:
        """The whole of a small file; FileNotFoundError if it is not there."""

    @abstractmethod
    def put(self, name: str, data: bytes, owner: str) -> None:
        """Create or replace a file in one step."""

    @abstractmethod
    def put_if_absent(self, name: str, data: bytes, owner: str) -> bool:
        """Create a file in one step; False when it exists."""

    @abstractmethod
    def delete(self, names: Iterable[str]) -> None:
        """Delete files; those that are gone already do not matter."""

    @abstractmethod
    def clear_staged(self) -> None:
        """Remove what writers that died had begun to put right here; the caller is the only writer."""

    @abstractmethod
    def clear(self) -> None:
        """Delete all there is."""

    # Parquet

    @abstractmethod
    def open(self, name: str) -> pa.NativeFile:
        """A file to be read at any position; FileNotFoundError if it is not there."""

    @abstractmethod
    def fetch(self, name: str, target: str) -> int:
        """Copy a whole file to a path of this machine; returns its size. FileNotFoundError if it is not there."""

    @abstractmethod
    def create(self, name: str) -> Draft:
        """A new file, of a name that nobody else uses."""


@dataclass(frozen=True, slots=True)
class LocalPlace(Place):
    """A directory on disk; it is made when the first file is put into it."""

    directory: str

    @property
    def path(self) -> Path:
        return Path(self.directory)

    @property
    def uri(self) -> str:
        return self.directory

    @property
    def is_local(self) -> bool:
        return True

    @property
    def delta_uri(self) -> str:
        return self.directory

    @property
    def storage_options(self) -> None:
        return None

    @property
    def renews_keys(self) -> bool:
        return False

    def __fspath__(self) -> str:
        return self.directory

    def __truediv__(self, name: str) -> LocalPlace:
        return LocalPlace(f"{self.directory}/{name}")

    def exists(self) -> bool:
        return os.path.isdir(self.directory)

    def names(self, after: str = "") -> list[str]:
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self.directory) as entries:
            files = (entry.name for entry in entries if not entry.is_dir())
            return sorted(name for name in files if name > after and not name.endswith(STAGED))
        return []

    def holds(self, suffix: str) -> bool:
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self.directory) as entries:
            return any(entry.name.endswith(suffix) for entry in entries)
        return False

    def folders(self) -> list[str]:
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self.directory) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())
        return []

    def walk(self, below: str = "") -> Iterator[str]:
        start = len(self.directory) + 1
        for directory, _, names in os.walk(f"{self.directory}/{below}" if below else self.directory):
            inner = directory[start:]
            yield from (f"{inner}/{name}" for name in names) if inner else names

    def size(self, name: str) -> int:
        return os.stat(f"{self.directory}/{name}").st_size

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        # Each is looked at: beside them lies all that was ever deleted.
        found = {}
        for name in names:
            with suppress(FileNotFoundError, NotADirectoryError):
                found[name] = self.size(name)
        return found

    def sizes_behind(self, after: str) -> dict[str, int]:
        return self.sizes(self.names(after))

    def read(self, name: str) -> bytes:
        with open(f"{self.directory}/{name}", "rb") as file:
            return file.read()

    def put(self, name: str, data: bytes, owner: str) -> None:
        while True:
            with suppress(FileNotFoundError):
                staged = self._stage(name, data, owner, lasting=True)
                reached("object-staged")
                os.replace(staged, f"{self.directory}/{name}")
                return

    def put_if_absent(self, name: str, data: bytes, owner: str) -> bool:
        while True:
            staged = self._stage(name, data, owner)
            reached("segment-staged")
            # A run that takes this one for dead may clear away what it staged: then stage it again.
            with suppress(FileNotFoundError):
                try:
                    os.link(staged, f"{self.directory}/{name}")
                    return True
                except FileExistsError:
                    return False
                except OSError as error:
                    raise refused_link(error, self.address(name)) from None
                finally:
                    with suppress(FileNotFoundError):
                        os.unlink(staged)

    def _stage(self, name: str, data: bytes, owner: str, *, lasting: bool = False) -> str:
        staged = f"{self.directory}/{name}.{owner}{STAGED}"
        os.makedirs(os.path.dirname(staged), exist_ok=True)
        try:
            with open(staged, "wb") as file:
                file.write(data)
                if lasting:  # else a power failure may leave the new name with nothing behind it
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as error:
            if error.filename is not None or error.errno is None:
                raise
            # A full disk is told by the call that writes, which knows no names.
            raise OSError(error.errno, error.strerror, staged) from None
        return staged

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(f"{self.directory}/{name}")

    def clear_staged(self) -> None:
        with suppress(FileNotFoundError):
            self.delete(name for name in os.listdir(self.directory) if name.endswith(STAGED))

    def clear(self) -> None:
        import shutil

        shutil.rmtree(self.directory, ignore_errors=True)
        with suppress(OSError):  # others may have something beside it
            os.rmdir(os.path.dirname(self.directory))

    def open(self, name: str) -> pa.NativeFile:
        import pyarrow as pa

        return pa.OSFile(f"{self.directory}/{name}", "rb")

    def fetch(self, name: str, target: str) -> int:
        import shutil

        return os.stat(shutil.copyfile(f"{self.directory}/{name}", target)).st_size

    def create(self, name: str) -> Draft:
        path = f"{self.directory}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return LocalDraft(path)

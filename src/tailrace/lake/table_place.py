"""A table's root, and the places to which files of it have been moved.

One Delta log says where each file is, so one commit moves it. In a tier on disk a file is `_tiers/…/x.parquet`,
relative to the root as always: a link in `_tiers` leads to the table's directory there, and engines follow it. In an
object store it goes by its whole address, `s3://…`, which the Delta protocol provides for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.core.errors import LakeError
from tailrace.lake.place import Draft, Place
from tailrace.lake.refused_links import refused_link
from tailrace.lake.steps import reached

if TYPE_CHECKING:
    import pyarrow as pa

LINKS = "_tiers"
"Engines that look through directories pass over names that begin so."
_ADDRESS = "://"


def is_elsewhere(path: str) -> bool:
    """Is a file of a table not in its root?"""
    return path.startswith(f"{LINKS}/") or _ADDRESS in path


def elsewhere(paths: pa.ChunkedArray) -> pa.ChunkedArray:
    """True for each file of a table that is not in its root."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(paths):  # a column that never held a path may have no type
        return pa.chunked_array([], pa.bool_())
    return pc.or_(pc.starts_with(paths, f"{LINKS}/"), pc.match_substring(paths, _ADDRESS))


def any_elsewhere(paths: pa.ChunkedArray) -> bool:
    """Is any file of a table not in its root?"""
    import pyarrow.compute as pc

    return bool(pc.any(elsewhere(paths)).as_py())


def links(home: Place) -> list[str]:
    """Tiers on disk to which files of a table were ever moved, as the log begins their names."""
    return [f"{LINKS}/{name}" for name in (home / LINKS).folders()] if home.is_local else []


def link(home: Place, name: str, directory: Place) -> None:
    """Makes `name`, in the root of a table, lead to the table's directory in a tier."""
    os.makedirs(str(directory), exist_ok=True)
    os.makedirs(home.address(LINKS), exist_ok=True)
    try:
        os.symlink(str(directory), home.address(name), target_is_directory=True)
    except FileExistsError:
        pass
    except OSError as error:  # which the system tells by what the link would lead to
        raise refused_link(error, home.address(name)) from None
    reached("tier-linked")


def whereabouts(root: Place) -> Callable[[str], str]:
    """Tells where a file of a table really lies: by two links one file has two names, and the log knows one of them.

    Two tiers may be one directory by two paths (another link, another mount), or be the table's own.
    """
    first: dict[tuple[int, int], str] = {}

    @cache
    def real(directory: str) -> str:
        path = os.path.realpath(root.address(directory))
        with suppress(OSError):
            found = os.stat(path)
            return first.setdefault((found.st_dev, found.st_ino), path)
        return path

    def really(path: str) -> str:
        if _ADDRESS in path or not root.is_local:
            return path
        parts = path.split("/")
        depth = 3 if parts[0] == LINKS else 1  # down to the directory of the partition
        return "/".join([real("/".join(parts[:depth])), *parts[depth:]])

    return really


@dataclass(frozen=True, slots=True)
class TablePlace(Place):
    """Files by the names that the log has for them. New ones are made in the root, unless their names say otherwise."""

    home: Place
    linked: tuple[str, ...] = ()
    "Names of links in the root."
    remote: tuple[Place, ...] = ()
    "Directories of the table in object stores."

    def of(self, name: str) -> tuple[Place, str]:
        """Where a file lies, and what it is called there."""
        if _ADDRESS not in name:
            return self.home, name
        for place in self.remote:
            if name.startswith(f"{place.uri}/"):
                return place, name.removeprefix(f"{place.uri}/")
        message = "the file rests in a place that is not configured"
        hint = "a tier with this path, and its connection, has to be in the configuration"
        raise LakeError(message, code="lake.unknown-tier", where=name, hint=hint)

    @property
    def path(self) -> Path:
        """Of a root on disk."""
        return Path(self.home.uri)

    @property
    def uri(self) -> str:
        return self.home.uri

    @property
    def is_local(self) -> bool:
        return self.home.is_local

    @property
    def delta_uri(self) -> str:
        return self.home.delta_uri

    @property
    def storage_options(self) -> Mapping[str, str] | None:
        return self.home.storage_options

    @property
    def renews_keys(self) -> bool:
        return self.home.renews_keys

    def __truediv__(self, name: str) -> Place:
        return self.home / name

    @property
    def is_near(self) -> bool:
        return self.home.is_local and not self.remote

    def has_near(self, name: str) -> bool:
        return self.home.is_local and _ADDRESS not in name

    def address(self, name: str) -> str:
        return name if _ADDRESS in name else self.home.address(name)

    # What there is

    def exists(self) -> bool:
        return self.home.exists()

    def names(self, after: str = "") -> list[str]:
        return self.home.names(after)

    def holds(self, suffix: str) -> bool:
        return self.home.holds(suffix)

    def folders(self) -> list[str]:
        return self.home.folders()

    def walk(self, below: str = "") -> Iterator[str]:
        yield from self.home.walk(below)
        for name in self.linked:
            yield from self.home.walk(f"{name}/{below}" if below else name)
        for place in self.remote:
            yield from map(place.address, place.walk(below))

    def size(self, name: str) -> int:
        place, inner = self.of(name)
        return place.size(inner)

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for place, inner in self._by_place(names).items():
            there = place.sizes(inner)
            found |= {inner[name]: size for name, size in there.items()}
        return found

    def sizes_behind(self, after: str) -> dict[str, int]:
        return self.home.sizes_behind(after)

    def _by_place(self, names: Iterable[str]) -> dict[Place, dict[str, str]]:
        """By place, what each file is called there, and here."""
        found: dict[Place, dict[str, str]] = {}
        for name in names:
            place, inner = self.of(name)
            found.setdefault(place, {})[inner] = name
        return found

    # Small objects, and deleting

    def read(self, name: str) -> bytes:
        place, inner = self.of(name)
        return place.read(inner)

    def put(self, name: str, data: bytes, owner: str) -> None:
        self.home.put(name, data, owner)

    def put_if_absent(self, name: str, data: bytes, owner: str) -> bool:
        return self.home.put_if_absent(name, data, owner)

    def delete(self, names: Iterable[str]) -> None:
        for place, some in self._by_place(names).items():
            place.delete(some)

    def clear_staged(self) -> None:
        self.home.clear_staged()

    def clear(self) -> None:
        self.home.clear()

    # Parquet

    def open(self, name: str) -> pa.NativeFile:
        place, inner = self.of(name)
        return place.open(inner)

    def fetch(self, name: str, target: str) -> int:
        place, inner = self.of(name)
        return place.fetch(inner, target)

    def create(self, name: str) -> Draft:
        place, inner = self.of(name)
        return place.create(inner)

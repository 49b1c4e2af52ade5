"""A bucket or container as obstore shows it. Imported where a request is made, never before Spark forks its workers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from tailrace.sources.key_ranges import KeyRange

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore


@dataclass(frozen=True, slots=True)
class Entry:
    """An object in a listing."""

    key: str
    size: int
    etag: str
    "Without quotes; empty where the server has none."
    modified: datetime

    @property
    def version(self) -> str:
        return self.etag or f"{self.size}-{self.modified.isoformat()}"


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class OddName(Exception):
    """A key that obstore cannot tell exactly (`a//b`, control characters): it spoils the listing it is in."""


class Bucket(Protocol):
    """What listing needs."""

    def level(self, directory: str) -> tuple[list[str], list[Entry]]:
        """Names of the directories in one, and the objects in it."""
        ...

    def pages(self, keys: KeyRange) -> Iterator[list[Entry]]:
        """Objects of a range, at any depth, in order; a server may begin early."""
        ...


@dataclass(frozen=True, slots=True)
class ObstoreBucket:
    """Lists with obstore."""

    store: ObjectStore

    def level(self, directory: str) -> tuple[list[str], list[Entry]]:
        import obstore

        with _telling_odd_names(directory):
            found = obstore.list_with_delimiter(self.store, directory.rstrip("/"))
        names = [prefix.rstrip("/").rpartition("/")[2] for prefix in found["common_prefixes"]]
        return names, [_entry(meta) for meta in found["objects"]]

    def pages(self, keys: KeyRange) -> Iterator[list[Entry]]:
        import obstore

        after = (keys.after or "").rstrip("/")
        with _telling_odd_names(keys.directory, after):
            for chunk in obstore.list(self.store, keys.directory.rstrip("/"), offset=after or None, chunk_size=1000):
                yield [_entry(meta) for meta in chunk]


def is_exact(key: str) -> bool:
    """Does obstore ask for this very key?"""
    names = key.split("/")
    return not any(name in ("", ".", "..") for name in names) and _CONTROL.search(key) is None


@contextmanager
def _telling_odd_names(*paths: str) -> Iterator[None]:
    from obstore.exceptions import InvalidPathError

    if not all(is_exact(path.rstrip("/")) for path in paths if path):
        raise OddName
    try:
        yield
    except InvalidPathError:
        raise OddName from None


def _entry(meta: ObjectMeta) -> Entry:
    moment = meta["last_modified"].astimezone(UTC).replace(tzinfo=None)
    return Entry(meta["path"], meta["size"], (meta["e_tag"] or "").strip('"'), moment)

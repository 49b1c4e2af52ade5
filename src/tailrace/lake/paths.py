"""Where things lie: directory values that every engine reads alike, and the roots of one workspace."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from urllib.parse import unquote

from tailrace.core.errors import LakeError
from tailrace.lake.place import LocalPlace, Place
from tailrace.lake.table_place import LINKS, TablePlace, links

PARTITION_COLUMNS = ("tp_partition", "tp_index", "tp_date")
LONGEST_VALUE = 200
"Bytes of an encoded value; file systems stop at 255 for the whole name, column included."
_HASH_LENGTH = 16
_NO_ROOT = re.compile(r"[\x00-\x1f\x7f\\]")
_UNSAFE = re.compile(r"[\x00-\x7f]")
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
_NULLS = frozenset({None, "", "__HIVE_DEFAULT_PARTITION__"})


def stored_value(value: str | None) -> str:
    """The value as column and directory hold it: never null or empty, and short enough for a file name."""
    if value is None or value in _NULLS:
        return "default"
    if "\0" in value:
        raise LakeError(
            f"the value {value!r} holds a NUL and cannot name a directory",
            code="lake.bad-directory-value",
            hint="choose another tp_index column, or clean it in `transform`",
        )
    if len(_escape(value).encode()) <= LONGEST_VALUE:
        return value
    import hashlib

    digest = hashlib.blake2b(value.encode(), digest_size=_HASH_LENGTH // 2).hexdigest()
    kept = value[:LONGEST_VALUE]
    while len(_escape(kept).encode()) > LONGEST_VALUE - _HASH_LENGTH - 1:
        kept = kept[:-1]
    return f"{kept}-{digest}"


def encode_value(value: str | None) -> str:
    """A value as a directory name: other ASCII than letters, digits and `-_.` as %XX, the rest as it is."""
    return _escape(stored_value(value))


def decode_value(name: str) -> str:
    """The value that `encode_value` wrote."""
    return unquote(name, errors="strict")


def _escape(value: str) -> str:
    if not value.strip("."):
        return value.replace(".", "%2E")
    return _UNSAFE.sub(lambda m: m[0] if m[0] in _SAFE else f"%{ord(m[0]):02X}", value)


def data_path(partition: str, index: str | None, day: date) -> str:
    """Directory of a partition's day, relative to the table's root."""
    return f"{partition_path(partition)}/tp_index={encode_value(index)}/tp_date={day.isoformat()}"


def partition_path(partition: str) -> str:
    """Directory of a partition, relative to the table's root."""
    return f"tp_partition={encode_value(partition)}"


def table_path(table: str) -> str:
    """Directory of a table, in the workspace or in a tier."""
    return f"tp_table={encode_value(table)}"


@dataclass(frozen=True, slots=True)
class Tier:
    """A place where days rest that have been moved out of the workspace."""

    store: str
    name: str
    place: Place
    columns: tuple[str, ...] = PARTITION_COLUMNS
    "Those that make its directories; `tp_partition` comes first, whether it is among them or not."
    attached: bool = True
    "False: its days are not part of the default schema."

    def called(self, table: str) -> str:
        """The directory of a table in it, as the names of its files begin in the log."""
        if self.place.is_local:
            return f"{LINKS}/{encode_value(self.place.uri)}"
        return self.place.address(table_path(table))

    def holds(self, path: str) -> bool:
        """Does a file rest here that the log of its table calls so?"""
        return path.startswith(f"{self.called('')}/" if self.place.is_local else self.place.address("tp_table="))

    def directory(self, partition: str, index: str, day: date) -> str:
        """Of a day, in the table's directory."""
        values = {"tp_index": encode_value(index), "tp_date": day.isoformat(), "tp_year": f"{day.year}"}
        values |= {"tp_month": f"{day.month:02d}", "tp_day": f"{day.day:02d}", "tp_connection": encode_value(index)}
        parts = [f"{column}={values[column]}" for column in self.columns if column in values]
        return "/".join([partition_path(partition), *parts])


@dataclass(frozen=True, slots=True)
class Lake:
    """One workspace: data that every engine may read, and Tailrace's own metadata beside it."""

    home: Path
    workspace: str = "default"
    elsewhere: Place | None = None
    "Where data and metadata lie, if not in the home."
    cache_size: int = 10_000_000_000
    "Bytes of files from an object store that are kept on local disk for queries."
    tiers: tuple[Tier, ...] = ()
    "Other places where days rest, as far as a configuration is at hand."

    @property
    def data_root(self) -> Place:
        return _plain(self._root("data"))

    def table_home(self, table: str) -> Place:
        """Root of the table's Delta log and of what has not been moved elsewhere: new files are written there."""
        return _plain(self.data_root / table_path(table))

    def table_root(self, table: str) -> Place:
        """The same, and files that rest elsewhere are found by it."""
        home = self.table_home(table)
        linked = dict.fromkeys([*links(home), *(tier.called(table) for tier in self.tiers if tier.place.is_local)])
        remote = dict.fromkeys(tier.place / table_path(table) for tier in self.tiers if not tier.place.is_local)
        return TablePlace(home, tuple(linked), tuple(remote))

    @property
    def meta_root(self) -> Place:
        return self._root("meta")

    def meta(self, kind: str, table: str, partition: str) -> Place:
        """Directory of a partition's `ledger`, `quarantine`, `runs` or `locks`."""
        return self.meta_root / f"{kind}/{encode_value(table)}/{encode_value(partition)}"

    def _root(self, kind: str) -> Place:
        if self.elsewhere is not None:
            return self.elsewhere / kind
        return LocalPlace(str(self.home)) / f"{kind}/{encode_value(self.workspace)}"


def _plain(root: Place) -> Place:
    """Refuses what nothing could be stored in, before somebody takes it for an empty lake."""
    if unquote(str(root)) != str(root) or _NO_ROOT.search(str(root)):
        raise LakeError(
            "delta-rs takes no %XX, backslash or control character in the path of a table",
            code="lake.bad-root",
            where=str(root),
            hint="name table, workspace and home with letters, digits, `-`, `_` and `.` only",
        )
    return root

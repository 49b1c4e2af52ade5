"""Earlier versions of a table: which one a number or a moment means, and whether its files are still there."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tailrace.core.errors import LakeError, UsageError
from tailrace.lake.damage import not_mounted
from tailrace.lake.place import Place
from tailrace.lake.table import open_table, open_version

if TYPE_CHECKING:
    from deltalake import DeltaTable

Moment = int | datetime
"A version of a table, or a time in UTC."


def open_at(root: Place, table: str, at: Moment) -> DeltaTable | None:
    """The table as it was; None where it did not exist yet."""
    now = open_table(root)
    version = at if isinstance(at, int) else _version_at(now, table, at)
    if version is None or version == now.version():
        return now if version is not None else None
    # delta-rs makes room for every version up to the one it is asked for, before it looks whether there is one.
    if not 0 <= version < now.version():
        raise _no_version(table, version, now)
    found = open_version(root, version)
    if found is None:
        raise _no_version_any_more(table, version)
    return found


def no_version_so_old(table: str, moment: datetime) -> UsageError:
    """The error for a time before the first version, where there has to be one."""
    return UsageError(
        f"table {table} has no version as old as {moment:%Y-%m-%d %H:%M:%S}",
        code="usage.no-such-version",
        hint="`tailrace partition history` lists those there are",
    )


def moment(milliseconds: int) -> datetime:
    """A time as the log has it."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).replace(tzinfo=None)


def require_files(root: Place, names: Iterable[str]) -> None:
    """An old version can be read until its files are removed for good."""
    for name in names:
        try:
            root.size(name)
        except FileNotFoundError:
            raise not_mounted(root, [name]) or vacuumed(root.address(name)) from None


def vacuumed(path: str) -> LakeError:
    """The error for a file of an old version that is no more."""
    return LakeError(
        "a file of that version has been deleted for good",
        code="lake.vacuumed",
        where=path,
        hint="versions can be looked at and restored until their files are vacuumed: choose a later one",
    )


def _version_at(delta: DeltaTable, table: str, at: datetime) -> int | None:
    commits: list[dict[str, Any]] = delta.history()
    version: int | None = next((c["version"] for c in commits if moment(c["timestamp"]) <= at), None)
    # Where the log has been cut off, nobody knows what there was before.
    if version is None and commits[-1]["version"] > 0:
        raise no_version_so_old(table, at)
    return version


def _no_version(table: str, version: int, delta: DeltaTable) -> UsageError:
    hint = f"the last one is {delta.version()}; `tailrace partition history` lists them"
    return UsageError(f"table {table} has no version {version}", code="usage.no-such-version", hint=hint)


def _no_version_any_more(table: str, version: int) -> UsageError:
    return UsageError(
        f"table {table} has no version {version} any more",
        code="usage.no-such-version",
        hint="its log has been shortened since, by `maintain` or a deletion for good; "
        "`tailrace partition history` lists versions there are",
    )

"""Which database file may be replaced by one of views: one that holds no rows of its own."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import duckdb

from tailrace.core.errors import UsageError

_ROWS = "SELECT count(*) FROM duckdb_tables() WHERE database_name = current_database()"
_HINT = "name a file that does not exist yet, or delete this one"


def require_replaceable(target: Path) -> None:
    """Somebody's notes are not replaced by a slip of the hand, nor are their tables."""
    if not target.exists() or not target.stat().st_size:
        return
    try:
        held = _tables(target)
    except duckdb.Error:
        raise _kept(target, "is no database that can be opened") from None
    if held:
        raise _kept(target, f"holds {held} table{'' if held == 1 else 's'} of its own")


def _tables(target: Path) -> int:
    try:
        return _count(target)
    except (duckdb.IOException, duckdb.ConnectionException):
        # A program that has it open to write locks it: a copy says the same.
        copy = target.with_name(f".{target.name}.{os.getpid()}.looked-at.tmp")
        try:
            shutil.copyfile(target, copy)
            with suppress(FileNotFoundError):
                shutil.copyfile(log_of(target), log_of(copy))
            return _count(copy)
        finally:
            log_of(copy).unlink(missing_ok=True)
            copy.unlink(missing_ok=True)


def log_of(database: Path) -> Path:
    """Where DuckDB keeps what is not in the database itself yet; it would take it for that of another of that name."""
    return database.with_name(f"{database.name}.wal")


def _count(path: Path) -> int:
    with duckdb.connect(path, read_only=True) as connection:
        row = connection.execute(_ROWS).fetchone()
    assert row is not None
    return int(row[0])


def _kept(target: Path, why: str) -> UsageError:
    return UsageError(f"{target} {why}: it is not replaced", code="usage.would-overwrite", hint=_HINT)

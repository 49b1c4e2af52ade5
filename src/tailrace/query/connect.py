"""The lake for other programs: an init script for DuckDB, and a database file that holds nothing but views.

Both name the files of the moment they are made. Files that are committed are never changed, so collections that go on
do no harm; what they store is seen with the next `connect`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from tailrace.core.errors import LakeError, UsageError
from tailrace.core.schemas import DEFAULT_SCHEMA, SCHEMA_ALIAS
from tailrace.core.written import cannot_write, is_special, target_of
from tailrace.lake.quoting import literal, quoted
from tailrace.query import bodies
from tailrace.query.engine import Engine
from tailrace.query.replaceable import log_of, require_replaceable

if TYPE_CHECKING:
    from tailrace.lake.listing import Files, Listing
    from tailrace.query.filters import Scope
    from tailrace.query.tables import Shown

MOST_FILES = 20_000
"Of one table: DuckDB looks into each that days do not rule out."
_GROUPS = 24
"Parts of a view by day; DuckDB leaves out those that a condition on days or times rules out, without opening a file."
_FEW = 32
"Files of which no parts are made."
_KEPT = 24 * 3600.0
"Seconds after which a script is deleted: who uses one makes it anew."
_WHOLE = "lake.duckdb"
"What others have open all the time: a part of the lake never takes its place unless somebody says so."
_MAIN = "main"
_STORAGE = "v1.0.0"
"The oldest form of database file that holds what we need: programs with an older DuckDB open it too."
_SETTINGS = """SET TimeZone = 'UTC';
CREATE OR REPLACE MACRO {macro} AS make_timestamp(epoch_us(get_current_timestamp()));
"""
"Times are stored without zone and mean UTC: `now()` has to be of the same kind to be compared with them."


@dataclass(frozen=True, slots=True)
class Connected:
    """What was written."""

    script: Path
    database: Path
    tables: int
    warnings: tuple[str, ...]


def connect(engine: Engine, directory: Path, database: Path | None = None) -> Connected:
    """Writes script and database file; each is replaced whole, and whoever has the old one open keeps it."""
    found: list[tuple[str, str, str]] = []
    warnings: list[str] = []
    for schema, shown in _schemas(engine):
        try:
            found += [
                (schema, name, _body(shown, name, engine.tables.scope.condition)) for name in sorted(shown.names())
            ]
        except LakeError as error:
            if schema == _MAIN:
                raise
            warnings.append(f"schema {schema} is left out: {error}")
    stamp = datetime.now(UTC).strftime("%Y%m%d%H%M%S")
    script = directory / f"tailrace_init_{stamp}_{os.getpid()}.sql"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _forget_old(directory)
        _replace(script, _sql(found).encode())
    except OSError as error:
        raise cannot_write(script, error) from None
    target = database or (script.with_suffix(".duckdb") if _is_part(engine.tables.scope) else directory / _WHOLE)
    try:
        _write_database(target, found)
    except (OSError, duckdb.IOException) as error:
        raise cannot_write(target, error) from None
    return Connected(script, target, sum(schema == _MAIN for schema, _, _ in found), tuple(warnings))


def _is_part(scope: Scope) -> bool:
    return scope.filters or scope.schema != DEFAULT_SCHEMA


def _schemas(engine: Engine) -> Iterator[tuple[str, Shown]]:
    """What needs no prefix is in `main`."""
    chosen = engine.tables.scope.schema
    yield _MAIN, engine.views.schemas[chosen]
    for name, shown in engine.views.schemas.items():
        if name not in (_MAIN, DEFAULT_SCHEMA, SCHEMA_ALIAS):
            yield name, shown


def _body(shown: Shown, table: str, condition: str) -> str:
    seen = shown.snapshot(table)
    if seen is None or not seen.files.num_rows:
        return bodies.nothing(shown.columns(table))
    if not all(map(seen.root.has_near, seen.files.paths)):
        hint = "ask with `tailrace query`, or `tailrace export` the days that are wanted"
        raise LakeError("other programs cannot open files in an object store", code="lake.not-local", hint=hint)
    if seen.files.num_rows > MOST_FILES:
        told = f"{table} has {seen.files.num_rows:,} files, too many for one view"
        raise UsageError(told, code="usage.too-many-files", hint="leave some out with --from, or compact the table")
    if seen.files.num_rows <= _FEW:
        return bodies.rows_of(_paths(seen, seen.files), seen.columns, condition, by_cast=True)
    parts = []
    for first, last, files in _by_days(seen.files):
        end = last + timedelta(days=1)
        within = f"""tp_date BETWEEN DATE '{first}' AND DATE '{last}'
            AND tp_timestamp >= TIMESTAMP '{first}' AND tp_timestamp < TIMESTAMP '{end}'"""
        both = f"{within} AND {condition}" if condition else within
        parts.append(bodies.rows_of(_paths(seen, files), seen.columns, both, by_cast=True))
    return "\nUNION ALL ".join(parts)


def _paths(seen: Listing, files: Files) -> list[str]:
    return [seen.root.address(name) for name in files.paths]


def _by_days(files: Files) -> Iterator[tuple[date, date, Files]]:
    """Files of neighbouring days, in parts of about equal size."""
    numbers = files.column("tp_date")
    ordered = files.take(sorted(range(files.num_rows), key=numbers.__getitem__))
    days = ordered.days
    wanted = -(-len(days) // _GROUPS)
    start = end = 0
    for _, same in groupby(days):
        end += len(list(same))
        if end - start >= wanted or end == len(days):
            yield days[start], days[end - 1], ordered.take(range(start, end))
            start = end


def _sql(found: Sequence[tuple[str, str, str]]) -> str:
    """A script that makes all views, in any database."""
    parts = ["-- Views over a Tailrace lake, as it was when this was written.\n", _SETTINGS.format(macro="now()")]
    parts += [f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)};\n" for schema in _names(found)]
    for schema, name, body in found:
        view = quoted(name) if schema == _MAIN else f"{quoted(schema)}.{quoted(name)}"
        parts.append(f"CREATE OR REPLACE VIEW {view} AS {body};\n")
    return "".join(parts)


def _write_database(target: Path, found: Sequence[tuple[str, str, str]]) -> None:
    target = target_of(target)
    if is_special(target):
        hint = "name a file, or leave --database out"
        raise UsageError(f"{target} cannot be a database: it is no plain file", code="usage.cannot-write", hint=hint)
    require_replaceable(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    staged = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    staged.unlink(missing_ok=True)
    try:
        with duckdb.connect() as connection:
            connection.execute(f"ATTACH {literal(str(staged))} AS made (STORAGE_VERSION '{_STORAGE}')")
            for statement in _SETTINGS.format(macro="made.main.now()").strip().splitlines():
                connection.execute(statement)
            for schema in _names(found):
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS made.{quoted(schema)}")
            for schema, name, body in found:
                connection.execute(f"CREATE VIEW made.{quoted(schema)}.{quoted(name)} AS {body}")
            connection.execute("DETACH made")
        log_of(target).unlink(missing_ok=True)
        os.replace(staged, target)
    finally:
        staged.unlink(missing_ok=True)


def _names(found: Sequence[tuple[str, str, str]]) -> list[str]:
    return [schema for schema in dict.fromkeys(schema for schema, _, _ in found) if schema != _MAIN]


def _replace(path: Path, content: bytes) -> None:
    staged = path.with_name(f".{path.name}.tmp")
    staged.write_bytes(content)
    os.replace(staged, path)


def _forget_old(directory: Path) -> None:
    limit = time.time() - _KEPT
    for path in directory.glob("tailrace_init_*.*"):
        try:
            if path.stat().st_mtime < limit:
                path.unlink()
        except FileNotFoundError:
            continue  # another `connect` was at it

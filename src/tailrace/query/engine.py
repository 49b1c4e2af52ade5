"""SQL over the lake with DuckDB: views that hold only the files a statement can need."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb

from tailrace.core.errors import LakeError, QueryError
from tailrace.core.registry import ALIASES, holding, nearest

if TYPE_CHECKING:
    import pyarrow as pa

    from tailrace.core import Table
    from tailrace.lake.paths import Lake
    from tailrace.lake.snapshot import Snapshot

QUARANTINE = "tp_quarantine"
"View of all records that could not be stored."
PRUNE_FROM = 8
"Files: below this, looking at statistics costs more than opening them."
_STUBS = "tailrace_stub"
_OWN = "tailrace_own"
"Schema of what views need and people do not look at."
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CATALOGUE = re.compile(
    r"""\b(information_schema|duckdb_(tables|views|columns)|sqlite_(master|schema)|pg_(catalog|class|views|attribute))\b
    |\bpragma\s+show_tables
    |(^|\(|\bas\b|\bexplain\b)\s*(show|describe|desc)\s*($|[;)]|(all\s+)?tables\b)""",
    re.IGNORECASE | re.VERBOSE,
)
"A statement about all tables there are; `describe x` is about one, and `order by x desc` about none."
_READS = re.compile(
    r"\b(from|join|table|into|with|copy|pivot\w*|unpivot|show|describe|desc|summarize|pragma\w*)\b", re.IGNORECASE
)
_GUESS = re.compile(r'\nDid you mean "[^"\n]*"\?')
"DuckDB's own; it does not know tables that no statement has named yet."
_CURRENT = re.compile(
    r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\2\$)|\bcurrent_timestamp\b(?!\s*\()""",
    re.IGNORECASE | re.DOTALL,
)
"A text, a quoted name or a comment (group 1), which say nothing; or the word itself."


@dataclass(frozen=True, slots=True)
class Result:
    """One statement's answer; rows are fetched as they are asked for."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


class Engine:
    """One DuckDB connection over one lake."""

    def __init__(self, lake: Lake, declared: Callable[[], Mapping[str, Table]] = dict) -> None:
        self.lake = lake
        self.declared = cache(declared)
        "Tables that exist by declaration; they are empty until something is collected."
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")
        # Times are stored without zone and mean UTC: `now()` has to be of the same kind to be compared with them.
        self.connection.execute("CREATE MACRO now() AS (get_current_timestamp() AT TIME ZONE 'UTC')")
        self.warnings: list[str] = []
        "What had to be left out, in words for people."
        self.snapshots: dict[str, Snapshot | None] = {}
        self.narrowed: dict[str, str] = {}
        "Views that lack files the last statement did not need: view → table."

    def run(self, sql: str) -> Iterator[Result]:
        """The answers of all statements, one after the other."""
        try:
            current = _CURRENT.sub(lambda found: found[1] or "now()", sql)
            statements = [s.query for s in self.connection.extract_statements(current)]
        except duckdb.Error as error:
            raise _refused(error) from None
        for statement in statements:
            yield self._answer(statement)

    def _answer(self, statement: str) -> Result:
        try:
            self._make_views(statement)
            cursor = self.connection.execute(statement)
            described = cursor.description or []
            names, types = tuple(d[0] for d in described), tuple(str(d[1]) for d in described)
            return Result(names, types, self._rows(cursor))
        except duckdb.CatalogException as error:
            raise _refused(_GUESS.sub("", str(error)), self._guess(str(error))) from None
        except LakeError as error:
            raise QueryError(error.message, code=error.code, where=error.where, hint=error.hint) from error
        except duckdb.Error as error:
            raise _refused(error) from None

    def _rows(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
        try:
            while rows := cursor.fetchmany(2_000):
                yield from rows
        except duckdb.Error as error:
            raise _refused(error) from None

    def _guess(self, message: str) -> str | None:
        missing = re.search(r"Table with name (\S+) does not exist", message)
        names = self._names() if missing else ()
        guess = nearest(missing[1], names) or holding(missing[1], names) if missing else None
        return f"did you mean '{guess}'?" if guess else "`tailrace table list` shows what there is"

    # Views

    def _names(self) -> frozenset[str]:
        from tailrace.lake.snapshot import tables

        stored = tables(self.lake)
        # Names that differ in case only are one to DuckDB: rows come before a declaration without any.
        folded = {name.lower() for name in stored}
        return frozenset({*(n for n in self.declared() if n.lower() not in folded), *stored, QUARANTINE})

    def _make_views(self, statement: str) -> None:
        words = {w.lower() for w in _WORD.findall(statement)}
        candidates = {n: n for n in self._listed(statement)} | {a: t for a, t in ALIASES.items() if a in words}
        lowered = statement.lower()
        # A name with blanks or dashes in it is no single word.
        wanted = {
            view: table
            for view, table in candidates.items()
            if (view.lower() in words if _WORD.fullmatch(view) else view.lower() in lowered)
        }
        named = {*wanted, *self.narrowed}
        if _CATALOGUE.search(_CURRENT.sub(lambda found: " " if found[1] else found[0], statement)):
            wanted |= {n: n for n in self._names() if n in wanted or self._is_readable(n)}
        if wanted.pop(QUARANTINE, None):
            self._make_quarantine()
        # A view or macro of the user's may look at one that an earlier statement has narrowed.
        wanted = self.narrowed | wanted
        pruned = self._pruned(statement, wanted)
        for view, table in wanted.items():
            try:
                self._make_view(view, table, pruned.get(view))
            except LakeError as error:
                if view in named:
                    raise
                self._leave_out(view, error)
        self.narrowed = {view: wanted[view] for view in pruned}

    def _listed(self, statement: str) -> frozenset[str]:
        """Names that may be meant; a statement that reads nothing does not make us look at the disk."""
        return self._names() if _READS.search(statement) else frozenset()

    def _snapshot(self, table: str) -> Snapshot | None:
        if table not in self.snapshots:
            from tailrace.lake.snapshot import snapshot, tables

            self.snapshots[table] = snapshot(self.lake, table) if table in tables(self.lake) else None
        return self.snapshots[table]

    def _is_readable(self, table: str) -> bool:
        """A listing of all tables goes on without those that cannot be read."""
        try:
            self._snapshot(table)
        except LakeError as error:
            self._leave_out(table, error)
            return False
        return True

    def _leave_out(self, table: str, error: LakeError) -> None:
        self.warnings.append(f"table {table} is left out: {error}")

    def _pruned(self, statement: str, wanted: Mapping[str, str]) -> dict[str, pa.Table]:
        """Files per view that survive the statement's filters; views not named keep all of theirs."""
        found = {view: self._snapshot(table) for view, table in wanted.items()}
        large = {v: s for v, s in found.items() if s is not None and s.files.num_rows >= PRUNE_FROM}
        if not large:
            return {}
        from tailrace.query.prune import conditions, scans_of, surviving
        from tailrace.query.types import duckdb_type, quoted

        connection = self.connection.cursor()
        connection.execute("SET disabled_optimizers = 'statistics_propagation'")
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_STUBS}")
        scans: dict[str, list[list[Any]]] = {view: [] for view in large}
        try:
            for view, snapshot in large.items():
                columns = ", ".join(f"{quoted(f.name)} {duckdb_type(f)}" for f in snapshot.schema)
                connection.execute(f"CREATE OR REPLACE TABLE {_STUBS}.{quoted(view)} ({columns})")
            connection.execute(f"SET search_path = '{_STUBS},main'")
            plan = connection.execute(f"EXPLAIN (FORMAT json) {statement}").fetchall()
            for node in json.loads(plan[0][1]):
                for view, filters in scans_of(node, _STUBS):
                    scans.setdefault(view, []).append(conditions(filters))
        except duckdb.Error:
            return {}
        finally:
            connection.execute("RESET disabled_optimizers")
            connection.execute(f"DROP SCHEMA {_STUBS} CASCADE")
            connection.close()
        return {view: surviving(s.files, scans[view]) for view, s in large.items() if scans[view]}

    def _make_view(self, view: str, table: str, files: pa.Table | None) -> None:
        from tailrace.query.types import duckdb_type, has_grown, quoted

        snapshot = self._snapshot(table)
        schema = self._declared_schema(table) if snapshot is None else snapshot.schema
        files = files if files is not None or snapshot is None else snapshot.files
        types = {f.name: duckdb_type(f) for f in schema}
        if snapshot is None or files is None or not files.num_rows:
            columns = ", ".join(f"NULL::{kind} AS {quoted(name)}" for name, kind in types.items())
            body = f"SELECT {columns} WHERE false"
        else:
            paths = (snapshot.root.address(path) for path in files["path"].to_pylist())
            # DuckDB 2.0 fails when it looks inside a struct for a field that a file lacks: it gets such structs whole.
            grown = ", ".join(f"[{quoted(f.name)}][1] AS {quoted(f.name)}" for f in schema if has_grown(f.type))
            select = f"* REPLACE ({grown})" if grown else "*"
            body = f"SELECT {select} FROM {_scan(paths, types)}"
        try:
            self.connection.execute(f"CREATE OR REPLACE VIEW {quoted(view)} AS {body}")
        except duckdb.IOException as error:
            hint = "restore the file from a backup; other tables are not affected"
            raise LakeError(str(error).splitlines()[0], code="lake.damaged-file", hint=hint) from None

    def _declared_schema(self, table: str) -> pa.Schema:
        from tailrace.core.arrow import arrow_schema

        return arrow_schema(self.declared()[table])

    def _make_quarantine(self) -> None:
        from tailrace.lake.quarantine import SHOWN_SCHEMA, list_quarantine
        from tailrace.query.types import duckdb_type, quoted

        listing = list_quarantine(self.lake)
        self.warnings.extend(f"left out of {QUARANTINE}: {error}" for error in listing.damaged)
        types = {f.name: duckdb_type(f) for f in SHOWN_SCHEMA}
        if listing.files:
            body = f"SELECT * FROM {_scan((place.address(name) for place, name in listing.files), types)} AS entry"
        else:
            body = f"SELECT {', '.join(f'NULL::{kind} AS {quoted(name)}' for name, kind in types.items())} WHERE false"
        if listing.files and listing.superseded.num_rows:
            # Of an artifact that was read again only the entries of the last reading hold.
            self.connection.register("tailrace_listing", listing.superseded)
            self.connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_OWN}")
            self.connection.execute(f"CREATE OR REPLACE TABLE {_OWN}.taken AS FROM tailrace_listing")
            self.connection.unregister("tailrace_listing")
            body += f""" ANTI JOIN {_OWN}.taken ON entry."table" = taken."table" AND entry.uri = taken.uri
                AND entry."partition" = taken."partition"
                AND entry.run <> taken.run AND entry.run IS DISTINCT FROM taken.stored_by
                AND (taken.since IS NULL OR entry.run < taken.since)"""
        self.connection.execute(f"CREATE OR REPLACE VIEW {QUARANTINE} AS {body}")


def _scan(paths: Iterable[str], types: Mapping[str, str]) -> str:
    """The files with these columns by name, null where a file lacks one; none is opened to find that out."""
    from tailrace.query.types import literal

    entries = ", ".join(
        f"{literal(name)}: {{'name': {literal(name)}, 'type': {literal(kind)}, 'default_value': NULL}}"
        for name, kind in types.items()
    )
    return f"read_parquet([{', '.join(map(literal, paths))}], schema = MAP {{{entries}}})"


def _refused(error: duckdb.Error | str, hint: str | None = None) -> QueryError:
    return QueryError(str(error).strip(), hint=hint)

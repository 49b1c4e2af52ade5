"""Views over a lake: made when a statement names them, and holding only the files that it can need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tailrace.core.errors import LakeError
from tailrace.core.registry import ALIASES
from tailrace.core.schemas import DEFAULT_SCHEMA, SCHEMA_ALIAS
from tailrace.lake.quoting import literal, quoted
from tailrace.query import bodies
from tailrace.query.beside import Beside
from tailrace.query.duck import duckdb
from tailrace.query.filters import Schema
from tailrace.query.local import LocalFiles
from tailrace.query.plan import CATALOG, Key, Scans, address, scans
from tailrace.query.statement import Statement
from tailrace.query.tables import Shown, Tables

if TYPE_CHECKING:
    from tailrace.lake.listing import Columns, Files, Listing
    from tailrace.lake.place import Place

QUARANTINE = "tp_quarantine"
"View of all records that could not be stored; the default schema has it."
PRUNE_FROM = 8
"Files: below this, looking at statistics costs more than opening them."
_MAIN = "main"
"DuckDB's own schema: what a user names by it is what needs no prefix."


@dataclass(frozen=True, slots=True)
class Held:
    """What is behind a view: files that a statement can need, and the columns they have together."""

    paths: tuple[str, ...]
    columns: Columns
    size: int = 0
    "Bytes of all files."


class Views:
    """The schemas of one DuckDB connection."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        tables: Tables,
        declared: Callable[[], Iterable[Schema]],
        files: LocalFiles,
        beside: Beside | None = None,
    ) -> None:
        self.connection = connection
        self.planner = connection
        "Where it is found out which files a statement needs."
        self.files = files
        self.tables = tables
        self.scope = tables.scope
        self.declared = declared
        self.warnings: list[str] = []
        "What had to be left out, in words for people."
        self.made: dict[Key, str] = {}
        "Views that a statement has named so far, and their tables."
        self.narrowed: dict[Key, str] = {}
        "Those that lack files which the last statement did not need, or were only to be listed."
        self.held: dict[Key, Held] = {}
        "The files of views that were made."
        self.quarantines: set[Key] = set()
        "Views of records that could not be stored, and of files beside the lake: DuckDB alone reads them."
        self.beside = beside or Beside()
        self.read: tuple[Key, ...] = ()
        "Views that the last statement looks at."
        self.indirect = False
        "May a statement read a view without naming it?"
        self.adapted = False
        "May settings or variables change what a statement means?"
        self._create((DEFAULT_SCHEMA, self.scope.schema))
        self.connection.execute(f"SET search_path = {literal(quoted(self.scope.schema))}")

    @cached_property
    def schemas(self) -> dict[str, Shown]:
        """Every schema by name, the default one first."""
        found = {schema.name: Shown(self.tables, schema) for schema in (Schema(), *self.declared())}
        self._create((SCHEMA_ALIAS, *found))
        return found | {SCHEMA_ALIAS: found[DEFAULT_SCHEMA], _MAIN: found[self.scope.schema]}

    def forget(self) -> None:
        """What tables held: the next statement looks anew."""
        if "schemas" in self.__dict__:
            for shown in self.schemas.values():
                shown.forget()

    @property
    def known(self) -> dict[str, str]:
        """Names of schemas by their small letters."""
        return {name.lower(): name for name in (*self.schemas, *(schema for schema, _ in self.quarantines))}

    def _create(self, names: Iterable[str]) -> None:
        """Beside any transaction of the user's, so that they stay when it is rolled back."""
        with self.connection.cursor() as cursor:
            for name in names:
                cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {CATALOG}.{quoted(name)}")

    def make(self, statement: Statement, proceed: Callable[[], None] = lambda: None) -> None:
        """Whatever the statement may look at is there afterwards; `proceed` is called often, and may raise."""
        self.files.proceed = proceed
        self.quarantines |= self.beside.list(self.connection, statement)
        wanted = self._named(statement) if statement.reads else {}
        listed = self._listed(statement) if statement.lists_tables else {}
        for key in [key for key in wanted if key[1] == QUARANTINE]:
            del wanted[key]
            self._make_quarantine(key)
        if isinstance(self.scope.at, int):
            self.tables.travel(self._scanned(statement, wanted))
        self.indirect |= statement.is_indirect
        self.adapted |= statement.sets
        beside = self.beside.wanted(statement, lambda: self.path, self.indirect)
        # A view or macro of the user's may look at what earlier statements have named and narrowed.
        others = self.made | self.narrowed if self.indirect else {}
        pruned = self._pruned(statement, others | wanted)
        wanted |= {key: table for key, table in others.items() if key in self.narrowed or key in pruned}
        for key, table in wanted.items():
            proceed()
            self._make(key, table, pruned.get(key))
        self.read = tuple(wanted)
        unseen = self._make_listed({key: table for key, table in listed.items() if key not in wanted})
        tells = statement.selects and not self.indirect
        self.beside.make(self.connection, beside, lambda columns: self._scans(statement, columns) if tells else None)
        self.made |= wanted
        self.narrowed = {
            **{key: table for key, table in self.narrowed.items() if key not in wanted},
            **{key: wanted[key] for key in pruned},
            **unseen,
        }

    # Which views

    def _named(self, statement: Statement) -> dict[Key, str]:
        """Views that the statement names, by schema and name."""
        path = self.path
        found: dict[Key, str] = {}
        for schema, shown in self.schemas.items():
            # A snapshot may be missing, or have no versions: a word that is a column's too must not make it matter.
            is_kept = shown.schema.materialized
            said = statement.mentions_prefix(schema) if is_kept else statement.mentions(schema)
            for view, table in _views(shown) if said or schema in path else ():
                if statement.mentions(view) if said else statement.mentions_bare(view):
                    found[schema, view] = table
        return found

    def _listed(self, statement: Statement) -> dict[Key, str]:
        """Views that exist for a question about all of them."""
        path, every = self.path, statement.lists_all_schemas
        found: dict[Key, str] = {}
        for schema, shown in self.schemas.items():
            if schema in path or (every and schema not in (SCHEMA_ALIAS, _MAIN)):
                try:
                    found |= {(schema, view): table for view, table in sorted(_views(shown)) if view not in ALIASES}
                except LakeError as error:
                    self.warnings.append(f"schema {schema} is left out: {error}")
        return found

    @property
    def path(self) -> tuple[str, ...]:
        """Schemas whose views need no prefix now; DuckDB looks into `main` after all others."""
        ((names,),) = self.connection.execute("SELECT current_schemas(false)").fetchall()
        found = tuple(self.known[name.lower()] for name in names if name.lower() in self.known)
        return found or (_MAIN,)

    def key_of(self, schema: str | None, name: str) -> Key | None:
        """The view that a statement means by a name, among those that were made."""
        folded = {(place, view.lower()): view for place, view in (*self.held, *self.quarantines)}
        places = self.path if schema is None else (self.known.get(schema.lower()),)
        found = next((place for place in places if (place, name.lower()) in folded), None)
        return None if found is None else (found, folded[found, name.lower()])

    def stay_in_path(self) -> None:
        """After `use` of a database of the user's own, tables of the lake still need no prefix."""
        ((current, path),) = self.connection.execute(
            "SELECT current_database(), current_setting('search_path')"
        ).fetchall()
        if current != CATALOG:
            own = f"{CATALOG}.{quoted(self.scope.schema)}"
            self.connection.execute(f"SET search_path = {literal(f'{path},{own}')}")

    # What is in them

    def _pruned(self, statement: Statement, wanted: Mapping[Key, str]) -> dict[Key, Files]:
        """Files per view that survive the statement's filters, as far as DuckDB tells how it would run."""
        found = ((key, self.schemas[key[0]].snapshot(table)) for key, table in wanted.items())
        large = {key: seen for key, seen in found if seen is not None and _is_worth_pruning(seen)}
        self.files.proceed()
        if not large:
            return {}
        if statement.describes:
            return {key: seen.files.take(()) for key, seen in large.items()}
        from tailrace.query.footers import sifted
        from tailrace.query.prune import surviving

        scanned = self._scans(statement, {key: seen.columns for key, seen in large.items()}) or {}
        if not statement.selects:
            scanned = {key: some for key, some in scanned.items() if some}
        return {
            key: sifted(large[key], surviving(large[key].files, some), some, self.files.proceed)
            for key, some in scanned.items()
        }

    def _scanned(self, statement: Statement, wanted: Mapping[Key, str]) -> set[str]:
        """Tables that the statement reads; a word of it may be called as a table and not be one."""
        tables = set(wanted.values())
        if len(tables) < 2:
            return tables
        scanned = self._scans(statement, {key: self.tables.columns(table) for key, table in wanted.items()})
        return {wanted[key] for key, some in (scanned or {}).items() if some} or tables

    def _scans(self, statement: Statement, columns: Mapping[Key, Columns]) -> Scans | None:
        ((path,),) = self.connection.execute("SELECT current_setting('search_path')").fetchall()
        return scans(self.planner, statement.text, path, columns, adapted=self.adapted)

    def _make(self, key: Key, table: str, files: Files | None) -> None:
        held = self.held[key] = self._held(self.schemas[key[0]], table, files)
        condition = self.scope.condition
        body = bodies.rows_of(held.paths, held.columns, condition) if held.paths else bodies.nothing(held.columns)
        try:
            self.connection.execute(f"CREATE OR REPLACE VIEW {address(key)} AS {body}")
        except duckdb.IOException as error:
            from tailrace.lake.damage import COLLECT_AGAIN, DAMAGED_FILE, not_mounted
            from tailrace.query.failures import damaged_file

            seen = self.schemas[key[0]].snapshot(table)
            names = [] if seen is None else (seen.files if files is None else files).paths
            if seen is not None and (why := not_mounted(seen.root, names)) is not None:
                raise why from None
            message = str(error).splitlines()[0]
            plain = LakeError(message, code=DAMAGED_FILE, hint=COLLECT_AGAIN)
            raise damaged_file(error, held.paths, held.size) or plain from None

    def _held(self, shown: Shown, table: str, files: Files | None) -> Held:
        """The files as they can be opened; of a lake that is elsewhere they are fetched."""
        seen = shown.snapshot(table)
        files = files if files is not None or seen is None else seen.files
        if seen is None or files is None or not files.num_rows:
            return Held((), shown.columns(table))
        names, sizes = files.paths, files.column("size")
        fetched = self._old_paths if shown.is_old(table) else self.files.paths
        return Held(tuple(fetched(seen.root, names, sizes)), seen.columns, files.total("size"))

    def _old_paths(self, root: Place, names: Sequence[str], sizes: Sequence[int | None]) -> Sequence[str]:
        """Of a version whose files may have been deleted since."""
        from tailrace.lake.versions import require_files, vacuumed

        require_files(root, filter(root.has_near, names))
        try:
            return self.files.paths(root, names, sizes)
        except LakeError as error:
            if error.code == "lake.damaged-file":
                raise vacuumed(str(error.where)) from None
            raise

    def _make_listed(self, listed: Mapping[Key, str]) -> dict[Key, str]:
        """Views that are there to be listed, without files; a listing goes on without those that cannot be read."""
        made = {}
        for key, table in listed.items():
            if table == QUARANTINE:
                self._make_quarantine(key)
                continue
            try:
                body = bodies.nothing(self.schemas[key[0]].columns(table))
            except LakeError as error:
                self.warnings.append(f"table {key[1]} is left out: {error}")
                continue
            self.connection.execute(f"CREATE OR REPLACE VIEW {address(key)} AS {body}")
            made[key] = table
        return made

    def _make_quarantine(self, key: Key) -> None:
        self.quarantines.add(key)
        body, damaged = bodies.quarantine(self.connection, self.files)
        self.warnings.extend(f"left out of {QUARANTINE}: {error}" for error in damaged)
        if self.scope.at is not None:
            self.warnings.append(f"{QUARANTINE} has no versions: it is shown as it is now")
        self.connection.execute(f"CREATE OR REPLACE VIEW {address(key)} AS {body}")


def _is_worth_pruning(seen: Listing) -> bool:
    """Files that have to be fetched first cost more than statistics."""
    return seen.files.num_rows >= (PRUNE_FROM if seen.root.is_near else 1)


def _views(shown: Shown) -> Iterator[tuple[str, str]]:
    """Views of a schema, and their tables."""
    names = shown.names()
    yield from ((name, name) for name in names)
    yield from ((alias, table) for alias, table in ALIASES.items() if table in names)
    if shown.schema.name == DEFAULT_SCHEMA:
        yield QUARANTINE, QUARANTINE

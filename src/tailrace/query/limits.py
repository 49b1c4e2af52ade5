"""What a query may do and take: no other files than the lake's, so much time, so much memory."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tailrace.core.directories import cache_directory
from tailrace.core.errors import QueryError, UsageError
from tailrace.lake.quoting import file_literal, literal, quoted
from tailrace.lake.table_place import links
from tailrace.query.duck import duckdb

if TYPE_CHECKING:
    from tailrace.lake.paths import Lake, Tier
    from tailrace.lake.place import Place

SPILL = 10
"How many times its memory a query may put on disk meanwhile."
_AGAIN = 0.05
"Seconds between two attempts to stop a statement: one that has not begun yet does not heed the first."
BY_TEXT = ("histogram", "histogram_values")
"Table macros of DuckDB's own that look at the table, or file, whose name is their first argument."
_PARAMETERS = "source, col_name, bin_count := 10, technique := NULL"
_PATIENCE = 10.0
"Seconds; what DuckDB does within one step cannot be stopped."
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """Of all statements of one engine."""

    sandboxed: bool = False
    "Only to look at the lake's tables: no other file, no network, no change of any kind."
    writable: tuple[str, ...] = ()
    "Files and directories that statements may write; none: nothing outlives them."
    seconds: float | None = None
    "For each statement: to find and fetch its files and to compute, not how long somebody looks at the rows."
    memory: str | None = None
    "As DuckDB writes it: `512MB`, `4GB`."


def readable_of(lake: Lake, tiers: Iterable[Tier]) -> list[str]:
    """Directories of files that tables are made of. DuckDB looks where links lead, so those of tiers are among them."""
    places = [lake.data_root, lake.meta_root / "quarantine"]
    here = [str(place) for place in places if place.is_local]
    is_near = lake.data_root.is_local and all(tier.place.is_local for tier in tiers)
    fetched = [] if is_near else [str(cache_directory() / "lake" / "sessions")]
    return [*here, *_linked(lake.data_root), *fetched, f"{lake.home}/snapshots"]


def _linked(root: Place) -> Iterator[str]:
    """Where links of tables on disk lead."""
    for table in root.folders() if root.is_local else ():
        home = root / table
        yield from (os.path.realpath(home.address(name)) for name in links(home))


def confine(connection: duckdb.DuckDBPyConnection, limits: Limits, readable: Sequence[str] = ()) -> None:
    """Settings that hold from now on; in a sandbox no statement can change one, and no other directory is readable."""
    # A name that is no table's would be looked for among the variables of this program.
    connection.execute("SET python_enable_replacements = false")
    if limits.memory is not None:
        _confine_memory(connection, limits.memory)
    if limits.sandboxed:
        connection.execute("SET temp_directory = ''")
        names = [f"{directory}/" for directory in readable]
        # By both names: DuckDB looks for the path as it was written, and opens the file that it finds.
        allowed = ", ".join(dict.fromkeys(written(name) for name in names for written in (literal, file_literal)))
        connection.execute(f"SET allowed_directories = [{allowed}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")


def hide(connection: duckdb.DuckDBPyConnection, schemas: Iterable[str]) -> None:
    """In a sandbox, what looks at tables whose names are values: of those functions one is called as an aggregate is.

    They are hidden behind others of the same names; with the prefix of DuckDB's own catalog they are refused.
    """
    told = literal("a sandbox looks at tables by their names, not by texts")
    for schema in schemas:
        for name in BY_TEXT:
            called = f"memory.{quoted(schema)}.{name}"
            connection.execute(f"CREATE OR REPLACE MACRO {called}({_PARAMETERS}) AS TABLE SELECT error({told})")


def _confine_memory(connection: duckdb.DuckDBPyConnection, memory: str) -> None:
    hint = "write a number and a unit: 512MB, 4GB"
    bad = UsageError(f"cannot read '{memory}' as an amount of memory", code="usage.bad-memory", hint=hint)
    if not memory.strip()[:1].isdecimal():  # DuckDB takes less than nothing for no limit
        raise bad
    try:
        connection.execute(f"SET memory_limit = {literal(memory)}")
        ((most,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
        connection.execute(f"SET max_temp_directory_size = {literal(_times(most, SPILL))}")
    except duckdb.Error as error:
        raise bad from error


def _times(amount: str, factor: int) -> str:
    """`1.5 GiB` → `15.0 GiB`."""
    number, _, unit = amount.partition(" ")
    return f"{float(number) * factor} {unit}"


class Clock:
    """Runs the steps of one statement beside the main thread, so that time and Ctrl-C can stop them."""

    def __init__(self, interrupt: Callable[[], object], seconds: float | None = None) -> None:
        self.interrupt = interrupt
        self.seconds = seconds
        self.used = 0.0
        "Seconds so far."

    def run(self, step: Callable[[], T]) -> T:
        """What the step returns or raises."""
        outcome: list[T] = []
        failure: list[BaseException] = []
        done = threading.Event()

        def work() -> None:
            try:
                outcome.append(step())
            except BaseException as error:
                failure.append(error)
            finally:
                done.set()

        begun = time.monotonic()
        threading.Thread(target=work, name="query", daemon=True).start()
        try:
            if not done.wait(None if self.seconds is None else max(self.seconds - self.used, 0.0)):
                self._stop(done)
                raise self._over()
        except KeyboardInterrupt:
            self._stop(done)
            raise
        finally:
            self.used += time.monotonic() - begun
        if failure:
            raise failure[0]
        return outcome[0]

    @contextmanager
    def counted(self) -> Iterator[Callable[[], None]]:
        """Time of this thread's own work; what is given is called between its steps, and raises when time is over."""
        begun = time.monotonic()

        def proceed() -> None:
            if self.seconds is not None and self.used + time.monotonic() - begun > self.seconds:
                raise self._over()

        try:
            yield proceed
            proceed()
        finally:
            self.used += time.monotonic() - begun

    def _over(self) -> QueryError:
        return QueryError(
            f"stopped after {self.seconds:g} s",
            code="query.timeout",
            hint="look at fewer rows or days, or allow it more with --timeout",
        )

    def _stop(self, done: threading.Event) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not done.is_set() and time.monotonic() < deadline:
            self.interrupt()
            done.wait(_AGAIN)

"""The one DuckDB connection of a thread: casts and expressions on Arrow batches."""

from __future__ import annotations

import os
import threading
import warnings
from functools import cache
from itertools import count
from types import SimpleNamespace

import duckdb
import pyarrow as pa

_MOST_PLANS = 128
_NUMBERS = count()
# To copy the rows of a prepared query is much cheaper than to plan it anew, which is what DuckDB advises.
warnings.filterwarnings("ignore", "Arrow output on a DB-API result")


def con() -> duckdb.DuckDBPyConnection:
    """A connection in memory, UTC, for this thread alone (a busy one refuses others); made anew after a fork."""
    return _connection(os.getpid(), threading.get_ident())


@cache
def _connection(_process: int, _thread: int) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("set TimeZone = 'UTC'")
    return connection


def answers(query: str, given: pa.Table, *, in_place: bool = False) -> pa.Table:
    """What a query over the table `given` gives.

    It is planned once for every schema of that table: planning takes milliseconds, more than running it on a batch.
    `in_place`: what stands twice in the query is computed where it stands. Else DuckDB computes it once, beforehand:
    outside of a TRY that it stands in.
    """
    connection = con()
    if in_place:
        connection.execute("SET disabled_optimizers = 'common_subexpressions'")
    try:
        return _planned(connection, query, given)
    finally:
        if in_place:
            connection.execute("RESET disabled_optimizers")


def _planned(connection: duckdb.DuckDBPyConnection, query: str, given: pa.Table) -> pa.Table:
    plans = _plans(connection)
    plan = plans.get((query, given.schema))
    if plan is None:
        if len(plans) >= _MOST_PLANS:
            for old in plans.values():
                old.drop(connection)
            plans.clear()
        plan = plans[query, given.schema] = _Plan(connection, query, given)
    return plan.run(connection, given)


@cache
def _plans(_connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, pa.Schema], _Plan]:
    return {}


class _Plan:
    """A prepared query; what it reads is another table every time it is run."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, query: str, given: pa.Table) -> None:
        self._name = f"plan_{next(_NUMBERS)}"
        # No class of ours: DuckDB would hold its module, which holds the connection, and neither could be freed.
        self._given = SimpleNamespace(__arrow_c_stream__=given.__arrow_c_stream__)
        connection.register(self._name, self._given)
        try:
            connection.execute(f"PREPARE {self._name} AS WITH given AS NOT MATERIALIZED (FROM {self._name}) {query}")
        except duckdb.Error:
            connection.unregister(self._name)
            raise

    def run(self, connection: duckdb.DuckDBPyConnection, given: pa.Table) -> pa.Table:
        self._given.__arrow_c_stream__ = given.__arrow_c_stream__
        try:
            return connection.execute(f"EXECUTE {self._name}").to_arrow_table()
        finally:
            self._given.__arrow_c_stream__ = given.schema.empty_table().__arrow_c_stream__

    def drop(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(f"DEALLOCATE {self._name}")
        connection.unregister(self._name)

"""The SQL of views: files with their columns by name, nothing at all, and what could not be stored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tailrace.lake.quoting import quoted, scan
from tailrace.query.duck import with_arrow

if TYPE_CHECKING:
    import duckdb

    from tailrace.lake.listing import Columns
    from tailrace.query.local import LocalFiles

_OWN = "memory.tailrace_own"
"Schema of what views need and people do not look at."


def nothing(columns: Columns) -> str:
    """The columns, and no rows."""
    made = ", ".join(f"NULL::{shape.type} AS {quoted(shape.name)}" for shape in columns.shapes)
    return f"SELECT {made} WHERE false"


def rows_of(paths: Iterable[str], columns: Columns, condition: str = "", *, by_cast: bool = False) -> str:
    """The rows of the files, or those of them that fulfil a condition.

    To DuckDB before 1.5 the JSON of `read_parquet` is a type of its own that no function takes. `by_cast` it is made of
    text, which costs a look at each value; within structs it stays text.
    """
    # DuckDB 2.0 fails when it looks inside a struct for a field that a file lacks: it gets such structs whole.
    made = {shape.name: f"[{quoted(shape.name)}][1]" for shape in columns.shapes if shape.grown}
    if by_cast:
        made |= {shape.name: f"{quoted(shape.name)}::JSON" for shape in columns.shapes if shape.type == "JSON"}
    replaced = ", ".join(f"{how} AS {quoted(name)}" for name, how in made.items())
    select = f"* REPLACE ({replaced})" if made else "*"
    where = f" WHERE {condition}" if condition else ""
    types = {shape.name: shape.stored if by_cast else shape.type for shape in columns.shapes}
    return f"SELECT {select} FROM {scan(paths, types)}{where}"


def quarantine(connection: duckdb.DuckDBPyConnection, files: LocalFiles) -> tuple[str, list[str]]:
    """All records that could not be stored, and what had to be left out of them."""
    from tailrace.lake.quarantine import SHOWN_SCHEMA, list_quarantine
    from tailrace.lake.sql import columns_of

    columns = columns_of(SHOWN_SCHEMA)
    listing = list_quarantine(files.lake, files.paths)
    damaged = [str(error) for error in listing.damaged]
    if not listing.files:
        return nothing(columns), damaged
    types = {shape.name: shape.type for shape in columns.shapes}
    body = f"SELECT * FROM {scan(listing.files, types)} AS entry"
    if listing.superseded.num_rows:
        # Of an artifact that was read again only the entries of the last reading hold.
        with_arrow()
        connection.register("tailrace_listing", listing.superseded)
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_OWN}")
        connection.execute(f"CREATE OR REPLACE TABLE {_OWN}.taken AS FROM tailrace_listing")
        connection.unregister("tailrace_listing")
        body += f""" ANTI JOIN {_OWN}.taken ON entry."table" = taken."table" AND entry.uri = taken.uri
            AND entry."partition" = taken."partition"
            AND entry.run <> taken.run AND entry.run IS DISTINCT FROM taken.stored_by
            AND (taken.since IS NULL OR entry.run < taken.since)"""
    return body, damaged

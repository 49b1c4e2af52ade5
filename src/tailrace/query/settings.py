"""What a connection has been told by `set`, told to another one: a statement then means the same to both."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tailrace.lake.quoting import literal, quoted

if TYPE_CHECKING:
    from tailrace.query.duck import duckdb

_LOCAL = "SELECT name, value FROM duckdb_settings() WHERE scope = 'LOCAL'"
_MEANING = re.compile(r"(?!schema$|search_path$|tracked_metrics$|\w*(profil|progress|streaming|memory))\w+")
"Settings that may change an answer; those of all connections together need not be told."
_PLAIN = re.compile(
    r"BOOLEAN|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\(\d+,\d+\)|FLOAT|DOUBLE|VARCHAR|DATE|TIMESTAMP"
)
"Types whose values are read from text as they were."


def adapt(cursor: duckdb.DuckDBPyConnection, connection: duckdb.DuckDBPyConnection) -> None:
    """Tells the cursor what the connection knows; raises DuckDB's error where it cannot."""
    known = dict(cursor.execute(_LOCAL).fetchall())
    for name, value in connection.execute(_LOCAL).fetchall():
        if known.get(name) != value and _MEANING.fullmatch(name):
            cursor.execute(f"SET SESSION {quoted(name)} = {literal(str(value))}")
    for name, kind in connection.execute("SELECT name, type FROM duckdb_variables()").fetchall():
        cursor.execute(f"SET VARIABLE {quoted(name)} = {_value(connection, name, kind)}")


def _value(connection: duckdb.DuckDBPyConnection, name: str, kind: str) -> str:
    """As SQL that every connection understands."""
    from tailrace.query.duck import duckdb

    if not _PLAIN.fullmatch(kind):
        raise duckdb.NotSupportedError(f"a variable of type {kind}")
    ((text,),) = connection.execute(f"SELECT getvariable({literal(name)})::VARCHAR").fetchall()
    return f"CAST({'NULL' if text is None else literal(text)} AS {kind})"

"""`<<=`: does an address lie in a network? DuckDB has it in an extension, which would have to be downloaded."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

SIGN = "<<="
WITHIN = "tailrace_within"
"Function that stands for the operator, on DuckDB and on Spark."
_OTHERS = re.compile(r"\b(host|family|network|netmask|broadcast)\s*\(", re.IGNORECASE)
"Further functions of the extension: who uses them has it."


def without_inet(sql: str) -> str:
    """The SQL with a function in place of the operator, and texts in place of addresses."""
    if SIGN not in sql or _OTHERS.search(sql):
        return sql
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    from tailrace.query.spark.dialect import Asked

    try:
        statements = [statement for statement in Asked().parse(sql) if statement is not None]
    except SqlglotError:
        return sql
    for statement in statements:
        for cast in list(statement.find_all(exp.Cast, exp.TryCast)):
            if cast.args["to"].this == exp.DType.INET:
                cast.set("to", exp.DataType(this=exp.DType.VARCHAR))
    return ";\n".join(statement.sql(dialect=Asked) for statement in statements)


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """The function, for DuckDB; it would read annotations."""
    from duckdb.func import ARROW, SPECIAL
    from duckdb.sqltypes import BOOLEAN, VARCHAR

    whole = lambda addresses, networks: within(addresses.combine_chunks(), networks.combine_chunks())  # noqa: E731
    connection.create_function(WITHIN, whole, [VARCHAR, VARCHAR], BOOLEAN, type=ARROW, null_handling=SPECIAL)


def within(addresses: pa.Array, networks: pa.Array) -> pa.Array:
    """Does an address, or a network, lie in a network? Each address is looked at once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.unique(addresses)
    places = pc.index_in(addresses, value_set=values)
    answer = pa.nulls(len(addresses), pa.bool_())
    for network in pc.unique(networks).to_pylist():
        lies = pa.array([_lies(value, network) for value in values.to_pylist()], pa.bool_())
        answer = pc.if_else(pc.equal(networks, network).fill_null(False), lies.take(places), answer)
    return answer


def _lies(address: str | None, network: str | None) -> bool | None:
    """None for what is no address."""
    if address is None or network is None:
        return None
    try:
        inner: Any = ipaddress.ip_network(address, strict=False)
        outer: Any = ipaddress.ip_network(network, strict=False)
    except ValueError:
        return None
    return bool(inner.version == outer.version and inner.subnet_of(outer))

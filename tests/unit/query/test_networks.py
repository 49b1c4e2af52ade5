"""Addresses in networks, without an extension of DuckDB's."""

from __future__ import annotations

import pyarrow as pa
from world import World

from tailrace.query.engine import Engine
from tailrace.query.networks import within, without_inet


def test_what_lies_in_what() -> None:
    cases: list[tuple[str | None, str | None, bool | None]] = [
        ("10.1.2.3", "10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("10.1.0.0/16", "10.0.0.0/8", True),
        ("10.0.0.0/7", "10.0.0.0/8", False),
        ("2001:db8::1", "2001:db8::/32", True),
        ("2001:db8::1", "10.0.0.0/8", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("localhost", "10.0.0.0/8", None),
        (None, "10.0.0.0/8", None),
        ("10.1.2.3", None, None),
    ]
    addresses, networks = ([case[place] for case in cases] for place in (0, 1))
    found = within(pa.array(addresses, pa.string()), pa.array(networks, pa.string()))
    assert found.to_pylist() == [case[2] for case in cases]


def test_other_sql_stays_as_it_is() -> None:
    for sql in ("select 1", "select a << 2", "select host(a) from t where a <<= b", "select from <<= where"):
        assert without_inet(sql) == sql
    assert without_inet("select a::inet <<= '10.0.0.0/8'::inet as r") == (
        "SELECT TAILRACE_WITHIN(CAST(a AS TEXT), CAST('10.0.0.0/8' AS TEXT)) AS r"
    )


def test_duckdb_answers(world: World) -> None:
    sql = "select a, try_cast(a as inet) <<= '10.0.0.0/8'::inet from (values ('10.1.1.1'), ('x'), ('11.0.0.1')) t(a)"
    (result,) = Engine(world.lake).run(sql)
    assert list(result.rows) == [("10.1.1.1", True), ("x", None), ("11.0.0.1", False)]

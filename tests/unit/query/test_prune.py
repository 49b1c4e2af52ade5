"""Files are left out only if no row of theirs can be wanted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.lake.arrow_listing import files_of
from tailrace.lake.listing import Files
from tailrace.query.conditions import Condition, conditions, scans_of
from tailrace.query.prune import surviving

DAY = date(2024, 1, 1)
WORDS = ["", "a", "it's", "a AND b = 5", 'say "x"', "x::DATE", "é", "\n(n = 7)\n", "Z"]
TYPES = {"n": pa.int32(), "s": pa.string(), "t": pa.timestamp("us"), "d": pa.date32(), "m": pa.decimal128(10, 2)}
SQL_TYPES = {"n": "INTEGER", "s": "VARCHAR", "t": "TIMESTAMP", "d": "DATE", "m": "DECIMAL(10,2)"}

numbers = st.integers(-4, 12)
moments = st.integers(0, 12).map(lambda n: datetime(2024, 1, 1) + timedelta(hours=7 * n))
days = st.integers(0, 5).map(lambda n: DAY + timedelta(days=n))
rows = st.fixed_dictionaries(
    {
        "n": st.none() | numbers,
        "s": st.none() | st.sampled_from(WORDS),
        "t": st.none() | moments,
        "d": st.none() | days,
        "m": st.none() | st.integers(-3, 5),
    }
)
files = st.lists(st.lists(rows, min_size=1, max_size=4), min_size=1, max_size=6)


def literal(value: Any) -> str:
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def comparison(column: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    compared = st.builds(
        lambda op, v: f"{column} {op} {literal(v)}", st.sampled_from(["=", "<", "<=", ">", ">=", "<>"]), values
    )
    among = st.lists(values, min_size=1, max_size=4).map(lambda vs: f"{column} IN ({', '.join(map(literal, vs))})")
    return st.one_of(compared, among, st.just(f"{column} IS NULL"), st.just(f"{column} IS NOT NULL"))


atoms = st.one_of(
    comparison("n", numbers),
    comparison("s", st.sampled_from(WORDS)),
    comparison("t", moments),
    comparison("d", days),
    comparison("m", numbers),
    st.sampled_from(
        ["s LIKE 'a%'", "n BETWEEN 2 AND 5", "t::DATE = '2024-01-02'", "n > 1.5", "t < 'infinity'", "st.x > 3"]
    ),
)
wheres = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        inner.map("(NOT {})".format),
    ),
    max_leaves=5,
)


def listing(contents: Sequence[Sequence[dict[str, Any]]]) -> Files:
    """What a snapshot says of the files: least and greatest values of each column, null where there are none."""
    columns: dict[str, list[Any]] = {"path": [f"f{i}" for i in range(len(contents))]}
    for name in TYPES:
        present = [[r[name] for r in some if r[name] is not None] for some in contents]
        columns[f"min.{name}"] = [min(v, default=None) for v in present]
        columns[f"max.{name}"] = [max(v, default=None) for v in present]
    kinds = {f"{end}.{name}": kind for name, kind in TYPES.items() for end in ("min", "max")}
    return files_of(pa.table({n: pa.array(v, kinds.get(n)) for n, v in columns.items()}))


def scans(connection: duckdb.DuckDBPyConnection, where: str) -> list[list[Condition]]:
    plan = connection.execute(f"EXPLAIN (FORMAT json) SELECT * FROM stub.t WHERE {where}").fetchall()
    return [conditions(f) for node in json.loads(plan[0][1]) for _, f in scans_of(node, "stub")]


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    made.execute("SET threads = 1; SET disabled_optimizers = 'statistics_propagation'; CREATE SCHEMA stub")
    columns = ", ".join(f"{name} {kind}" for name, kind in SQL_TYPES.items())
    made.execute(f"CREATE TABLE stub.t ({columns}, st STRUCT(x INTEGER))")
    made.execute(f"CREATE TABLE given (file VARCHAR, {columns}, st STRUCT(x INTEGER))")
    return made


@settings(max_examples=100, deadline=None)
@given(contents=files, where=wheres)
def test_no_wanted_row_is_left_out(
    connection: duckdb.DuckDBPyConnection, contents: list[list[dict[str, Any]]], where: str
) -> None:
    connection.execute("DELETE FROM given")
    for number, some in enumerate(contents):
        values = [(f"f{number}", *(row[name] for name in TYPES), {"x": number}) for row in some]
        connection.executemany("INSERT INTO given VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    needed = {f for (f,) in connection.execute(f"SELECT DISTINCT file FROM given WHERE {where}").fetchall()}
    found = scans(connection, where)
    kept = set(surviving(listing(contents), found).paths)
    assert needed <= kept


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("n = 15", ["f1"]),
        ("n > 12", ["f1", "f2"]),
        ("n >= 19", ["f1", "f2"]),
        ("n < 10", ["f0"]),
        ("n IN (5, 25)", ["f0", "f2"]),
        ("n BETWEEN 21 AND 25", ["f2"]),
        ("s = 'k1'", ["f1"]),
        ("s IN ('k0', 'k2')", ["f0", "f2"]),
        ("s LIKE 'k2%'", ["f2"]),
        ("t >= '2024-01-02 12:00:00'", ["f2"]),
        ("t::DATE = '2024-01-02'", ["f1"]),
        ("d = '2024-01-03'", ["f2"]),
        ("m = 1.00", ["f1"]),
        ("n = 15 AND s = 'k2'", []),
        ("n = 5 OR s = 'k2'", ["f0", "f1", "f2"]),
        ("s = 'k1\n(n = 5)\n'", ["f0", "f1", "f2"]),
    ],
)
def test_files_without_wanted_rows_are_left_out(
    connection: duckdb.DuckDBPyConnection, where: str, kept: list[str]
) -> None:
    contents = [
        [
            {"n": 10 * k + n, "s": f"k{k}", "t": datetime(2024, 1, k + 1, n), "d": date(2024, 1, k + 1), "m": k}
            for n in (0, 9)
        ]
        for k in range(3)
    ]
    assert surviving(listing(contents), scans(connection, where)).paths == kept


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(a = 5)", [Condition("a", "=", (5,))]),
        ("((a >= 1) AND (a <= 3))", [Condition("a", ">=", (1,)), Condition("a", "<=", (3,))]),
        ("optional: (s IN ('a', 'b'))", [Condition("s", "=", ("a", "b"))]),
        ("(s = 'it''s')", [Condition("s", "=", ("it's",))]),
        ("(s = 'arn::aws')", [Condition("s", "=", ("arn::aws",))]),
        ("(d = '2024-01-01'::DATE)", [Condition("d", "=", (date(2024, 1, 1),))]),
        ("(struct_extract(u, 'name') = 'bob')", [Condition("u.name", "=", ("bob",))]),
        ("(struct_extract(struct_extract(u, 'a'), 'b') = 'x')", [Condition("u.a.b", "=", ("x",))]),
        ('("odd name" = 1)', [Condition("odd name", "=", (1,))]),
        ("(b = true)", [Condition("b", "=", (True,))]),
        ("(t > 'infinity'::TIMESTAMP)", []),
        ("(t > '290000-01-01 00:00:00'::TIMESTAMP)", []),
        ("(x = 'a'::BLOB)", []),
        ("((a = 5) OR (a = 7))", []),
        ("(lower(s) = 'a')", []),
        ("(a != 5)", []),
        ("(\"it's\" = 'x AND a = 5 AND y')", [Condition("it's", "=", ("x AND a = 5 AND y",))]),
    ],
)
def test_filters_are_understood(text: str, found: list[Condition]) -> None:
    assert conditions([text]) == found


def test_a_filter_cut_at_a_line_end_counts_for_nothing() -> None:
    assert conditions(["(s = 'x", "(a = 5)", "y')"]) == []


@pytest.mark.parametrize("name", ["x AND n", "n = 5) AND (n", "it's", 'q"q', "(n", "\n(n = 5)\n"])
def test_a_column_whose_name_reads_like_a_filter_counts_for_nothing(name: str) -> None:
    """DuckDB writes it without quotes."""
    other = duckdb.connect()
    quoted = '"' + name.replace('"', '""') + '"'
    other.execute("SET disabled_optimizers = 'statistics_propagation'; CREATE SCHEMA stub")
    other.execute(f"CREATE TABLE stub.t (n INTEGER, {quoted} VARCHAR)")
    for where in ("{} = '3'", "{0} >= ' AND n = 5 AND ' AND {0} <= 'b AND n = 5 AND '", "{} IN ('n', ' AND n = 5 ')"):
        plan = other.execute(f"EXPLAIN (FORMAT json) SELECT * FROM stub.t WHERE {where.format(quoted)}").fetchall()
        ((_, filters),) = (scan for node in json.loads(plan[0][1]) for scan in scans_of(node, "stub"))
        assert all(found.column == name for found in conditions(filters, ["n", name]))


def test_a_value_of_another_kind_prunes_nothing() -> None:
    row = {"n": 1, "s": "a", "t": datetime(2024, 1, 1), "d": DAY, "m": 1}
    for name in row:
        for value in {"n": "x", "s": 1, "t": DAY, "d": datetime(1900, 1, 1), "m": "x"}[name], True, b"x", None:
            assert surviving(listing([[row]]), [[Condition(name, "=", (value,))]]).num_rows == 1


def test_among_many_values_those_between_the_bounds_count() -> None:
    contents = [[{"n": n, "s": None, "t": None, "d": None, "m": None} for n in pair] for pair in ((0, 9), (20, 29))]
    listed = listing([*contents, [{"n": None, "s": None, "t": None, "d": None, "m": None}]])
    for values, kept in (
        ((12, 11, 15), ["f2"]), ((40, -1), ["f2"]), ((40, 5, -1), ["f0", "f2"]), ((29, 10), ["f1", "f2"]),
    ):  # fmt: skip
        assert surviving(listed, [[Condition("n", "=", values)]]).paths == kept


def test_numbers_are_compared_as_their_columns_hold_them() -> None:
    """0.1 is another number in four bytes than in eight."""
    for kind, value in ((pa.float32(), 0.1), (pa.float64(), 0.1)):
        bounds = {name: pa.array([value, 0.5], kind) for name in ("min.x", "max.x")}
        listed = files_of(pa.table({"path": ["a", "b"], **bounds}))
        assert surviving(listed, [[Condition("x", "=", (Decimal("0.1"),))]]).paths == ["a"]
        assert surviving(listed, [[Condition("x", "=", (2**60 + 1,))]]).num_rows == 2, "no real number is that one"
        assert surviving(listed, [[Condition("x", ">", (Decimal(10) ** 400,))]]).num_rows == 2


def test_bounds_of_two_columns_by_one_name_count_for_nothing() -> None:
    """`a.b` may be a column, and a field of a struct."""
    bounds = [pa.array(["path"]), *(pa.array([n]) for n in (1, 2, 3, 4))]
    listed = files_of(pa.table(bounds, names=["path", "min.a.b", "min.a.b", "max.a.b", "max.a.b"]))
    assert surviving(listed, [[Condition("a.b", "=", (9,))]]).num_rows == 1


def test_a_scan_without_conditions_needs_all_files() -> None:
    listed = listing([[{"n": k, "s": None, "t": None, "d": None, "m": None}] for k in range(3)])
    assert surviving(listed, [[Condition("n", "=", (1,))], []]).num_rows == 3
    assert surviving(listed, [[Condition("n", "=", (1,))], [Condition("n", "=", (2,))]]).paths == ["f1", "f2"]


@pytest.mark.parametrize(
    ("operator", "times", "kept"),
    [
        ("=", [datetime(2024, 1, 2, 5)], [2]),
        ("=", [datetime(2024, 1, 1), datetime(2024, 1, 3, 23, 59)], [1, 3]),
        (">", [datetime(2024, 1, 2, 23, 59, 59, 999999)], [2, 3]),
        (">=", [datetime(2024, 1, 3)], [3]),
        ("<", [datetime(2024, 1, 2)], [1, 2]),
        ("<=", [datetime(2024, 1, 2)], [1, 2]),
    ],
)
def test_a_condition_on_times_leaves_out_other_days(operator: str, times: list[datetime], kept: list[int]) -> None:
    """Whatever is known of rows, which need not be looked at for it."""
    days = [date(2024, 1, number) for number in (1, 2, 3)]
    files = files_of(pa.table({"size": [1, 2, 3], "tp_date": pa.array(days, pa.date32())}))
    assert surviving(files, [[Condition("tp_timestamp", operator, tuple(times))]]).column("size") == kept

"""Other engines read the lake without Tailrace, and get what Tailrace's own query gets; docs/interop.md shows how."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from clickhouse import clickhouse
from deltalake import DeltaTable, QueryBuilder
from openlake import EXPECTED, FACTS, Facts, make_lake

PAGE = Path(__file__).parents[2] / "docs" / "interop.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)[1:]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("lake")
    return make_lake(folder / "home", folder / "logs")


def by_delta_rs(root: str) -> Facts:
    answer = QueryBuilder().register("app", DeltaTable(root)).execute(FACTS.format("app")).read_all()
    (row,) = zip(*(answer.column(i).to_pylist() for i in range(answer.num_columns)), strict=True)
    return (*row[:-1], row[-1].replace("T", " "))


def by_pyarrow_table(root: str) -> Facts:
    rows = DeltaTable(root).to_pyarrow_table()
    assert rows.num_rows == EXPECTED[0]
    return duckdb.execute(FACTS.format("rows")).fetchall()[0]


def by_duckdb_over_the_dataset(root: str) -> Facts:
    app = DeltaTable(root).to_pyarrow_dataset()
    assert app.count_rows() == EXPECTED[0]
    return duckdb.sql(FACTS.format("app")).fetchall()[0]


def by_duckdb_over_the_files(root: str) -> Facts:
    files = DeltaTable(root).file_uris()
    # A column that no row has is in no file: only the log knows of it.
    known = FACTS.replace("count(never)", "0")
    return duckdb.execute(known.format("read_parquet(?, union_by_name = true)"), [files]).fetchall()[0]


def by_duckdb_delta(root: str) -> Facts:
    needs_delta_extension()
    return duckdb.execute(FACTS.format("delta_scan(?)"), [root]).fetchall()[0]


def needs_delta_extension() -> None:
    try:
        duckdb.execute("set autoinstall_known_extensions = false; load delta")
    except duckdb.Error:
        pytest.skip("DuckDB's delta extension is not installed")


def by_polars_through_arrow(root: str) -> Facts:
    pl = pytest.importorskip("polars")
    return of_polars(pl.scan_delta(root, use_pyarrow=True))


def by_polars_over_the_files(root: str) -> Facts:
    pl = pytest.importorskip("polars")
    table = DeltaTable(root)
    schema = pl.scan_delta(table).collect_schema()
    # Oldest first: what the first file holds must not decide which columns there are.
    files = sorted(table.file_uris())
    levels = {name: schema[name] for name in ("tp_table", "tp_partition", "tp_index", "tp_date")}
    options = {"schema": schema, "missing_columns": "insert", "hive_partitioning": True, "hive_schema": levels}
    return of_polars(pl.scan_parquet(files, **options))


def by_clickhouse(root: str) -> Facts:
    sql = FACTS.replace("cast(min(tp_timestamp) as varchar(40))", "substring(toString(min(tp_timestamp)), 1, 19)")
    row = clickhouse(root, sql.format(f"deltaLakeLocal('{root}')"))
    return tuple(int(value) if i in (0, 1, 2, 3, 6, 7) else value for i, value in enumerate(row))


def of_polars(rows: Any) -> Facts:
    from polars import col, len

    facts = rows.select(
        len().alias("rows"), col("n").sum(), col("late").sum(), col("never").count(),
        col("tp_index").max().alias("most"), col("tp_index").min().alias("least"), col("tp_index").n_unique(),
        col("tp_date").n_unique(), col("tp_partition").min().alias("first"),
        col("tp_partition").max().alias("last"), col("tp_table").min(),
        col("tp_timestamp").min().dt.strftime("%Y-%m-%d %H:%M:%S"),
    )  # fmt: skip
    return tuple(facts.collect().row(0))


READERS = [
    by_delta_rs,
    by_pyarrow_table,
    by_duckdb_over_the_dataset,
    by_duckdb_over_the_files,
    by_duckdb_delta,
    by_polars_through_arrow,
    by_polars_over_the_files,
    by_clickhouse,
]


@pytest.mark.parametrize("reader", READERS)
def test_equal_counts_and_sums(reader: Callable[[str], Facts], root: str) -> None:
    assert reader(root) == EXPECTED


def test_polars_takes_the_tables_directory_for_a_column(root: str) -> None:
    """The day that this fails, the docs may say `pl.scan_delta(root)` without more."""
    pl = pytest.importorskip("polars")
    with pytest.raises(pl.exceptions.SchemaFieldNotFoundError, match='Hive schema: "tp_table"'):
        pl.scan_delta(root).collect()


@pytest.mark.parametrize("example", EXAMPLES)
def test_documented_calls(example: str, root: str) -> None:
    if "polars" in example:
        pytest.importorskip("polars")
    if "delta_scan" in example:
        needs_delta_extension()
    names: dict[str, Any] = {"root": root}
    exec(example, names)
    assert names["rows"] == EXPECTED[0]

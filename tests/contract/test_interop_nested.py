"""Structs, JSON, columns that no file has and an index of digits, as other engines see them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from clickhouse import clickhouse
from deltalake import DeltaTable, QueryBuilder
from openlake import NESTED_EXPECTED, Facts, make_trail

DUCKDB = """
select count(*), count(distinct user_identity.arn), count(user_identity.user_name),
       max(user_identity.session_context.session_issuer.user_name),
       count(distinct request_parameters->>'bucketName'), sum(cast(request_parameters->>'n' as int)),
       {never}, max(tp_index), min(tp_index)
from {rows}
"""
CLICKHOUSE = """
select count(*), count(distinct u.arn), count(u.user_name), max(u.session_context.session_issuer.user_name),
       count(distinct JSONExtract(parameters, 'bucketName', 'Nullable(String)')), sum(JSONExtractInt(parameters, 'n')),
       count(shared_event_id), max(tp_index), min(tp_index)
from (select *, user_identity as u, request_parameters as parameters from deltaLakeLocal('{root}'))
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("trail")
    return make_trail(folder / "home", folder / "logs")


def by_delta_rs(root: str) -> Facts:
    """DataFusion has no functions for JSON by itself: the text is taken apart here."""
    sql = """
        select count(*), count(distinct user_identity['arn']), count(user_identity['user_name']),
               max(user_identity['session_context']['session_issuer']['user_name']),
               array_agg(request_parameters), count(shared_event_id), max(tp_index), min(tp_index)
        from trail"""
    answer = pa.table(QueryBuilder().register("trail", DeltaTable(root)).execute(sql).read_all())
    values = [column[0].as_py() for column in answer.columns]
    return (*values[:4], *of_json(values[4]), *values[5:])


def of_json(texts: list[str | None]) -> tuple[int, int]:
    told = [json.loads(text) for text in texts if text is not None]
    return len({one["bucketName"] for one in told}), sum(one["n"] for one in told)


def by_pyarrow_dataset(root: str) -> Facts:
    rows = DeltaTable(root).to_pyarrow_dataset().to_table()
    identity = rows.column("user_identity").combine_chunks()
    index = rows.column("tp_index").to_pylist()
    return (
        rows.num_rows,
        len(pc.unique(pc.struct_field(identity, "arn"))),
        pc.count(pc.struct_field(identity, "user_name")).as_py(),
        pc.max(pc.struct_field(identity, ["session_context", "session_issuer", "user_name"])).as_py(),
        *of_json(rows.column("request_parameters").to_pylist()),
        pc.count(rows.column("shared_event_id")).as_py(),
        max(index),
        min(index),
    )


def by_duckdb_over_the_dataset(root: str) -> Facts:
    trail = DeltaTable(root).to_pyarrow_dataset()
    assert trail is not None
    return duckdb.sql(DUCKDB.format(rows="trail", never="count(shared_event_id)")).fetchall()[0]


def by_duckdb_over_the_files(root: str) -> Facts:
    """Hive types are not guessed: the columns are in the files."""
    scan = "read_parquet(?, union_by_name = true, hive_partitioning = false)"
    return duckdb.execute(DUCKDB.format(rows=scan, never="0"), [DeltaTable(root).file_uris()]).fetchall()[0]


def by_polars(root: str) -> Facts:
    pl: Any = pytest.importorskip("polars")
    table = DeltaTable(root)
    schema = pl.scan_delta(table).collect_schema()
    levels = {name: schema[name] for name in ("tp_table", "tp_partition", "tp_index", "tp_date")}
    options = {"schema": schema, "missing_columns": "insert", "hive_partitioning": True, "hive_schema": levels}
    identity, parameters = pl.col("user_identity").struct, pl.col("request_parameters").str
    issuer = identity.field("session_context").struct.field("session_issuer").struct.field("user_name")
    facts = pl.scan_parquet(table.file_uris(), **options).select(
        pl.len().alias("rows"),
        identity.field("arn").n_unique(),
        identity.field("user_name").count(),
        issuer.max().alias("issuer"),
        parameters.json_path_match("$.bucketName").drop_nulls().n_unique().alias("buckets"),
        parameters.json_path_match("$.n").cast(pl.Int64).sum().alias("n"),
        pl.col("shared_event_id").count(),
        pl.col("tp_index").max().alias("last"),
        pl.col("tp_index").min().alias("first"),
    )
    return tuple(facts.collect().row(0))


def by_clickhouse(root: str) -> Facts:
    """It fails on a field of a struct of the table itself, and not on one of a subquery."""
    row = clickhouse(root, CLICKHOUSE.format(root=root))
    return tuple(int(value) if i in (0, 1, 2, 4, 5, 6) else value for i, value in enumerate(row))


READERS = [
    by_delta_rs,
    by_pyarrow_dataset,
    by_duckdb_over_the_dataset,
    by_duckdb_over_the_files,
    by_polars,
    by_clickhouse,
]


@pytest.mark.parametrize("reader", READERS)
def test_equal_answers(reader: Callable[[str], Facts], root: str) -> None:
    assert reader(root) == NESTED_EXPECTED

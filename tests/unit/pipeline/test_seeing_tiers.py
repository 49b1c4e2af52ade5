"""Days that rest in tiers are seen once, by every engine and schema, and no query writes there."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from tieredlake import DAYS, PLACE, ROWS, Tiered

from tailrace.cli.main import cli
from tailrace.cli.tiers import tiers_of
from tailrace.core.errors import QueryError
from tailrace.lake.paths import Lake
from tailrace.lake.resting import path_of
from tailrace.lake.snapshot import snapshot
from tailrace.query.engine import Engine
from tailrace.query.filters import Schema
from tailrace.query.limits import Limits


def test_other_engines_and_sandboxes_follow_the_links(tiered: Tiered) -> None:
    import polars as pl
    from deltalake import DeltaTable

    tiered.maintain()
    root = tiered.lake.table_root(PLACE[0]).uri
    table, rows = DeltaTable(root), 2 * ROWS * len(DAYS)
    assert table.to_pyarrow_table(columns=["tp_id"]).num_rows == rows
    assert pl.scan_delta(root, use_pyarrow=True).select("tp_id").collect().height == rows
    listed = pl.scan_parquet(
        table.file_uris(), hive_partitioning=False, missing_columns="insert", extra_columns="ignore"
    )
    assert listed.select("tp_id").collect().height == rows
    count = f"select count(*) from read_parquet({table.file_uris()})"
    assert duckdb.sql(count).fetchall() == [(rows,)]
    engine = Engine(Lake(tiered.home), limits=Limits(sandboxed=True))
    (result,) = engine.run("select count(*) from nginx_access_log")
    assert [*result.rows] == [(rows,)]


@pytest.mark.parametrize("name", ["old store", "recent"])
def test_queries_write_into_no_tier(tiered: Tiered, name: str) -> None:
    """Known by the links, where no configuration is at hand."""
    tiered.maintain()
    out = tiered.home.parent / "tiers" / name / "x.csv"
    engine = Engine(Lake(tiered.home), limits=Limits(writable=(str(tiered.home.parent),)))
    with pytest.raises(QueryError, match="belongs to the lake"):
        list(engine.run(f"copy nginx_access_log to '{out}'"))
    with pytest.raises(QueryError, match="belongs to the lake"):
        list(engine.run(f"copy nginx_access_log to '{out.parent}/tp_table=nginx_access_log/x.csv'"))
    assert not out.exists()


def test_statistics_survive_so_that_queries_skip_files(tiered: Tiered) -> None:
    columns = [
        "min.tp_timestamp",
        "max.tp_timestamp",
        "min.remote_addr",
        "max.remote_addr",
        "null_count.status",
        "rows",
    ]

    def told() -> list[dict[str, Any]]:
        files = snapshot(tiered.lake, PLACE[0]).files
        return sorted(files.select([c for c in columns if c in files.column_names]).to_pylist(), key=str)

    before = told()
    tiered.maintain()
    assert told() == before


def test_schemas_see_the_stores_that_they_name(tiered: Tiered) -> None:
    tiered.write_store(old="attached = false")
    tiered.maintain()
    schemas = [
        Schema("archive", stores=("old",)),
        Schema("every"),
        Schema("here", stores=("workspace",)),
        Schema("rec", stores=("rec*",)),
    ]
    engine = Engine(Lake(tiered.home), dict, lambda: schemas, tiers=lambda: tiers_of(tiered.config()))

    def days(schema: str) -> list[date]:
        (result,) = engine.run(f"select distinct tp_date from {schema}.nginx_access_log order by 1")
        return [day for (day,) in result.rows]

    assert days("archive") == DAYS[:2]
    assert days("every") == DAYS
    assert days("here") == DAYS[2:3]
    assert days("rec") == DAYS[3:]
    assert days("tailrace") == DAYS[2:], "what is not attached is not part of the default schema"


def test_what_rests_where_is_told(tiered: Tiered) -> None:
    tiered.maintain()
    done = CliRunner().invoke(cli, ["--home", str(tiered.home), "store", "show", "default", "--output", "json"])
    assert done.exit_code == 0, done.output
    told = {tier["name"]: (tier["rows"], tier["files"], tier["first"]) for tier in json.loads(done.stdout)["tiers"]}
    assert told == {
        "recent": (4 * ROWS, 4, str(DAYS[3])),
        "old": (4 * ROWS, 4, str(DAYS[0])),
        "workspace": (2 * ROWS, 2, str(DAYS[2])),
    }


def test_what_rests_where_no_tier_is_any_more_is_told(tiered: Tiered) -> None:
    """It was counted as the workspace's."""
    tiered.maintain()
    tiered.write_store(text='store "default" {{\n tier "recent" {{\n path = "{tiers}/recent"\n}}\n}}\n{old}\n')
    done = CliRunner().invoke(cli, ["--home", str(tiered.home), "store", "show", "default", "--output", "json"])
    told = {tier["name"]: (tier["path"], tier["rows"], tier["first"]) for tier in json.loads(done.stdout)["tiers"]}
    tiers = tiered.home.parent / "tiers"
    assert told == {
        "recent": (f"{tiers}/recent", 4 * ROWS, str(DAYS[3])),
        "workspace": (str(tiered.lake.data_root), 2 * ROWS, str(DAYS[2])),
        "orphaned": (f"{tiers}/old store", 4 * ROWS, str(DAYS[0])),
    }


def test_the_path_of_a_bucket_is_told_by_its_files() -> None:
    assert path_of("s3://cold/a b/tp_table=t/tp_partition=p/tp_index=i/tp_date=2024-05-01/x.parquet") == "s3://cold/a b"

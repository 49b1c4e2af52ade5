"""The Python API on Spark: in the session of this process, which is active and stays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from world import World

    import tailrace

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    # Spark's workers import this module too, and do not know where the tests' own modules are.
    from weblake import made_trail

    return made_trail(tmp_path_factory.mktemp("api"))


@pytest.fixture
def lake(world: World, spark: SparkSession) -> Iterator[tailrace.Lake]:
    import tailrace

    with tailrace.open(world.home) as opened:
        yield opened
    assert spark.range(3).count() == 3, "a session that was there before stays"


def test_answers_go_to_spark(lake: tailrace.Lake) -> None:
    sql = "select status, count(*) as n, sum(status) as s, max(tp_timestamp) as t, any_value(tp_ips) as ips"
    answer = lake.sql(f"{sql} from nginx_access_log group by all order by all")
    frame = answer.spark()
    assert [tuple(row) for row in frame.orderBy("status").collect()] == answer.rows()


def test_tables_are_read_by_spark(lake: tailrace.Lake) -> None:
    logs = lake.table("nginx_access_log").spark()
    assert logs.count() == 200
    columns = "tp_id, tp_timestamp, tp_date, tp_index, status, remote_addr, tp_ips"
    expected = lake.sql(f"select {columns} from nginx_access_log order by tp_id").rows()
    rows = logs.selectExpr(*columns.split(", ")).orderBy("tp_id").collect()
    assert [tuple(row) for row in rows] == expected
    events = lake.table("aws_cloudtrail").spark()
    assert events.where("user_identity.user_name = 'user0'").count() == 2


def test_filters_hold_on_spark(lake: tailrace.Lake) -> None:
    noon = datetime(2024, 5, 1, 12)
    assert lake.table("nginx_access_log", start=noon, end="2024-05-02").spark().count() == 50
    assert lake.table("first_day.nginx_access_log").spark().count() == 100
    assert lake.table("nginx_access_log", index="nothing").spark().count() == 0
    assert lake.table("syslog").spark().columns[-1] == "tp_extra"
    from tailrace.core import QueryError

    with pytest.raises(QueryError, match="nothing"):
        lake.table("nothing").spark()


def test_collections(tmp_path: Path, spark: SparkSession) -> None:
    from logfiles import write
    from weblake import CONFIG, write_web

    import tailrace

    world = write_web(tmp_path)
    lake = tailrace.open(world.home, spark_conf={"spark.ui.enabled": False})
    (report,) = lake.collect("nginx_access_log.*", progress=False)
    assert (report.name, report.counts.stored, report.clean) == ("nginx_access_log.web", 200, True)
    (again,) = lake.collect()
    assert again.counts.stored == 0
    assert lake.sql("select count(*) from nginx_access_log").rows() == [(200,)]
    (part,) = lake.collect("web", start="2024-05-02", overwrite=True)
    assert part.counts.stored == 100
    missing = CONFIG.format(root=tmp_path) + 'partition "syslog" "gone" { source "file" { paths = ["/no/such"] } }'
    world.write_config(missing)
    write(tmp_path / "logs" / "web" / "bad.log.gz", "").write_bytes(b"\x1f\x8bnot gzip")
    with pytest.raises(tailrace.CollectError) as caught:
        lake.collect()
    assert {report.name for report in caught.value.reports} == {"nginx_access_log.web", "syslog.gone"}
    assert lake.sql("select count(*) from nginx_access_log").rows() == [(200,)]


def test_the_page(world: World, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    import tailrace

    monkeypatch.setenv("TAILRACE_HOME", str(world.home))
    found: dict[str, object] = {"tailrace": tailrace, "lake": tailrace.open()}
    blocks = re.findall(r"^```python spark\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), found)
    assert found["failures"] == 10
    assert found["frame"].count() == 2  # type: ignore[attr-defined]

"""Rows of a lake with the same columns, exported as JSON lines, are the same rows once they were collected."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable
from logfiles import access_lines, today, write
from world import World

from tailrace.cli.demo import CONFIG
from tailrace.cli.samples import write_samples
from tailrace.core.registry import find_table

APACHE = 'partition "apache_access_log" "www" {{ source "file" {{ paths = ["{logs}/apache"] }} }}'
AS_THE_LOG_WRITES = {
    "apache_access_log": "strftime(timestamp, '%d/%b/%Y:%H:%M:%S +0000') as timestamp",
    "aws_vpc_flow_log": "epoch(start_time) as start_time, epoch(end_time) as end_time",
}
"Times that an export spells otherwise than the log."
SHARED = ("tp_timestamp", "tp_date", "tp_ips", "tp_source_ip")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("demo")
    write_samples(root / "logs", datetime.now(UTC).replace(tzinfo=None))
    write(root / "logs" / "apache" / "access.log", access_lines(today() - timedelta(days=1), 200))
    world = World(root / "home")
    world.write_config((CONFIG + APACHE).format(logs=root / "logs"))
    assert all(report.clean for report in world.collect())
    return world


@pytest.mark.parametrize("name", ["apache_access_log", "aws_cloudtrail_log", "aws_vpc_flow_log", "nginx_access_log"])
def test_exported_rows_are_collected_alike(name: str, demo: World, world: World, tmp_path: Path) -> None:
    table = find_table(name)
    assert table is not None
    logs = DeltaTable(demo.lake.table_root(name).path).to_pyarrow_dataset()
    exported = tmp_path / "exported.jsonl"
    nested = [column.name for column in table.columns if column.type == "json"]
    changes = [*(f"{column}::json as {column}" for column in nested), AS_THE_LOG_WRITES.get(name, "'' as tp_tags")]
    duckdb.execute(
        "copy (select columns(lambda c: not starts_with(c, 'tp_')) "
        f"from (select * replace ({', '.join(changes)}) from logs)) to '{exported}' (format json)"
    )
    assert logs.count_rows()
    same = "".join(f'{column.name} = "{column.name}"\n' for column in table.columns if column.src)
    world.write_config(f"""
        format "jsonl" "exported" {{
          field_map = {{ {same} }}
        }}
        partition "{name}" "before" {{
          source "file" {{
            paths  = ["{exported}"]
            format = format.jsonl.exported
          }}
        }}
    """)
    (report,) = world.collect()
    assert (report.clean, report.counts.stored, report.counts.quarantined) == (True, logs.count_rows(), 0)
    own = [f"json({c.name})" if c.name in nested else f'"{c.name}"' for c in table.columns]
    rows = f"select {', '.join((*own, *SHARED))} from {name} order by all"
    assert world.query(rows) == demo.query(rows)
    assert world.query(f"select count(tp_extra) from {name}") == [(0,)]

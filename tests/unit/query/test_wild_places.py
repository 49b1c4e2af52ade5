"""A lake in a directory whose name DuckDB takes for a pattern, beside a copy that the pattern fits."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from lakecheck import check, stored
from logfiles import access_lines, today, write
from world import World

from tailrace.cli.main import cli

ROWS = 24


@pytest.mark.parametrize(
    ("name", "other"), [("lake[1]", "lake1"), ("lake?", "lakes"), ("lake*", "lake"), ("{a,b}", "a")]
)
def test_rows_come_from_the_lake_itself(tmp_path: Path, name: str, other: str) -> None:
    """A copy has files of the same names; in this one they are others, and were read in place of the lake's own."""
    world = World(tmp_path / name / "home")
    logs = tmp_path / "logs"
    source = f'source "file" {{ paths = ["{logs}"] }}'
    world.write_config(
        f'partition "nginx_access_log" "web" {{\n dedupe = ["remote_addr", "request_uri"]\n {source}\n}}'
    )
    write(logs / "a.log", access_lines(today(), ROWS))
    assert all(report.clean for report in world.collect())
    rows = stored(world.home)
    shutil.copytree(tmp_path / name, tmp_path / other)
    for file in (tmp_path / other).rglob("*.parquet"):
        file.write_bytes(b"no Parquet file")
    assert world.query("select count(*) from nginx_access_log where remote_user is not null or true") == [
        (rows.total(),)
    ]
    command = ["--home", str(world.home), "query", "select count(tp_id) as n from nginx_access_log", "--output", "csv"]
    for more in ((), ("--sandbox",)):
        done = CliRunner().invoke(cli, [*command, *more])
        assert (done.exit_code, done.stdout) == (0, f"n\n{rows.total()}\n"), done.output
    write(logs / "b.log", access_lines(today(), ROWS + 6))
    assert all(report.clean for report in world.collect())
    (report,) = world.compact()
    assert (report.clean, report.files_after) == (True, 1)
    check(world.home, "nginx_access_log", "web")

"""A table whose log may not be read: it is named, and the others go on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commandline import Finished, Home
from logfiles import access_lines, today, write
from world import World

TABLES = ("apache_access_log", "nginx_access_log")
POWERS = "-dac_override,-dac_read_search"
"What lets root read everything."


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "home")
    world.write_config(
        "\n".join(f'partition "{t}" "web" {{ source "file" {{ paths = ["{tmp_path}/logs"] }} }}' for t in TABLES)
    )
    for name in ("a", "b"):
        write(tmp_path / "logs" / f"{name}.log", access_lines(today(), 5))
        assert all(report.clean for report in world.collect())
    return world


@pytest.fixture
def denied(world: World) -> Iterator[Path]:
    log = world.lake.table_root("nginx_access_log").path / "_delta_log"
    log.chmod(0)
    yield log
    log.chmod(0o755)


def run(world: World, *arguments: str) -> Finished:
    """As somebody who may not read everything, also where the tests may."""
    powerless = ["setpriv", f"--bounding-set={POWERS}", f"--inh-caps={POWERS}"] if os.geteuid() == 0 else []
    if powerless and shutil.which("setpriv") is None:
        pytest.skip("root reads everything")
    command = [*powerless, sys.executable, "-m", "tailrace.cli.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=Home(world.home).environment(), check=False)
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "select count(*) from nginx_access_log"),
        ("maintain", "--no-compact"),
        ("compact", "nginx_access_log"),
        ("compact", "--dry-run"),
        ("partition", "delete", "nginx_access_log.web", "--force"),
        ("partition", "show", "nginx_access_log.web"),
        ("partition", "history", "nginx_access_log.web"),
    ],
)
def test_it_is_named(world: World, denied: Path, arguments: tuple[str, ...]) -> None:
    done = run(world, *arguments)
    assert done.code == 5, done.err
    assert "[lake.denied]" in done.err
    assert f"{denied}: Permission denied" in done.err


def test_other_tables_go_on(world: World, denied: Path) -> None:
    answer = run(world, "query", "select count(*) n from apache_access_log", "--output", "csv")
    assert (answer.code, answer.out) == (0, "n\n10\n")
    listed = run(world, "partition", "list", "--output", "json")
    assert {row["name"]: (row["state"], row["rows"]) for row in listed.json()} == {
        "apache_access_log.web": ("configured", 10),
        "nginx_access_log.web": ("damaged", None),
    }
    assert "table nginx_access_log cannot be read" in listed.err
    found = {one["name"]: one["state"] for one in run(world, "doctor", "--output", "json").json()}
    assert (found["apache_access_log"], found["nginx_access_log"]) == ("ok", "error")


def test_nothing_of_it_is_collected(world: World, denied: Path, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "c.log", access_lines(today(), 5))
    done = run(world, "collect", "--output", "json")
    assert done.code == 5, done.err
    found = {one["partition"]: one for one in done.json()["partitions"]}
    whole, refused = (found[f"{table}.web"] for table in TABLES)
    assert (whole["rows"]["stored"], whole["error"]) == (5, None)
    assert refused["error"] == {"code": "lake.denied", "message": f"{denied}: Permission denied"}


def test_a_lake_that_may_not_be_looked_at(world: World) -> None:
    directory = world.lake.data_root.path
    directory.chmod(0)
    try:
        done = run(world, "table", "list")
    finally:
        directory.chmod(0o755)
    assert (done.code, f"error[lake.denied]: {directory}: Permission denied" in done.err) == (5, True), done.err

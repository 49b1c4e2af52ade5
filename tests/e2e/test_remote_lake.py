"""The command line on a lake in a bucket: every command, a second process; and no secret to be found."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from commandline import Finished, Home
from lakecheck import check, stored
from logfiles import access_lines, today, write
from remotelake import BUCKET, MotoProcess, bucket_place, moto_process
from world import World

from tailrace.lake.lock import partition_lock
from tailrace.lake.paths import Lake

pytestmark = pytest.mark.warm

SECRET = "never-S3CRET-to-be-shown"
CONFIG = """
connection "aws" "lake" {
  endpoint_url = "URL"
  access_key   = "AKIALAKEOWNER"
  secret_key   = "SECRET"
  region       = "us-east-1"
}
workspace "default" {
  path             = "s3://BUCKET/logs of all/lake"
  connection       = connection.aws.lake
  query_cache_size = "1MB"
}
partition "nginx_access_log" "web" {
  source "file" { paths = ["LOGS"] }
}
"""
NAME = ("nginx_access_log", "web")
DAYS = [today() - timedelta(days=n) for n in (1, 2, 3)]


@pytest.fixture
def moto(tmp_path: Path) -> Iterator[MotoProcess]:
    with moto_process(tmp_path / "moto.log", BUCKET) as server:
        yield server


@pytest.fixture
def home(home: Home, moto: MotoProcess, tmp_path: Path) -> Home:
    for day in DAYS:
        write(tmp_path / "logs" / f"{day}.log", access_lines(day, 30) + "bad line\n")
    told = {"URL": moto.url, "SECRET": SECRET, "BUCKET": BUCKET, "LOGS": str(tmp_path / "logs")}
    text = CONFIG
    for word, value in told.items():
        text = text.replace(word, value)
    home.configure(text)
    return Home(home.path, home.env | {"TAILRACE_CACHE_DIR": str(tmp_path / "cache")})


@pytest.fixture
def lake(home: Home, moto: MotoProcess) -> Lake:
    return Lake(home.path, elsewhere=bucket_place(moto.url, "logs of all/lake"))


@pytest.fixture
def local(home: Home, tmp_path: Path) -> World:
    """The same collected to disk."""
    world = World(tmp_path / "local")
    world.write_config(f'partition "nginx_access_log" "web" {{ source "file" {{ paths = ["{tmp_path}/logs"] }} }}')
    assert all(report.clean for report in world.collect())
    return world


def test_every_command(home: Home, lake: Lake, local: World, tmp_path: Path) -> None:
    said: list[str] = []

    def run(*args: str, code: int = 0) -> Finished:
        done = home.run("-vv", *args)
        assert done.code == code, done
        said.append(done.out + done.err)
        return done

    assert run("collect", "--dry-run", "--output", "json").json()
    assert not lake.data_root.exists()
    run("collect")
    assert stored(lake) == stored(local.lake)
    check(lake, *NAME)
    everything = "select * exclude (tp_ingest_timestamp) from nginx_access_log order by tp_id"
    assert home.query(everything) == Home(local.home, home.env).query(everything)
    assert home.query(f"select count(*) as n from nginx_access_log where tp_date = '{DAYS[0]}'") == [{"n": 30}]
    assert home.query("select count(*) as n from tp_quarantine") == [{"n": 3}]
    (listed,) = run("partition", "list", "--output", "json").json()
    assert (listed["rows"], listed["files"]) == (90, 3)
    run("partition", "show", "web")
    (table,) = [row for row in run("table", "list", "--output", "json").json() if row["rows"]]
    assert table["rows"] == 90
    assert "s3://" in run("store", "list").out
    with partition_lock(lake, *NAME, "tailrace collect"):
        second = run("partition", "delete", "web", "--force", code=6)
        assert f"process {os.getpid()} on " in second.err
    (gone,) = run("partition", "delete", "web", "--from", f"{DAYS[1]}", "--force", "--output", "json").json()
    assert gone["rows"] == 60
    assert len(run("partition", "history", "web", "--output", "json").json()) >= 2
    (back,) = run("partition", "restore", "web", "--output", "json").json()
    assert back["rows"] == 90
    assert stored(lake) == stored(local.lake)
    assert run("quarantine", "list", "--output", "json").json()[0]["records"] == 3
    assert len(run("quarantine", "show", "web", "--output", "json").json()) == 3
    run("quarantine", "purge", "web", "--force")
    doctor = run("doctor", "--output", "json").json()
    assert [f for f in doctor if f["name"] == "nginx_access_log" and f["state"] == "ok"]
    run("config", "show")
    (lies,) = [row for row in run("connection", "test", "lake", "--output", "json").json() if row["what"] != "identity"]
    assert (lies["what"], lies["ok"]) == (f"s3://{BUCKET}/logs of all/lake", True)
    (tmp_path / "logs" / "broken.log").write_text("")
    lake.table_root(NAME[0]).delete(list(lake.table_root(NAME[0]).walk("tp_partition=web"))[:1])
    broken = [f for f in run("doctor", "--output", "json", code=1).json() if f["state"] == "error"]
    assert "the file is missing" in broken[0]["detail"]
    lost = home.run("query", "select * from nginx_access_log", TAILRACE_CACHE_DIR=str(tmp_path / "other cache"))
    assert lost.code == 5
    assert f"s3://{BUCKET}/logs of all/lake/data/tp_table=nginx_access_log/tp_partition=web/" in lost.err

    assert not [text for text in said if "S3CRET" in text]
    assert not (home.path / "data").exists()
    assert not (home.path / "meta").exists()
    for path in tmp_path.rglob("*"):
        with suppress(OSError):
            assert path.name == "test.tpc" or not path.is_file() or b"S3CRET" not in path.read_bytes(), path
    for path in lake.elsewhere.walk():  # type: ignore[union-attr]
        assert b"S3CRET" not in lake.elsewhere.read(path)  # type: ignore[union-attr]

"""A lake in a bucket: everything is done to it that is done to one on disk, and both hold the same rows."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from azuriteserver import Azurite, azurite_server
from lakecheck import check, stored
from remotelake import (
    BUCKET,
    SECRET_KEY,
    MotoProcess,
    azure_place,
    bucket_place,
    google_place,
    google_process,
    moto_process,
)
from world import World

from tailrace.core import LockedError, TimeRange
from tailrace.core.errors import LakeError, QueryError
from tailrace.lake import segments
from tailrace.lake.intents import partitions, read_ledger
from tailrace.lake.lock import partition_lock
from tailrace.lake.materialized import refresh
from tailrace.lake.purge import purge
from tailrace.lake.quarantined import grouped, records
from tailrace.lake.snapshot import tables
from tailrace.lake.sought import Sought
from tailrace.lake.table import open_table
from tailrace.lake.undo import erase, history, last_change, restore
from tailrace.query.engine import Engine
from tailrace.query.filters import Schema
from tailrace.query.tables import live_tables

START = datetime(2024, 3, 1)
CONFIG = """
table "t" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "ts" }
  column "n" { type = "integer" }
  column "id" {}
}
partition "t" "p" {
  MORE
  source "file" { paths = ["LOGS/*.jsonl"] }
}
"""


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MotoProcess]:
    with moto_process(tmp_path_factory.mktemp("moto") / "log", BUCKET) as server:
        yield server


@pytest.fixture(scope="module")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    with azurite_server(tmp_path_factory.mktemp("azurite")) as server:
        server.container(BUCKET, {})
        yield server


@pytest.fixture(scope="module")
def google() -> Iterator[str]:
    with google_process() as url:
        yield url


@pytest.fixture
def twins(tmp_path: Path, moto: MotoProcess, monkeypatch: pytest.MonkeyPatch) -> tuple[World, World]:
    """Two worlds over the same logs: one with its lake on disk, one with it in a bucket."""
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "logs").mkdir()
    remote = World(tmp_path / "remote", elsewhere=bucket_place(moto.url, tmp_path.name))
    twins = World(tmp_path / "local"), remote
    configure(twins)
    return twins


def configure(worlds: tuple[World, World], more: str = "") -> None:
    for world in worlds:
        logs = world.home.parent / "logs"
        world.write_config(CONFIG.replace("LOGS", str(logs)).replace("MORE", more))


def write(worlds: tuple[World, World], name: str, days: range, bad: int = 0) -> None:
    lines = [
        json.dumps(
            {"ts": f"{START + timedelta(days=day, hours=hour):%Y-%m-%dT%H:%M:%SZ}", "n": hour, "id": f"{day}-{hour}"}
        )
        for day in days
        for hour in range(24)
    ]
    lines += ['{"n": "no time"}'] * bad
    (worlds[0].home.parent / "logs" / name).write_text("\n".join(lines) + "\n")


def collect(worlds: tuple[World, World], **more: Any) -> None:
    for world in worlds:
        (report,) = world.collect(**more)
        assert report.error is None
        assert report.clean


def assert_equal(worlds: tuple[World, World]) -> None:
    local, remote = worlds
    assert stored(remote.lake) == stored(local.lake)
    for world in worlds:
        check(world.lake, "t", "p")
    for sql in (
        "select * exclude (tp_ingest_timestamp) from t order by all",
        "select uri, position, reason, raw from tp_quarantine order by all",
    ):
        assert remote.query(sql) == local.query(sql)


def test_it_is_all_in_the_bucket(twins: tuple[World, World]) -> None:
    remote = twins[1]
    write(twins, "a.jsonl", range(3), bad=2)
    collect(twins)
    assert_equal(twins)
    assert not (remote.home / "data").exists()
    assert not (remote.home / "meta").exists()
    found = list(remote.lake.elsewhere.walk())  # type: ignore[union-attr]
    roots = {"data/tp_table=t", *(f"meta/{kind}/t" for kind in ("ledger", "locks", "quarantine"))}
    assert {"/".join(path.split("/")[: 2 if path.startswith("data") else 3]) for path in found} == roots
    assert tables(remote.lake) == ["t"]
    assert list(partitions(remote.lake)) == [("t", "p")]
    for path in found:
        assert SECRET_KEY.encode() not in remote.lake.elsewhere.read(path)  # type: ignore[union-attr]


def test_changes_of_all_kinds(twins: tuple[World, World]) -> None:
    write(twins, "a.jsonl", range(4))
    collect(twins)
    write(twins, "a.jsonl", range(1, 4))  # replaced
    write(twins, "b.jsonl", range(2))
    collect(twins, overwrite=True, window=TimeRange(START, None))
    assert_equal(twins)
    cut = TimeRange(START + timedelta(hours=30), START + timedelta(hours=60))
    for world in twins:
        erase(world.lake, "t", "p", cut)
    assert_equal(twins)
    kinds = [[(c.kind, c.artifacts, c.files) for c in history(w.lake, "t", "p")] for w in twins]
    assert kinds[0] == kinds[1]
    for world in twins:
        restore(world.lake, "t", "p", last_change(world.lake, "t", "p").version - 1)
    assert_equal(twins)


def test_quarantine(twins: tuple[World, World]) -> None:
    write(twins, "a.jsonl", range(1), bad=3)
    collect(twins)
    listed = [grouped(w.lake, ["t.p"], Sought(), None) for w in twins]
    assert listed[0][0]["records"] == listed[1][0]["records"] == 3
    assert listed[1][0]["example"] == '{"n": "no time"}'
    assert records(twins[1].lake, ["t.p"], Sought(), 2)[1] == 3
    for world in twins:
        text = (world.home / "config" / "test.tpc").read_text()
        world.write_config(
            text.replace('{ source = "ts" }', "{ transform = \"coalesce(ts, '2024-03-01')::timestamp\" }")
        )
        (tried,) = world.replay(dry_run=True)
        assert (tried.tried, tried.stored) == (3, 3)
        assert not [path for path in world.lake.meta_root.walk() if path.startswith("replay")]
        (done,) = world.replay()
        assert (done.stored, done.quarantined) == (3, 0)
    assert_equal(twins)
    write(twins, "b.jsonl", range(1), bad=1)
    path = twins[0].home.parent / "logs" / "b.jsonl"
    path.write_text(path.read_text() + "no json\n")
    collect(twins)
    for world in twins:
        assert purge(world.lake, "t", "p", Sought()).records == 1
        assert grouped(world.lake, ["t.p"], Sought(), None) == []
    assert_equal(twins)


def test_duplicates_by_key(twins: tuple[World, World]) -> None:
    configure(twins, 'dedupe = ["id"]')
    write(twins, "a.jsonl", range(2))
    collect(twins)
    write(twins, "b.jsonl", range(1, 3))
    collect(twins)
    assert_equal(twins)
    assert stored(twins[1].lake).total() == 3 * 24
    (twins[0].home.parent / "logs" / "a.jsonl").write_text('{"ts": "2024-03-01T00:00:00Z", "id": "other"}\n')
    collect(twins, overwrite=True, window=TimeRange(START, None))
    assert_equal(twins)


def test_many_commits_are_folded(twins: tuple[World, World], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "FOLD_EVERY", 2)
    remote = twins[1]
    for n in range(4):
        write(twins, f"{n}.jsonl", range(n, n + 1))
        remote.collect()
    directory = remote.lake.meta("ledger", "t", "p")
    assert sum(name.startswith("fold-") for name in directory.names()) == 2
    assert segments.last_fold(directory) >= 4
    assert read_ledger(remote.lake, "t", "p").entries.num_rows == 4
    twins[0].collect()
    assert stored(remote.lake) == stored(twins[0].lake)


def test_a_query_of_one_day_fetches_that_day_and_nothing_twice(twins: tuple[World, World], moto: MotoProcess) -> None:
    remote = twins[1]
    write(twins, "a.jsonl", range(5))
    collect(twins)
    announced: list[tuple[int, int]] = []
    before = moto.forget()
    engine = Engine(remote.lake, announce=lambda *told: announced.append(told))
    day = "select count(*) from t where tp_date = '2024-03-02'"
    assert next(iter(engine.run(day))).rows.__next__() == (24,)
    (fetched,) = moto.files_read(before)
    assert "tp_date=2024-03-02/" in fetched
    assert announced == [(1, announced[0][1])]
    assert next(iter(Engine(remote.lake).run(day))).rows.__next__() == (24,)
    assert len(moto.files_read(before)) == 1
    assert remote.query("select count(*) from t") == [(120,)]
    assert len(moto.files_read(before)) == 5


def test_a_materialised_schema_is_kept_here(twins: tuple[World, World], moto: MotoProcess) -> None:
    lake = twins[1].lake
    write(twins, "a.jsonl", range(3))
    collect(twins)
    schema = Schema("kept", materialized=True)
    before = moto.forget()
    done = refresh(lake, schema.name, live_tables(lake, schema), "tailrace schema refresh")
    assert (done.rows, [kept.files for kept in done.tables]) == (72, [3])
    assert len(moto.files_read(before)) == 3
    write(twins, "b.jsonl", range(3, 4))
    collect(twins)
    before = moto.forget()
    engine = Engine(lake, schemas=lambda: [schema])
    assert next(iter(engine.run("select count(*), max(n) from kept.t"))).rows.__next__() == (72, 23)
    assert not moto.files_read(before)
    assert refresh(lake, schema.name, live_tables(lake, schema), "again").rows == 96
    assert len(moto.files_read(before)) == 1, "the others are here"


@pytest.mark.parametrize("cloud", ["gs", "az"])
def test_other_clouds(twins: tuple[World, World], cloud: str, request: pytest.FixtureRequest) -> None:
    """A server in a process of its own each, to which delta-rs commits."""
    local, remote = twins
    prefix, patch = remote.home.parent.name, request.getfixturevalue("monkeypatch")
    server = request.getfixturevalue({"gs": "google", "az": "azurite"}[cloud])
    place = google_place(server, prefix, patch) if cloud == "gs" else azure_place(server, prefix, patch)
    twins = local, World(remote.home, elsewhere=place)
    write(twins, "a.jsonl", range(2), bad=1)
    collect(twins)
    for world in twins:
        erase(world.lake, "t", "p", TimeRange(START, START + timedelta(hours=30)))
    assert_equal(twins)
    with (
        partition_lock(twins[1].lake, "t", "p", "first"),
        pytest.raises(LockedError),
        partition_lock(twins[1].lake, "t", "p", "second"),
    ):
        pass


def test_an_empty_commit_is_named(twins: tuple[World, World]) -> None:
    write(twins, "a.jsonl", range(2))
    collect(twins)
    for world in twins:
        log = world.lake.table_root("t") / "_delta_log"
        log.put(f"{1:020}.json", b"", "test")
        with pytest.raises(QueryError) as raised:
            world.query("select count(*) from t")
        assert (raised.value.code, raised.value.where) == ("lake.damaged-log", log.address(f"{1:020}.json"))


def test_a_store_that_cannot_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        place = bucket_place(url, max_error_retry_attempts=1)
        (tmp_path / "logs").mkdir()
        world = World(tmp_path / "home", elsewhere=place)
        world.write_config(CONFIG.replace("LOGS", str(tmp_path / "logs")).replace("MORE", ""))
        with pytest.raises(LakeError) as collected:
            world.collect()
        with pytest.raises(QueryError) as queried:
            world.query("select * from t")
        with pytest.raises(LakeError) as opened:
            open_table(place / "data/tp_table=t")
    for error in (collected.value, queried.value, opened.value):
        assert (error.code, error.message) == ("lake.io", "the server cannot be reached")
        assert str(error.where).startswith(f"s3://{BUCKET}/some/where/")

"""`tp_quarantine` tells what is wrong now, not what once was."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest
from logfiles import write
from world import World

from tailrace.core import TimeRange
from tailrace.lake.quarantine import read_quarantine
from tailrace.query.engine import Engine

GOOD = '{"at": "2024-05-01T10:00:00Z", "n": 1}\n'
LATER = '{"at": "2024-05-02T10:00:00Z", "n": 2}\n'


@pytest.fixture
def logs(world: World, tmp_path: Path) -> Path:
    world.write_config(f"""
        table "events" {{
          column "tp_timestamp" {{ source = "at" }}
          column "n"            {{ type = "bigint" }}
        }}
        partition "events" "p" {{ source "file" {{
          paths  = ["{tmp_path}/logs"]
          format = format.jsonl.default
        }} }}
    """)
    return tmp_path / "logs"


def rewrite(path: Path, text: str | bytes) -> None:
    """New content under a new modification time, however fast the test is."""
    before = path.stat().st_mtime_ns
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.utime(path, ns=(before + 10**9, before + 10**9))


def refused(world: World) -> list[str]:
    listed = [row[0].decode() for row in world.query("select raw from tp_quarantine order by 1")]
    read = read_quarantine(world.lake, "events", "p", ["raw"])
    assert sorted(raw.decode() for raw in read["raw"].to_pylist()) == listed
    return listed


def test_a_line_that_is_completed_later_vanishes(world: World, logs: Path) -> None:
    path = write(logs / "a.log", GOOD + LATER[:12])
    write(logs / "b.log", GOOD + "other\n")
    world.collect()
    assert len(refused(world)) == 2
    rewrite(path, GOOD + LATER)
    world.collect()
    assert refused(world) == ["other"]
    assert world.query("select count(*) from events") == [(3,)]


def test_growing_files_and_wider_ranges_list_each_record_once(world: World, logs: Path) -> None:
    path = write(logs / "a.log", GOOD + "bad\n")
    world.collect(window=TimeRange(datetime(2024, 5, 1), datetime(2024, 5, 2)))
    world.collect(window=TimeRange(datetime(2024, 4, 1), datetime(2024, 5, 3)))
    assert refused(world) == ["bad"]
    rewrite(path, GOOD + "bad\n" + LATER + "worse\n")
    world.collect()
    assert refused(world) == ["bad", "worse"]
    assert world.query("show tables")[-1] == ("tp_quarantine",)


def test_a_failed_reading_keeps_what_still_holds(world: World, logs: Path) -> None:
    path = write(logs / "a.log", "")
    path.write_bytes(b"\x1f\x8b\x08\x00rubbish that is no deflate stream")
    world.collect()
    assert len(world.query("from tp_quarantine")) == 1
    rewrite(path, GOOD + "bad\n")
    world.collect()
    assert refused(world) == ["bad"]
    rewrite(path, b"\x1f\x8b\x08\x00more rubbish")
    for _ in range(2):
        world.collect()
        reasons = world.query("select raw::varchar = 'bad' from tp_quarantine order by 1")
        assert reasons == [(False,), (True,)]
    assert world.query("select n from events") == [(1,)]


def test_a_damaged_file_does_not_hide_the_others(world: World, logs: Path) -> None:
    write(logs / "a.log", GOOD + "bad\n")
    world.collect()
    write(logs / "b.log", "worse\n")
    world.collect()
    directory = world.lake.meta("quarantine", "events", "p").path
    first = min(directory.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    first.write_bytes(first.read_bytes()[:20])
    engine = Engine(world.lake)
    (result,) = engine.run("select raw::varchar from tp_quarantine")
    assert list(result.rows) == [("worse",)]
    (warning,) = engine.warnings
    assert str(first) in warning

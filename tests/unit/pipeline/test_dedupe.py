"""Events that are delivered twice are stored once, by the key that a partition declares."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from bucketserver import BucketServer, serving
from deliveries import START, Event, Oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from world import World

from tailrace.core import TimeRange
from tailrace.lake.intents import read_ledger
from tailrace.pipeline import plan
from tailrace.pipeline.report import PartitionReport

CONFIG = """
connection "aws" "stand_in" {
  endpoint_url = "URL"
  access_key   = "k"
  secret_key   = "s"
  region       = "us-east-1"
}
format "jsonl" "e" {}
table "event" {
  format = format.jsonl.e
  column "tp_timestamp" { source = "time" }
  column "id" {}
}
partition "event" "p" {
  DEDUPE
  source "aws_s3_bucket" {
    connection = connection.aws.stand_in
    bucket     = "logs"
  }
}
"""
STORED = "select id, tp_timestamp, parse_filename(tp_source_location) from event"


class Lake:
    """A bucket that is collected, and the oracle beside it."""

    def __init__(self, home: Path, server: BucketServer, window: int | None = None, config: str = CONFIG) -> None:
        self.world, self.server = World(home / "home"), server
        self.oracle = Oracle(24 if window is None else window)
        said = 'dedupe = ["id"]' + ("" if window is None else f'\n  dedupe_window = "{window}h"')
        self.config = config.replace("URL", server.url)
        self.world.write_config(self.config.replace("DEDUPE", said))

    def put(self, files: dict[str, list[Event]]) -> None:
        for name, held in files.items():
            self.server.objects[name] = "".join(event.line() for event in held).encode()

    def deliver(self, files: dict[str, list[Event]]) -> PartitionReport:
        """Puts the files there and collects, until nothing is owed any more; after each run all is as it should be."""
        self.put(files)
        pending = files
        while True:
            expected = self.oracle.deliver(pending)
            (report,) = self.world.collect()
            assert report.error is None
            assert report.counts.duplicates == expected
            counts = report.counts
            assert counts.received == counts.stored + counts.duplicates + counts.quarantined
            assert self.rows() == self.oracle.keys()
            if not self.oracle.owed:
                return report
            assert [note.code for note in report.advice if "duplicates" in note.code] == ["data.duplicates-return"]
            pending = {name: self.held(name) for name in self.oracle.owed}

    def held(self, name: str) -> list[Event]:
        lines = [json.loads(line) for line in self.server.objects[name].splitlines()]
        return [Event(e["id"], (datetime.fromisoformat(e["time"][:-1]) - START) // timedelta(hours=1)) for e in lines]

    def rows(self) -> list[tuple[str | None, datetime, str]]:
        return sorted(self.world.query(STORED), key=str)


@pytest.fixture
def server() -> Iterator[BucketServer]:
    with serving(BucketServer()) as server:
        yield server


@pytest.fixture
def lake(tmp_path: Path, server: BucketServer) -> Lake:
    return Lake(tmp_path, server)


def events(*keys: str | None, hour: int = 10) -> list[Event]:
    return [Event(key, hour) for key in keys]


def test_the_same_events_under_other_names(lake: Lake) -> None:
    report = lake.deliver({"a.jsonl": events("1", "2", "3"), "b.jsonl": events("3", "4", "4")})
    assert (report.counts.stored, report.counts.duplicates) == (4, 2)
    report = lake.deliver({"c.jsonl": events("1", "2", "3", "4")})
    assert (report.counts.stored, report.counts.duplicates, report.files) == (0, 4, 0)
    report = lake.deliver({"d.jsonl": [*events("2", "5"), *events("1", hour=30)]})
    assert (report.counts.stored, report.counts.duplicates) == (1, 2)
    assert report.as_dict()["rows"]["duplicates"] == 2  # type: ignore[index]
    entries = read_ledger(lake.world.lake, "event", "p").entries
    told = {e["uri"].rpartition("/")[2]: (e["rows"], e["duplicates"]) for e in entries.to_pylist()}
    assert told["c.jsonl"] == (0, 4)
    assert sum(rows for rows, _ in told.values()) == 5


def test_null_keys_are_never_duplicates(lake: Lake) -> None:
    lake.deliver({"a.jsonl": events(None, None, "1"), "b.jsonl": events(None, "1")})
    assert len(lake.rows()) == 4


def test_keys_that_come_back_after_the_window_are_other_events(tmp_path: Path, server: BucketServer) -> None:
    lake = Lake(tmp_path, server, window=3)
    lake.deliver({"a.jsonl": [Event("1", hour) for hour in (10, 12, 13, 14, 17, 20, 40)]})
    assert [at.hour for _, at, _ in lake.rows()] == [10, 14, 20, 16]
    lake.deliver({"b.jsonl": [Event("1", hour) for hour in (7, 6, 23, 24, 43, 37, 36)]})


def test_rows_of_many_tasks(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "SMALLEST_UNIT", 1)
    lake.deliver({f"{n}.jsonl": [Event(str(k), 10 + n) for k in range(n, n + 50)] for n in range(12)})
    assert len(lake.rows()) == 61


def test_a_winner_that_changes(lake: Lake) -> None:
    lake.deliver({"a.jsonl": events("1", "2"), "b.jsonl": events("2", "3")})
    # Grown: nothing of it is gone, so that nothing else has to be looked at.
    report = lake.deliver({"a.jsonl": events("1", "2", "4")})
    assert report.advice == []
    # Its 2 is gone, and the other file's comes back with the next run.
    lake.deliver({"a.jsonl": events("1", "5")})
    assert ("2", START + timedelta(hours=10), "b.jsonl") in lake.rows()


def test_a_range_is_overwritten(lake: Lake) -> None:
    lake.deliver({"a.jsonl": events("1", "2"), "b.jsonl": events("2", "3"), "c.jsonl": events("9", hour=100)})
    del lake.server.objects["a.jsonl"]
    (report,) = lake.world.collect(window=TimeRange(START, START + timedelta(days=1)), overwrite=True)
    assert report.clean
    assert [key for key, _, _ in lake.rows()] == ["2", "3", "9"]


def test_without_a_key_and_with_another(lake: Lake) -> None:
    plain = lake.config.replace("DEDUPE", "")
    lake.put({"a.jsonl": events("1", "1"), "b.jsonl": events("1")})
    lake.world.write_config(plain)
    (report,) = lake.world.collect()
    assert (report.counts.stored, report.counts.duplicates) == (3, 0)
    # Declared later it holds for what comes from then on.
    lake.world.write_config(plain.replace('partition "event" "p" {', 'partition "event" "p" {\n dedupe = ["id"]'))
    lake.put({"c.jsonl": events("1", "2")})
    (report,) = lake.world.collect()
    assert (report.counts.stored, report.counts.duplicates) == (1, 1)
    # Given up again, files that had duplicates are read again.
    lake.world.write_config(plain)
    (report,) = lake.world.collect()
    assert [key for key, _, _ in lake.rows()] == ["1", "1", "1", "1", "2"]


def test_a_key_of_several_columns_and_of_the_table(tmp_path: Path, server: BucketServer) -> None:
    config = CONFIG.replace("DEDUPE", "").replace(
        'column "id" {}', 'column "id" {}\n dedupe = ["id", "tp_timestamp"]\n dedupe_window = "1h"'
    )
    lake = Lake(tmp_path, server, config=config)
    lake.put({"a.jsonl": [Event("1", 10), Event("1", 11), Event("1", 10)], "b.jsonl": events("1", None, None)})
    (report,) = lake.world.collect()
    assert (report.counts.stored, report.counts.duplicates) == (4, 2)


def test_a_file_without_the_column(lake: Lake) -> None:
    lake.deliver({"a.jsonl": events(None, None), "b.jsonl": events("1"), "c.jsonl": events("1", hour=40)})
    lake.deliver({"d.jsonl": events(None)})


def test_files_that_grow(world: World, tmp_path: Path) -> None:
    """What is read on is compared with what is stored of the file itself, too; the ledger adds up."""
    path, other = tmp_path / "logs" / "a.jsonl", tmp_path / "logs" / "b.jsonl"
    path.parent.mkdir()
    source = f'source "file" {{ paths = ["{path.parent}"] }}\n}}\n'
    config = CONFIG[CONFIG.index("format ") : CONFIG.index('  source "aws_s3')] + source
    world.write_config(config.replace("DEDUPE", 'dedupe = ["id"]'))
    path.write_text("".join(event.line() for event in events("1", "2")))
    world.collect()
    with path.open("a") as file:
        file.writelines(event.line() for event in events("2", "3", "1"))
    other.write_text("".join(event.line() for event in events("3", "4")))
    (report,) = world.collect()
    assert (report.counts.stored, report.counts.duplicates) == (2, 3)
    assert sorted(row[0] for row in world.query("select id from event")) == ["1", "2", "3", "4"]
    entries = read_ledger(world.lake, "event", "p").entries.to_pylist()
    told = {e["uri"].rpartition("/")[2]: (e["rows"], e["duplicates"]) for e in entries}
    assert told["a.jsonl"][0] + told["b.jsonl"][0] == 4
    assert told["a.jsonl"][1] + told["b.jsonl"][1] == 3


keys = st.none() | st.sampled_from("abcdef")
held = st.lists(st.builds(Event, keys, st.integers(0, 120)), max_size=8)
runs = st.lists(st.dictionaries(st.sampled_from([f"{n}.jsonl" for n in range(5)]), held, min_size=1), max_size=5)


@settings(max_examples=8, deadline=None)
@given(runs, st.sampled_from([None, 0, 5, 24, 60]), st.booleans())
def test_any_deliveries(tmp_path_factory: pytest.TempPathFactory, runs, window, many_tasks) -> None:
    patch = pytest.MonkeyPatch()
    if many_tasks:
        patch.setattr(plan, "SMALLEST_UNIT", 1)
    try:
        with serving(BucketServer()) as server:
            lake = Lake(tmp_path_factory.mktemp("lake"), server, window)
            for number, files in enumerate(runs):
                # An object that says the same as before is not read again: let each say something else.
                lake.deliver({name: [*rows, Event(None, 121 + number)] for name, rows in files.items()})
    finally:
        patch.undo()

"""Events that are delivered twice are stored once, by the key that a partition declares."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from deliveries import START, Event, Oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from world import World

from tailrace.core import TimeRange
from tailrace.lake.intents import read_ledger
from tailrace.pipeline import plan
from tailrace.pipeline.report import PartitionReport

CONFIG = """
format "jsonl" "e" {}
table "event" {
  format = format.jsonl.e
  column "tp_timestamp" { source = "time" }
  column "id" {}
}
partition "event" "p" {
  DEDUPE
  source "file" { paths = ["FOLDER"] }
}
"""
STORED = "select id, tp_timestamp, parse_filename(tp_source_location) from event"


class Lake:
    """A folder that is collected, and the oracle beside it."""

    def __init__(self, home: Path, window: int | None = None, config: str = CONFIG) -> None:
        self.world, self.folder = World(home / "home"), home / "logs"
        self.folder.mkdir(parents=True)
        self.oracle = Oracle(Path(os.path.realpath(self.folder)), 24 if window is None else window)
        said = 'dedupe = ["id"]' + ("" if window is None else f'\n  dedupe_window = "{window}h"')
        self.world.write_config(config.replace("DEDUPE", said).replace("FOLDER", str(self.folder)))

    def put(self, files: dict[str, list[Event]]) -> None:
        for name, held in files.items():
            (self.folder / name).write_text("".join(event.line() for event in held))

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
        lines = [json.loads(line) for line in (self.folder / name).read_text().splitlines()]
        return [Event(e["id"], (datetime.fromisoformat(e["time"][:-1]) - START) // timedelta(hours=1)) for e in lines]

    def rows(self) -> list[tuple[str | None, datetime, str]]:
        return sorted(self.world.query(STORED), key=str)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


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


def test_keys_that_come_back_after_the_window_are_other_events(tmp_path: Path) -> None:
    lake = Lake(tmp_path, window=3)
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
    (lake.folder / "a.jsonl").unlink()
    (report,) = lake.world.collect(window=TimeRange(START, START + timedelta(days=1)), overwrite=True)
    assert report.clean
    assert [key for key, _, _ in lake.rows()] == ["2", "3", "9"]


def test_without_a_key_and_with_another(lake: Lake) -> None:
    plain = CONFIG.replace("DEDUPE", "").replace("FOLDER", str(lake.folder))
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


def test_a_key_of_several_columns_and_of_the_table(tmp_path: Path) -> None:
    config = CONFIG.replace("DEDUPE", "").replace(
        'column "id" {}', 'column "id" {}\n dedupe = ["id", "tp_timestamp"]\n dedupe_window = "1h"'
    )
    lake = Lake(tmp_path, config=config)
    lake.put({"a.jsonl": [Event("1", 10), Event("1", 11), Event("1", 10)], "b.jsonl": events("1", None, None)})
    (report,) = lake.world.collect()
    assert (report.counts.stored, report.counts.duplicates) == (4, 2)


def test_a_file_without_the_column(lake: Lake) -> None:
    lake.deliver({"a.jsonl": events(None, None), "b.jsonl": events("1"), "c.jsonl": events("1", hour=40)})
    lake.deliver({"d.jsonl": events(None)})


keys = st.none() | st.sampled_from("abcdef")
held = st.lists(st.builds(Event, keys, st.integers(0, 120)), max_size=8)
runs = st.lists(st.dictionaries(st.sampled_from([f"{n}.jsonl" for n in range(5)]), held, min_size=1), max_size=5)


@settings(max_examples=25, deadline=None)
@given(runs, st.sampled_from([None, 0, 5, 24, 60]), st.booleans())
def test_any_deliveries(tmp_path_factory: pytest.TempPathFactory, runs, window, many_tasks) -> None:
    patch = pytest.MonkeyPatch()
    if many_tasks:
        patch.setattr(plan, "SMALLEST_UNIT", 1)
    try:
        lake = Lake(tmp_path_factory.mktemp("lake"), window)
        for number, files in enumerate(runs):
            # A file that says the same as before is not read again: let each say something else.
            lake.deliver({name: [*rows, Event(None, 121 + number)] for name, rows in files.items()})
    finally:
        patch.undo()

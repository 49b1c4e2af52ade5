"""A range that is collected again: exactly its rows are replaced, or none."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from lakecheck import check, stored
from world import World

from tailrace.cli.main import cli
from tailrace.core import TimeRange
from tailrace.lake.undo import history
from tailrace.pipeline.report import PartitionReport

START = datetime(2024, 3, 1)
CONFIG = """
table "t" {{
  column "ts" {{ type = "timestamp" }}
  column "mark" {{ transform = "'{mark}'" }}
}}
partition "t" "p" {{
  source "file" {{
    paths = ["{logs}"]
    file_layout = `%{{YEAR:year}}-%{{MONTHNUM:month}}-%{{MONTHDAY:day}}.jsonl`
  }}
}}
"""
HOURS = 96
RANGE = TimeRange(START + timedelta(hours=20), START + timedelta(hours=52))
INSIDE = set(range(20, 52))


def write_day(logs: Path, day: int, hours: range) -> None:
    """The file of a day holds the hours given, which may lie in its neighbours."""
    lines = [f'{{"ts": "{(START + timedelta(hours=n)).isoformat()}Z", "n": {n}}}\n' for n in hours]
    name = (START + timedelta(days=day)).date()
    (logs / f"{name}.jsonl").write_text("".join(lines))


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Four days; each file ends two hours into the next day."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for day in range(4):
        write_day(logs, day, range(max(0, day * 24 + 2 * (day > 0)), min(HOURS, day * 24 + 26)))
    made = World(tmp_path / "home")
    mark(made, "old")
    (report,) = made.collect(window=TimeRange(START))
    assert report.counts.stored == HOURS
    return made


def mark(world: World, text: str) -> None:
    world.write_config(CONFIG.format(mark=text, logs=world.home.parent / "logs"))


def marks(world: World) -> dict[str, set[int]]:
    rows = world.query("select mark, n from t")
    assert len(rows) == len(set(rows))
    found: dict[str, set[int]] = {}
    for name, number in rows:
        found.setdefault(name, set()).add(int(number))
    return found


def overwrite(world: World, window: TimeRange = RANGE) -> PartitionReport:
    (report,) = world.collect(window=window, overwrite=True)
    return report


def test_exactly_the_range_is_replaced(world: World) -> None:
    before = stored(world.home)
    mark(world, "new")
    report = overwrite(world)
    assert (report.clean, report.counts.stored) == (True, len(INSIDE))
    assert marks(world) == {"new": INSIDE, "old": set(range(HOURS)) - INSIDE}
    assert stored(world.home) == before
    check(world.home, "t", "p")
    assert len(history(world.lake, "t", "p")) == 2
    (again,) = world.collect(window=TimeRange(START))
    assert (again.clean, again.counts.stored) == (True, 0)


def test_rows_that_are_gone_from_the_source_go(world: World) -> None:
    write_day(world.home.parent / "logs", 1, range(30, 50))
    mark(world, "new")
    report = overwrite(world)
    assert report.clean
    assert marks(world)["new"] >= set(range(30, 50))
    assert 27 not in set().union(*marks(world).values())
    check(world.home, "t", "p")


@pytest.mark.parametrize("fault", ["corrupt", "unreadable", "empty"])
def test_the_earlier_rows_are_kept_when_it_fails(world: World, fault: str) -> None:
    before = stored(world.home)
    logs = world.home.parent / "logs"
    file = logs / "2024-03-02.jsonl"
    if fault == "corrupt":
        file.write_bytes(b"\x1f\x8b\x08\x00" + b"junk" * 10)
    elif fault == "unreadable":
        file.unlink()
        file.symlink_to(logs / "nowhere")
    else:
        for path in logs.iterdir():
            path.unlink()
    mark(world, "new")
    report = overwrite(world)
    assert report.troubles[-1].code == "collect.not-overwritten"
    assert stored(world.home) == before
    assert set(marks(world)) == {"old"}
    check(world.home, "t", "p")


def run(world: World, *arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["--home", str(world.home), "collect", *arguments])
    return getattr(done.exception, "exit_code", done.exit_code), done.stdout


def test_a_dry_run_tells_days_and_sizes(world: World) -> None:
    logs = world.home.parent / "logs"
    write_day(logs, 4, range(100, 110))
    code, out = run(world, "--from", "2024-03-01", "--dry-run", "--output", "json")
    size = (logs / "2024-03-05.jsonl").stat().st_size
    (row,) = json.loads(out)
    assert (code, row["day"], row["artifacts"], row["new"], row["size"]) == (0, "2024-03-05", 1, 1, size)
    code, out = run(world, "--from", "2024-03-02", "--to", "2024-03-03", "--overwrite", "--dry-run", "--output", "json")
    assert {row["day"]: row["again"] for row in json.loads(out)} == {"2024-03-02": 1, "2024-03-01": 1}
    assert not world.query("select * from t where n >= 100")


def test_overwriting_needs_a_range(world: World) -> None:
    assert run(world, "--overwrite")[0] == 2

"""A configuration that can read less than the one before takes no stored row away."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest
from lakecheck import check, stored
from world import World

from tailrace.cli.options import Context
from tailrace.cli.summary import exit_code, print_summary
from tailrace.core import TimeRange
from tailrace.lake.sought import Sought
from tailrace.pipeline import unit as units
from tailrace.pipeline.job import LOSES, Counts, Held
from tailrace.pipeline.report import PartitionReport

CONFIG = """
table "t" {{
  map_fields = []
  column "tp_timestamp" {{ source = "{time}" }}
  column "n" {{ type = "bigint" {more} }}
}}
partition "t" "p" {{
  {filter}
  source "file" {{
    paths  = ["{logs}"]
    format = format.jsonl.default
  }}
}}
"""
DAY = datetime(2024, 5, 1)


def configure(world: World, time: str = "at", more: str = "", filter: str = "") -> None:
    more = f"\n {more}\n" if more else ""
    world.write_config(CONFIG.format(time=time, more=more, filter=filter, logs=world.home.parent / "logs"))


def line(n: int, **more: object) -> str:
    return json.dumps({"at": f"2024-05-01T{n % 24:02}:00:00Z", "n": n, **more}) + "\n"


@pytest.fixture
def logs(world: World, tmp_path: Path) -> Path:
    """Two files that are read again when the configuration changes, because of a line each that is no record."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for number, name in enumerate(("a.jsonl", "b.jsonl")):
        (folder / name).write_text("".join(line(n) for n in range(number * 10, number * 10 + 10)) + "bad\n")
    configure(world)
    (report,) = world.collect()
    assert (report.clean, report.counts.stored, report.counts.quarantined) == (True, 20, 2)
    return folder


def collect(world: World) -> PartitionReport:
    (report,) = world.collect()
    check(world.home, "t", "p")
    return report


def refused(world: World) -> int:
    return len(world.query("select 1 from tp_quarantine"))


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.mark.parametrize(
    "mistake",
    [{"time": "ta"}, {"more": "transform = \"cast(n || 'x' as bigint)\""}, {"more": 'source = "m"\n required = true'}],
    ids=["time", "transform", "required"],
)
def test_rows_are_kept_until_the_mistake_is_mended(world: World, logs: Path, mistake: dict[str, str]) -> None:
    before = stored(world.home)
    configure(world, **mistake)
    for _ in range(2):
        report = collect(world)
        assert [trouble.code for trouble in report.troubles] == [LOSES, LOSES]
        assert "10 rows that are stored would be refused now (" in report.troubles[0].message
        assert (report.kept, report.counts.stored, report.counts.quarantined) == (2, 0, 0)
        assert (stored(world.home), refused(world)) == (before, 2)
    configure(world)
    assert collect(world).wanted == 0
    assert stored(world.home) == before


def test_what_can_be_read_is_stored_beside_it(world: World, logs: Path) -> None:
    """A new file has nothing to lose, and its records are quarantined; one that grew is not even read on."""
    before = stored(world.home)
    configure(world, time="ta")
    (logs / "c.jsonl").write_text(line(1) + line(2, ta="2024-05-03T00:00:00Z"))
    append(logs / "a.jsonl", line(3, ta="2024-05-03T00:00:00Z"))
    report = collect(world)
    assert (report.kept, report.done, report.counts.stored, report.counts.quarantined) == (2, 3, 1, 1)
    assert stored(world.home).total() == before.total() + 1
    assert refused(world) == 3
    configure(world)
    report = collect(world)
    assert report.clean
    assert stored(world.home).total() == 20 + 2 + 1
    assert refused(world) == 2


def test_a_growing_file_without_a_bad_line(world: World, tmp_path: Path) -> None:
    """It is read whole because of the recipe, and keeps its rows; later it goes on where it was."""
    (tmp_path / "logs").mkdir()
    path = tmp_path / "logs" / "a.jsonl"
    path.write_text("".join(map(line, range(5))))
    configure(world)
    collect(world)
    configure(world, time="ta")
    assert collect(world).wanted == 0, "nothing new, nothing to mend"
    append(path, line(5))
    assert [trouble.code for trouble in collect(world).troubles] == [LOSES]
    assert stored(world.home).total() == 5
    configure(world)
    report = collect(world)
    assert (report.clean, report.counts.stored) == (True, 1)
    assert stored(world.home).total() == 6


def test_better_and_other_configurations_replace_rows(world: World, logs: Path) -> None:
    """A filter drops what it is asked to; what is mended for some may be lost for none."""
    configure(world, filter='filter = "n % 2 = 0"')
    report = collect(world)
    assert (report.clean, report.counts.filtered) == (True, 10)
    assert stored(world.home).total() == 10
    configure(world, more='transform = "coalesce(n::bigint, 0)"')
    assert collect(world).clean
    assert stored(world.home).total() == 20


def test_a_file_that_has_changed_itself_is_taken_as_it_is(world: World, logs: Path) -> None:
    text = (logs / "a.jsonl").read_text().replace('"n": 3', '"n": ?')
    (logs / "a.jsonl").write_text(text)
    os.utime(logs / "a.jsonl", (1, 1))
    report = collect(world)
    assert (report.clean, report.counts.stored, report.counts.quarantined) == (True, 9, 2)
    assert refused(world) == 3


def test_each_artifact_is_read_twice_at_most(world: World, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many lose rows: all are found before anything is begun again."""
    for number in range(8):
        (logs / f"more-{number}.jsonl").write_text(line(number) + "bad\n")
    collect(world)
    configure(world, time="ta")
    opened: Counter[int] = Counter()
    real = units.Task._decode

    def decode(self: units.Task, number: int, *rest: object) -> None:
        opened[number] += 1
        real(self, number, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(units.Task, "_decode", decode)
    assert collect(world).kept == 10
    assert set(opened.values()) == {1}


@pytest.mark.parametrize("mend", [False, True])
def test_overwriting_with_nothing_keeps_the_rows(world: World, logs: Path, mend: bool) -> None:
    before = stored(world.home)
    configure(world, time="ta")
    if mend:  # of one record: then it is taken as meant
        append(logs / "b.jsonl", line(1, ta="2024-05-01T00:00:00Z"))
    (report,) = world.collect(window=TimeRange(DAY), overwrite=True)
    check(world.home, "t", "p")
    if mend:
        assert (report.clean, report.counts.stored, refused(world)) == (True, 1, 22)
        return
    assert [trouble.code for trouble in report.troubles] == ["collect.not-overwritten"]
    assert "all 22 records would be refused (row: no timestamp" in report.troubles[0].message
    assert (stored(world.home), refused(world)) == (before, 2)


def test_replay_takes_no_row_away_either(world: World, tmp_path: Path) -> None:
    """A file with a header is read again as a whole for the sake of its records."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.csv").write_text(
        "at,n\n" + "".join(f"2024-05-01T0{n}:00:00Z,{n}\n" for n in range(5)) + "x,1\n"
    )
    csv = CONFIG.replace("format.jsonl.default", "format.delimited.default")
    world.write_config(csv.format(time="at", more="", filter="", logs=tmp_path / "logs"))
    assert collect(world).counts.quarantined == 1
    before = stored(world.home)
    world.write_config(csv.format(time="ta", more="", filter="", logs=tmp_path / "logs"))
    (report,) = world.replay(sought=Sought())
    assert [trouble.code for trouble in report.troubles] == [LOSES]
    assert (report.tried, report.stored, report.quarantined) == (1, 0, 1)
    check(world.home, "t", "p")
    assert (stored(world.home), refused(world)) == (before, 1)


def test_what_is_lost() -> None:
    held = Held(rows=10, filtered=2, refused=3)
    assert held.lost(Counts(stored=10, filtered=2, quarantined=3)) == 0
    assert held.lost(Counts(stored=4, filtered=2, quarantined=9)) == 6
    assert held.lost(Counts(stored=4, filtered=8, quarantined=3)) == 0
    assert held.lost(Counts(stored=4, filtered=2, quarantined=1, out_of_range=8)) == 6
    assert held.lost(Counts(stored=12, filtered=2, quarantined=9)) == 0, "it has grown"


def test_the_summary_and_the_exit_code_tell_it(world: World, logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(world, time="ta")
    report = collect(world)
    assert exit_code([report], None) == 5
    print_summary([report], "table", Context(), 1.0)
    told = capsys.readouterr()
    assert "artifacts  0 of 2, 2 kept as they were" in told.out
    assert f"warning[{LOSES}]" in told.err
    assert "collect --overwrite" in told.err

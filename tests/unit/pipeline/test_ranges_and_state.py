"""Ranges to the second, and what later runs know: where to go on, what is missing, what need not be looked at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from bucketserver import BucketServer, serving
from click.testing import CliRunner
from logfiles import today, write
from twosources import CONFIG, DAYS, TwoSources, key, lines, of_days
from world import World

from tailrace.cli.main import cli
from tailrace.core import TimeRange
from tailrace.lake.intents import read_ledger
from tailrace.pipeline import collect as collecting
from tailrace.pipeline import plan, prepare
from tailrace.pipeline.job import Job, Unit, UnitResult
from tailrace.pipeline.unit import run_unit
from tailrace.sources import object_reader

DAY = timedelta(days=1)
BUCKET_ALONE = CONFIG.partition('  source "file"')[0] + CONFIG[CONFIG.index('  source "aws_s3_bucket"') :]


@pytest.fixture
def two(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TwoSources]:
    monkeypatch.setattr(object_reader, "_LONGEST_PAUSE", 0.01)
    with serving(BucketServer()) as server:
        both = TwoSources(world, tmp_path / "logs", server)
        both.configure()
        yield both


def notes(two: TwoSources) -> dict[str, str]:
    return dict(read_ledger(two.world.lake, "event", "p").notes)


def test_a_range_begins_and_ends_to_the_second(two: TwoSources) -> None:
    day = DAYS[0]
    rows = "".join(
        f'{{"time": "{day}T10:00:{second}Z", "id": "{second}"}}\n' for second in ("09.999999", "10", "10.5", "11", "12")
    )
    write(two.folder / key(day), rows)
    at = datetime(2026, 10, 1, 10, 0, 10)
    (report,) = two.world.collect(window=TimeRange(at, at + timedelta(seconds=2)))
    assert two.ids() == ["10", "10.5", "11"]
    assert report.counts.out_of_range == 2
    # The parts beside it come later, each row once.
    two.world.collect(window=TimeRange(at - DAY, at))
    assert two.ids() == ["09.999999", "10", "10.5", "11"]
    two.world.collect(window=TimeRange(at - DAY, at + DAY))
    assert len(two.ids()) == 5


def test_a_first_collection_that_failed_keeps_its_range(two: TwoSources) -> None:
    two.fill([today()])
    two.server.faults[key(today())] = [500] * 200
    (report,) = two.world.collect(window=TimeRange(datetime.combine(today() - 50 * DAY, datetime.min.time())))
    assert (report.clean, two.ids()) == (False, [])
    begun = notes(two)["from"]
    assert begun == f"{today() - 50 * DAY}T00:00:00"
    ledger = read_ledger(two.world.lake, "event", "p")
    much_later = datetime.now(UTC).replace(tzinfo=None) + 20 * DAY
    assert prepare.listing_window(TimeRange(), ledger, much_later).start == datetime.fromisoformat(begun)


def test_an_interrupted_collection_is_finished_before_it_goes_on(
    two: TwoSources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after its newest days: the next run takes the older ones, newest first, and then those of today."""
    monkeypatch.setattr(plan, "SMALLEST_GROUP", 1)
    monkeypatch.setattr(plan, "SMALLEST_UNIT", 1)
    monkeypatch.setattr(collecting, "JOBS_OF_ONE", 1)
    days = [today() - n * DAY for n in range(6)]
    two.fill(days[1:])
    read: list[date | None] = []

    def dying(_: object, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
        read.extend(day for unit in units for day in unit.days)
        if len(set(read)) > 2:
            raise KeyboardInterrupt
        return [run_unit(job, unit) for unit in units]

    two.world.run = dying
    with pytest.raises(KeyboardInterrupt):
        two.world.collect()
    assert list(dict.fromkeys(read)) == days[1:5]
    assert two.world.query("select distinct tp_date from event order by 1 desc") == [(day,) for day in days[1:3]]
    two.fill(days[:1])
    read.clear()

    def noting(_: object, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
        read.extend(day for unit in units for day in unit.days)
        return [run_unit(job, unit) for unit in units]

    two.world.run = noting
    (report,) = two.world.collect()
    assert report.clean
    assert list(dict.fromkeys(read)) == [*days[3:], days[0]]
    assert two.ids() == sorted(f"{source}{day.day}" for source in "bf" for day in days)


def test_gaps_are_shown_and_filled(two: TwoSources) -> None:
    two.fill(DAYS)
    for number in (0, 3):
        start = datetime.combine(DAYS[number], datetime.min.time())
        two.world.collect(window=TimeRange(start, start + DAY))

    def shown() -> dict[str, object]:
        done = CliRunner().invoke(cli, ["--home", str(two.world.home), "partition", "show", "p", "--output", "json"])
        assert done.exit_code == 0, done.output
        facts: dict[str, object] = json.loads(done.stdout)
        return facts

    facts = shown()
    assert facts["gaps"] == [{"from": "2026-10-02", "to": "2026-10-03", "days": 2}]
    assert [(s["name"], s["collected"] is not None) for s in facts["sources"]] == [  # type: ignore[attr-defined]
        ("folder", True),
        ("bucket", True),
    ]
    two.world.collect(window=TimeRange(datetime(2026, 10, 2), datetime(2026, 10, 4)))
    assert "gaps" not in shown()
    assert two.ids() == of_days(1, 2, 3, 4)


def test_what_is_settled_is_not_listed_and_what_is_late_is_found(two: TwoSources) -> None:
    two.configure(BUCKET_ALONE)
    days = [today() - n * DAY for n in range(20)]
    two.fill(days)
    two.world.collect()
    two.server.requests.clear()
    two.server.objects[key(days[5], "late")] = lines(days[5], "late").encode()
    (report,) = two.world.collect()
    assert report.counts.stored == 1
    listed = {query.get("prefix", "") for query in two.server.lists()}
    assert not any(f"{day:%Y/%m/%d}/" in listed for day in days[9:])
    assert report.discovered <= 10


@pytest.mark.parametrize("ahead", [3 * DAY, 400 * DAY])
def test_days_that_a_wrong_clock_settled_are_listed_once_it_is_right(
    two: TwoSources, ahead: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.configure(BUCKET_ALONE)
    two.fill([today() - DAY])

    class Ahead(datetime):
        @classmethod
        def now(cls, tz=None):  # type: ignore[no-untyped-def,override]
            return datetime.now(tz) + ahead

    monkeypatch.setattr(prepare, "datetime", Ahead)
    two.world.collect()
    monkeypatch.undo()
    two.fill([today() - n * DAY for n in range(3)])
    (report,) = two.world.collect()
    assert report.clean
    assert two.ids() == sorted(f"b{(today() - n * DAY).day}" for n in range(3))


def test_after_a_bounded_range_only_what_holds_more_is_read_again(two: TwoSources) -> None:
    """Files whose rows all lay in it are known as a whole."""
    two.fill(DAYS)
    with (two.folder / key(DAYS[1])).open("a") as file:
        file.write(lines(DAYS[2], "beyond"))
    end = datetime.combine(DAYS[2], datetime.min.time())
    (report,) = two.world.collect(window=TimeRange(datetime.combine(DAYS[0], datetime.min.time()), end))
    assert (report.counts.stored, report.counts.out_of_range, report.replaced) == (4, 1, 0)
    (report,) = two.world.collect()
    assert (report.discovered, report.unchanged, report.done) == (7, 2, 5)
    assert (report.counts.stored, report.replaced) == (6, 1)
    assert two.ids() == sorted(["beyond", *of_days(1, 2, 3, 4)])


def test_rows_after_the_end_of_a_settled_range_are_found(two: TwoSources) -> None:
    """A day that is long over would not be listed again, but one of its objects reaches into the next."""
    two.configure(BUCKET_ALONE)
    days = [today() - n * DAY for n in (22, 21, 20)]
    two.fill(days)
    two.server.objects[key(days[1])] += lines(days[2], "beyond").encode()
    begin, end = (datetime.combine(day, datetime.min.time()) for day in (days[0], days[2]))
    for _ in range(2):
        two.world.collect(window=TimeRange(begin, end))
        assert two.ids() == sorted(f"b{day.day}" for day in days[:2])
    (report,) = two.world.collect()
    assert (report.counts.stored, report.replaced) == (3, 1)
    assert two.ids() == sorted(["beyond", *(f"b{day.day}" for day in days)])
    two.server.requests.clear()
    (report,) = two.world.collect()
    assert (report.discovered, report.done) == (0, 0)

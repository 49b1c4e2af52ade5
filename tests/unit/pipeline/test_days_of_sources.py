"""A day is stored for all sources of its partition, or for none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from bucketserver import BucketServer, serving
from eventservice import START, event_service, events
from twosources import CONFIG, DAYS, LAYOUT, WINDOW, TwoSources, key, lines, of_days
from world import World

from tailrace.core import Artifact, TimeRange
from tailrace.pipeline import plan
from tailrace.pipeline.days import Days
from tailrace.pipeline.job import Unit, UnitResult
from tailrace.sources import object_reader, walk

TROUBLE = [500] * 200
"The server recovers once the list is cleared."


@pytest.fixture
def two(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TwoSources]:
    monkeypatch.setattr(object_reader, "_LONGEST_PAUSE", 0.01)
    with serving(BucketServer()) as server:
        both = TwoSources(world, tmp_path / "logs", server)
        both.fill(DAYS)
        both.configure()
        yield both


def test_one_object_that_cannot_be_read_rolls_back_its_day_for_all_sources(two: TwoSources) -> None:
    two.server.faults[key(DAYS[1])] = list(TROUBLE)
    (report,) = two.world.collect(window=WINDOW)
    assert [(t.code, "2026-10-02 was rolled back" in t.message) for t in report.troubles] == [
        ("collect.rolled-back", True)
    ]
    assert two.ids() == of_days(1, 3, 4)
    assert report.counts.stored == 6
    two.server.faults.clear()
    (report,) = two.world.collect(window=WINDOW)
    assert (report.clean, report.wanted, report.counts.stored) == (True, 2, 2)
    assert two.ids() == of_days(1, 2, 3, 4)


def test_a_day_in_many_units_is_rolled_back_as_a_whole(two: TwoSources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "SMALLEST_UNIT", 1)
    two.server.faults[key(DAYS[2])] = list(TROUBLE)
    (report,) = two.world.collect(window=WINDOW)
    assert not report.clean
    assert two.ids() == of_days(1, 2, 4)


def test_a_prefix_that_cannot_be_listed_hides_its_day_alone(two: TwoSources) -> None:
    two.server.faults[f"{DAYS[1]:%Y/%m/%d}/"] = list(TROUBLE)
    (report,) = two.world.collect(window=WINDOW)
    (trouble,) = report.troubles
    assert trouble.where == "s3://logs/2026/10/02/"
    assert "nothing of day 2026-10-02 was stored, the next run tries again" in trouble.message
    assert "--source" in str(trouble.hint)
    assert two.ids() == of_days(1, 3, 4)
    two.server.faults.clear()
    (report,) = two.world.collect(window=WINDOW)
    assert report.clean
    assert two.ids() == of_days(1, 2, 3, 4)


@pytest.mark.parametrize("status", [500, 403])
def test_a_source_that_cannot_be_listed_at_all_holds_everything_back(two: TwoSources, status: int) -> None:
    two.world.collect(window=TimeRange(WINDOW.start, datetime(2026, 10, 2)))
    assert two.ids() == of_days(1)
    prefixes = ["", *(f"2026/10/{day:%d}/" for day in DAYS), "2026/", "2026/10/"]
    two.server.faults.update({prefix: [status] * 200 for prefix in prefixes})
    (report,) = two.world.collect(window=WINDOW)
    assert report.troubles
    assert report.counts.stored == 0
    assert two.ids() == of_days(1), "what was stored before stays"
    two.server.faults.clear()
    (report,) = two.world.collect(window=WINDOW)
    assert report.clean
    assert two.ids() == of_days(1, 2, 3, 4)


def test_what_is_denied_for_good_beside_what_can_be_listed_rolls_nothing_back(two: TwoSources) -> None:
    two.server.faults[f"{DAYS[1]:%Y/%m/%d}/"] = [403] * 20
    (report,) = two.world.collect(window=WINDOW)
    assert [t.code for t in report.troubles] == ["source.denied"]
    assert two.ids() == sorted([*of_days(1, 3, 4), "f2"])
    two.server.faults.clear()
    two.world.collect(window=WINDOW)
    assert two.ids() == of_days(1, 2, 3, 4)


def test_a_folder_that_cannot_be_listed_for_a_moment(two: TwoSources, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.scandir

    def failing(path: str) -> object:
        if str(path).endswith("2026/10/03"):
            raise OSError(5, "Input/output error")
        return real(path)

    monkeypatch.setattr(walk.os, "scandir", failing)
    (report,) = two.world.collect(window=WINDOW)
    monkeypatch.undo()
    assert [t.code for t in report.troubles] == ["source.io"]
    assert "2026-10-03" in report.troubles[0].message
    assert two.ids() == of_days(1, 2, 4)
    assert two.world.collect(window=WINDOW)[0].clean
    assert two.ids() == of_days(1, 2, 3, 4)


def test_a_folder_that_is_not_there_holds_the_other_source_back(two: TwoSources) -> None:
    two.configure(CONFIG.replace("FOLDER", "FOLDER/nowhere"))
    (report,) = two.world.collect(window=WINDOW)
    assert [t.code for t in report.troubles] == ["source.gone"]
    assert two.ids() == []


def test_days_of_artifacts_read_again_for_other_ranges_stay_together(two: TwoSources) -> None:
    """Half a day is known of the folder: its file is read for another range of rows, and so in another job."""
    noon = TimeRange(WINDOW.start, datetime(2026, 10, 1, 9))
    two.world.collect(window=noon)
    two.server.objects[key(DAYS[0], "b")] = lines(DAYS[0], "b1b").encode()
    two.server.faults[key(DAYS[0], "b")] = list(TROUBLE)
    (report,) = two.world.collect()
    assert two.ids() == [i for i in two.ids() if not i.endswith("1")], report.troubles
    two.server.faults.clear()
    two.world.collect(window=WINDOW)
    assert two.ids() == sorted([*of_days(1, 2, 3, 4), "b1b"])


def test_a_service_that_fails_for_a_day(world: World, tmp_path: Path) -> None:
    """The slices of one day are refused with 503 until the service has recovered."""
    days = [START.date() + timedelta(days=n) for n in range(3)]
    for day in days:
        path = tmp_path / "logs" / key(day)
        path.parent.mkdir(parents=True)
        path.write_text(lines(day, "7"))
    with event_service(0) as (service, api):
        service.held = [e for n in range(3) for e in events(1, START + timedelta(days=n))]
        sick = {days[1]}
        well = service.answer

        def answer(request):  # type: ignore[no-untyped-def]
            day = date.fromisoformat(request.params["since"][:10])
            return type(well(request))(status=503) if day in sick else well(request)

        api.answer = answer
        http = f'''source "http" {{
            url = "{api.url}/events/none"
            params = {{ since = "{{from}}", until = "{{to}}" }}
            slice = "24h"
            max_retries = 1
            max_backoff = 0.01
        }}'''
        config = CONFIG.partition('  source "aws_s3_bucket"')[0] + http + "\n}"
        config = config.replace("FOLDER", str(tmp_path / "logs")).replace("LAYOUT", LAYOUT)
        world.write_config(config.replace("URL", "http://127.0.0.1:9"))
        window = TimeRange(datetime(2026, 3, 1), datetime(2026, 3, 4))
        (report,) = world.collect(window=window)
        counts = "select tp_date, count(*) from event group by all order by all"
        assert [t.code for t in report.troubles] == ["collect.rolled-back"]
        assert world.query(counts) == [(days[0], 2), (days[2], 2)]
        sick.clear()
        (report,) = world.collect(window=window)
        assert report.clean
        assert world.query(counts) == [(day, 2) for day in days]


def unit(number: int, *days: int) -> Unit:
    made = [Artifact(f"u{number}-{n}", 1, "1", "file", day=date(2026, 10, n)) for n in days]
    return Unit(number, tuple(made), tuple(0 for _ in made))


def test_units_wait_for_all_of_their_days() -> None:
    days, units = Days(), [unit(1, 1, 2), unit(2, 2, 3), unit(3, 3), unit(4, 4)]
    days.sent(units)
    for one in (units[0], units[1], units[3]):
        days.back(one)
        days.waiting.append((None, one, UnitResult(one.number)))  # type: ignore[arg-type]
    assert [u.number for _, u, _ in days.whole()] == [4]
    days.back(units[2])
    days.spoiled.add(date(2026, 10, 3))
    assert [u.number for _, u in days.partly_spoiled()] == [2]
    again = unit(5, 2)
    days.sent([again])
    assert days.whole() == []
    days.back(again)
    days.waiting.append((None, again, UnitResult(5)))  # type: ignore[arg-type]
    assert [u.number for _, u, _ in days.whole()] == [1, 5]
    assert days.waiting == []

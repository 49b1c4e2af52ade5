"""What is settled and what is listed again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import World

from tailrace.core import Artifact, SourceError, TimeRange
from tailrace.core.ranges import written
from tailrace.lake.ledger import Ledger
from tailrace.pipeline import listing, reach
from tailrace.sources import Found

DAY = timedelta(days=1)
START = datetime(2024, 3, 1)
LATE = 2 * DAY


def days(first: int | None, last: int | None) -> TimeRange:
    return TimeRange(None if first is None else START + first * DAY, None if last is None else START + last * DAY)


@pytest.mark.parametrize(
    ("window", "done", "left"),
    [
        (days(0, None), [], [days(0, None)]),
        (days(0, None), [days(0, 5)], [days(5, None)]),
        (days(0, None), [days(2, 5)], [days(0, 2), days(5, None)]),
        (days(3, 9), [days(0, 5), days(7, 20)], [days(5, 7)]),
        (days(3, 4), [days(0, 5)], []),
        (days(6, 7), [days(0, 5), days(8, 9)], [days(6, 7)]),
        (days(None, 3), [days(1, 2)], [days(None, 1), days(2, 3)]),
        (days(None, None), [days(None, 2)], [days(2, None)]),
    ],
)
def test_what_is_left(window: TimeRange, done: list[TimeRange], left: list[TimeRange]) -> None:
    assert list(reach.still_to_list(window, tuple(done))) == left


windows = st.tuples(st.none() | st.integers(0, 20), st.none() | st.integers(0, 20)).filter(
    lambda w: w[0] is None or w[1] is None or w[0] < w[1]
)


@given(st.lists(windows, max_size=5), windows, st.integers(0, 25))
def test_every_day_is_settled_or_left(listed: list[tuple[int, int]], asked: tuple[int, int], now: int) -> None:
    moment = START + now * DAY
    done = reach.settling([days(*w) for w in listed], (), moment, LATE)
    assert list(done) == sorted(done, key=lambda r: r.start or datetime.min)
    assert all(one.end <= moment - LATE for one in done if one.end)
    window = days(*asked)
    left = list(reach.still_to_list(window, done))
    for number in range(-2, 25):
        day = (START + number * DAY).date()
        in_window, is_settled = window.touches(day), any(r.touches(day) for r in done)
        assert any(r.touches(day) for r in left) == (in_window and not is_settled)
    note = {"settled:x": written(done)}
    assert reach.settled(Ledger(notes=note), "settled:x", moment, LATE) == done
    # A clock that was ahead when it was written has settled nothing of the days to come.
    earlier = moment - 5 * DAY
    known = reach.settled(Ledger(notes=note), "settled:x", earlier, LATE)
    assert known == tuple(reach.settling(done, (), earlier, LATE))


@dataclass(frozen=True)
class Shelf:
    """One artifact per day; counts what it is asked for."""

    kind: ClassVar[str] = "shelf"
    late: ClassVar[timedelta] = LATE
    asked: ClassVar[list[TimeRange]] = []
    broken: ClassVar[set[int]] = set()
    held: ClassVar[set[int]] = set()

    def discover(self, window: TimeRange) -> Iterator[Found]:
        self.asked.append(window)
        for number in sorted(self.held):
            day = (NOW - number * DAY).date()
            if window.touches(day):
                yield Artifact(f"shelf://{day}", 1, "1", "shelf", location=str(day), day=day)

    def open(self, artifact: Artifact) -> BinaryIO:
        if (NOW.date() - artifact.day).days in self.broken:  # type: ignore[operator]
            raise SourceError("gone", code="source.gone", where=artifact.location)
        return BytesIO(b'{"ts": "%sT01:00:00Z"}\n' % str(artifact.day).encode())


NOW = datetime.now().replace(hour=12, minute=0, second=0, microsecond=0)
CONFIG = 'table "t" {\n column "ts" { type = "timestamp" }\n}\npartition "t" "p" { source "file" { paths = ["x"] } }'


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(listing, "make_source", lambda *_: Shelf())
    Shelf.asked.clear()
    Shelf.broken.clear()
    Shelf.held.clear()
    Shelf.held.update(range(25))
    world = World(tmp_path / "home")
    world.write_config(CONFIG)
    return world


def span(window: TimeRange) -> int:
    assert window.start is not None
    return (NOW.date() - window.start.date()).days


def test_later_runs_list_what_may_still_change(shelf: World) -> None:
    (report,) = shelf.collect()
    assert report.counts.stored == 25
    Shelf.held.add(1)
    (report,) = shelf.collect()
    assert (report.clean, report.discovered) == (True, 3)
    assert [span(w) for w in Shelf.asked] == [30, 2]
    shelf.collect()
    assert span(Shelf.asked[-1]) == 2
    shelf.collect(window=TimeRange(NOW - 28 * DAY))
    assert span(Shelf.asked[-1]) == 28


def test_how_far_the_first_collection_goes_back(shelf: World) -> None:
    shelf.write_config('workspace "default" { lookback = "20d" }\n' + CONFIG)
    assert shelf.collect()[0].counts.stored == 21
    shelf.write_config(CONFIG.replace('partition "t" "p" {', 'partition "t" "q" {\n lookback = "10d"\n'))
    assert shelf.collect()[0].counts.stored == 11
    assert [span(w) for w in Shelf.asked] == [20, 10]


def test_what_failed_is_looked_for_again(shelf: World) -> None:
    Shelf.broken.add(20)
    (report,) = shelf.collect()
    assert (report.failed, report.counts.stored) == (1, 24)
    Shelf.broken.clear()
    (report,) = shelf.collect()
    assert report.clean
    assert [span(w) for w in Shelf.asked] == [30, 30]
    assert shelf.query("select count(*) from t") == [(25,)]
    shelf.collect()
    assert span(Shelf.asked[-1]) == 2


def test_another_recipe_or_argument_begins_anew(shelf: World) -> None:
    shelf.collect()
    shelf.write_config(CONFIG.replace('source "file"', 'filter = "ts is not null"\n source "file"'))
    shelf.collect()
    shelf.write_config(CONFIG.replace('"x"', '"y"'))
    shelf.collect()
    assert [span(w) for w in Shelf.asked] == [30, 30, 30]

"""What is listed, what is read again and why, and expressions that cannot work."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logfiles import access_lines, today, write
from world import World

from tailrace.core import Artifact, ConfigError, TimeRange
from tailrace.core.registry import find_table
from tailrace.lake.ledger import Known, Ledger
from tailrace.pipeline.check import check_expressions
from tailrace.pipeline.listing import list_sources
from tailrace.pipeline.plan import Wanted
from tailrace.pipeline.prepare import listing_window, range_notes, still_to_read
from tailrace.pipeline.report import PartitionReport

NOW = datetime(2024, 3, 10, 15, 4)
EARLY, LATE = datetime(2024, 1, 1), datetime(2024, 2, 1)
ALL = TimeRange()


def item(version: str = "1") -> Wanted:
    return Wanted(Artifact("file:///a", 1, version, "file"), 0)


def decided(before: Known | None, asked: TimeRange = ALL, version: str = "1") -> TimeRange | None:
    """The range of rows that is read, or None."""
    found = still_to_read([item(version)], {} if before is None else {"file:///a": before}, asked, [""])
    assert sum(map(len, found.values())) == len(found)
    return next(iter(found), None)


def test_what_is_new_is_read_as_asked() -> None:
    assert decided(None) == ALL
    assert decided(None, TimeRange(EARLY, LATE)) == TimeRange(EARLY, LATE)


@pytest.mark.parametrize("status", ["ok", "partial"])
def test_what_is_known_and_unchanged_is_not_read(status: str) -> None:
    assert decided(Known("1", status, 1)) is None
    assert decided(Known("1", status, 1), TimeRange(EARLY)) is None


def test_what_changed_is_read_again() -> None:
    assert decided(Known("0", "ok", 1)) == ALL
    assert decided(Known("0", "partial", 1)) == ALL


@pytest.mark.parametrize(
    ("day", "hours", "again"), [(EARLY.date(), 1, True), (EARLY.date(), -1, False), (None, 1, False)]
)
def test_a_slice_that_was_over_by_a_clock_that_was_ahead_is_read_again(
    day: date | None, hours: int, again: bool
) -> None:
    asked = Wanted(Artifact("http://x?from=a&to=b", 0, "whole", "http", day=day), 0)
    before = {asked.artifact.uri: Known("whole", "ok", 1, at=NOW + timedelta(hours=hours), recipe="")}
    assert bool(still_to_read([asked], before, ALL, [""], NOW)) is again


def test_what_failed_is_tried_again() -> None:
    assert decided(Known("1", "failed", 1)) == ALL


@pytest.mark.parametrize(
    ("taken", "asked", "read"),
    [
        ((EARLY, LATE), (EARLY, LATE), None),
        ((EARLY, LATE), (EARLY + timedelta(days=1), LATE), None),
        ((EARLY, None), (LATE, None), None),
        ((LATE, None), (EARLY, None), (EARLY, None)),
        ((LATE, None), (None, None), (None, None)),
        ((None, EARLY), (None, LATE), (None, LATE)),
        ((EARLY, LATE), (LATE, None), (EARLY, None)),
        ((LATE, None), (None, EARLY), (None, None)),
    ],
)
def test_a_wider_range_is_read_with_what_was_taken_before(
    taken: tuple[datetime | None, datetime | None],
    asked: tuple[datetime | None, datetime | None],
    read: tuple[datetime | None, datetime | None] | None,
) -> None:
    held = Known("1", "ok", 1, *taken, out_of_range=1)
    assert decided(held, TimeRange(*asked)) == (None if read is None else TimeRange(*read))
    assert decided(held._replace(out_of_range=0), TimeRange(*asked)) is None


moments = st.none() | st.integers(0, 9).map(lambda n: EARLY + timedelta(days=n))


@given(moments, moments, moments, moments)
def test_the_range_that_is_read_holds_both(
    taken_from: datetime | None, taken_to: datetime | None, start: datetime | None, end: datetime | None
) -> None:
    if (taken_from and taken_to and taken_from >= taken_to) or (start and end and start >= end):
        return
    read = decided(Known("0", "ok", 1, taken_from, taken_to), TimeRange(start, end))
    assert read is not None
    for low in (taken_from, start):
        assert read.start is None or (low is not None and read.start <= low)
    for high in (taken_to, end):
        assert read.end is None or (high is not None and read.end >= high)
    assert read.start in (taken_from, start)
    assert read.end in (taken_to, end)


def test_artifacts_of_one_range_are_read_together() -> None:
    others = [Wanted(Artifact(f"file:///{n}", 1, "1", "file"), 0) for n in range(3)]
    known = {"file:///0": Known("0", "ok", 1, EARLY, None), "file:///1": Known("1", "ok", 1, EARLY, None)}
    found = still_to_read(others, known, TimeRange(LATE), [""])
    assert {rows: [w.artifact.uri for w in some] for rows, some in found.items()} == {
        TimeRange(EARLY): ["file:///0"],
        TimeRange(LATE): ["file:///2"],
    }


def test_the_first_collection_goes_back_30_days() -> None:
    assert listing_window(ALL, Ledger(), NOW) == TimeRange(datetime(2024, 2, 9))
    assert listing_window(TimeRange(end=LATE + timedelta(days=20)), Ledger(), NOW).end == LATE + timedelta(days=20)


def test_later_ones_go_back_to_where_the_first_began() -> None:
    ledger = Ledger(notes={"from": "2023-12-24T00:00:00"})
    assert listing_window(ALL, ledger, NOW) == TimeRange(datetime(2023, 12, 24))
    assert listing_window(TimeRange(EARLY), ledger, NOW) == TimeRange(EARLY)


def test_a_look_at_one_day_does_not_hide_the_others(world: World, tmp_path: Path) -> None:
    logs, now = tmp_path / "logs", today()
    layout = "`%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.log`"
    source = f'source "file" {{\n paths = ["{logs}"]\n file_layout = {layout}\n}}'
    world.write_config(f'partition "nginx_access_log" "web" {{\n{source}\n}}')

    def collected(day: date, start: datetime | None = None) -> int:
        write(logs / f"{day}.log", access_lines(day, 5))
        world.collect(window=TimeRange(start))
        return len(world.query("select distinct tp_date from nginx_access_log"))

    assert collected(now - timedelta(days=3)) == 1
    assert collected(now, datetime(now.year, now.month, now.day)) == 2
    assert collected(now - timedelta(days=5)) == 3
    assert collected(now - timedelta(days=50)) == 3


def test_the_earliest_start_is_kept() -> None:
    noted = Ledger(notes={"from": "2024-01-15T00:00:00"})
    assert range_notes(TimeRange(LATE), noted) == {"from": "2024-01-15T00:00:00"}
    assert range_notes(TimeRange(EARLY), noted) == {"from": "2024-01-01T00:00:00"}
    assert range_notes(TimeRange(EARLY), Ledger()) == {"from": "2024-01-01T00:00:00"}


def test_a_file_that_two_sources_reach_is_listed_once(world: World, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.log").write_text("")
    world.write_config(f"""
        partition "nginx_access_log" "web" {{
          source "file" {{ paths = ["{logs}"] }}
          source "file" {{ paths = ["{logs}/a.log", "{tmp_path}/absent.log"] }}
        }}
    """)
    (spec,) = world.config().partitions
    table = find_table("nginx_access_log")
    assert table is not None
    report = PartitionReport("p")
    listed = list_sources(spec, table, ALL, report, world.lake)
    assert [(w.artifact.location, w.source) for w in listed.artifacts] == [(str(logs / "a.log"), 0)]
    assert listed.formats == (table.format, table.format)
    assert report.discovered == 1
    assert [t.where for t in report.troubles] == [f"{tmp_path}/absent.log"]


@pytest.mark.parametrize(
    ("setting", "code", "mentions"),
    [
        ('filter = "no_such_column = 1"', "config.unknown-column", "no_such_column"),
        ('filter = "status >"', "config.bad-expression", "not an SQL expression"),
        ('filter = "status = 1; drop table given"', "config.bad-expression", ""),
    ],
)
def test_expressions_that_cannot_work_are_errors(world: World, setting: str, code: str, mentions: str) -> None:
    world.write_config(f'partition "nginx_access_log" "web" {{\n source "file" {{ paths = ["/x"] }}\n{setting}\n}}')
    (spec,) = world.config().partitions
    table = find_table("nginx_access_log")
    assert table is not None
    with pytest.raises(ConfigError) as caught:
        check_expressions(table, spec, world.config())
    assert caught.value.code == code
    assert mentions in caught.value.message
    assert "test.tpc:3" in str(caught.value)


def test_an_index_that_no_column_gives_is_an_error(world: World) -> None:
    world.write_config('partition "nginx_access_log" "web" { source "file" { paths = ["/x"] } }')
    (spec,) = world.config().partitions
    table = find_table("nginx_access_log")
    assert table is not None
    with pytest.raises(ConfigError, match="tp_index: cannot be 'nothing'"):
        check_expressions(table, replace(spec, tp_index="nothing"))


def test_expressions_that_work_are_let_through(world: World) -> None:
    world.write_config("""partition "nginx_access_log" "web" {
        source "file" { paths = ["/x"] }
        filter = "status >= 500 and tp_timestamp > '2020-01-01' and list_contains(tp_ips, '192.0.2.1')"
        tp_index = "host"
    }""")
    (spec,) = world.config().partitions
    table = find_table("nginx_access_log")
    assert table is not None
    check_expressions(table, spec)
    check_expressions(table, replace(spec, filter=None, tp_index=None))


@pytest.mark.parametrize(
    ("quarantined", "filtered", "recipe", "again"),
    [(1, 0, "new", True), (0, 2, "new", True), (0, 0, "new", False), (1, 1, "old", False)],
)
def test_a_mended_recipe_reads_again_what_it_may_mend(
    quarantined: int, filtered: int, recipe: str, again: bool
) -> None:
    before = Known("v1", "ok", 1, quarantined=quarantined, filtered=filtered, recipe="old")
    found = still_to_read([item("v1")], {"file:///a": before}, TimeRange(), [recipe])
    assert bool(found) == again

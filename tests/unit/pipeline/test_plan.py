"""Artifacts become units and groups."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tailrace.core import Artifact
from tailrace.pipeline.job import Unit
from tailrace.pipeline.plan import LARGEST_UNIT, SMALLEST_GROUP, SMALLEST_UNIT, Wanted, by_day, plan_groups

days = st.none() | st.integers(0, 20).map(lambda n: date(2024, 1, 1) + timedelta(days=n))
sizes = st.one_of(st.integers(0, 1000), st.integers(1 << 20, 4 << 30))


@st.composite
def wanted(draw: st.DrawFn) -> list[Wanted]:
    drawn = draw(st.lists(st.tuples(days, sizes, st.booleans(), st.integers(0, 2)), max_size=60))
    return [artifact(n, day, size, packed, source) for n, (day, size, packed, source) in enumerate(drawn)]


def artifact(number: int, day: date | None, size: int, packed: bool = False, source: int = 0) -> Wanted:
    location = f"{number}.gz" if packed else f"{number}"
    return Wanted(Artifact(f"file:///{number:04d}", size, "1", "file", location=location, day=day), source)


def units_of(items: list[Wanted], cores: int = 2, first: int = 0) -> list[Unit]:
    return [unit for group in plan_groups(items, cores, first) for unit in group.units]


@given(wanted(), st.integers(1, 16))
def test_every_artifact_is_in_one_unit_with_its_source(items: list[Wanted], cores: int) -> None:
    units = units_of(items, cores, 7)
    found = [(a.uri, s) for unit in units for a, s in zip(unit.artifacts, unit.sources, strict=True)]
    assert sorted(found) == sorted((w.artifact.uri, w.source) for w in items)
    assert [u.number for u in units] == list(range(7, 7 + len(units)))


@given(wanted(), st.integers(1, 16))
def test_a_day_is_in_one_group(items: list[Wanted], cores: int) -> None:
    groups = plan_groups(items, cores)
    found = [frozenset().union(*(u.days for u in group.units)) for group in groups]
    assert sum(map(len, found)) == len(frozenset().union(*found))


@given(wanted(), st.integers(1, 16))
def test_newest_days_come_first_and_unknown_ones_last(items: list[Wanted], cores: int) -> None:
    found = [a.day for unit in units_of(items, cores) for a in unit.artifacts]
    known = [d for d in found if d is not None]
    assert found == sorted(known, reverse=True) + [None] * (len(found) - len(known))


@given(wanted(), st.integers(0, 20).map(lambda n: date(2024, 1, 1) + timedelta(days=n)))
def test_later_runs_fill_what_is_missing_and_then_go_forward(items: list[Wanted], reached: date) -> None:
    groups = plan_groups(items, 2, reached=reached)
    found = [a.day for group in groups for unit in group.units for a in unit.artifacts if a.day]
    before, after = ([d for d in found if (d <= reached) is past] for past in (True, False))
    assert found == sorted(before, reverse=True) + sorted(after)


@given(wanted(), st.integers(1, 16))
def test_units_and_groups_have_a_bound(items: list[Wanted], cores: int) -> None:
    costs = {w.artifact.uri: w.cost for w in items}
    largest = max(costs.values(), default=0)
    by_days: dict[date | None, int] = {}
    for item in items:
        by_days[item.artifact.day] = by_days.get(item.artifact.day, 0) + item.cost
    for group in plan_groups(items, cores):
        unit_costs = [sum(costs[a.uri] for a in unit.artifacts) for unit in group.units]
        assert all(cost <= 1.5 * LARGEST_UNIT + largest for cost in unit_costs)
        threshold = max(SMALLEST_GROUP, LARGEST_UNIT * cores)
        assert sum(unit_costs) <= threshold + max(by_days.values()) + LARGEST_UNIT


def test_small_inputs_are_one_unit() -> None:
    items = [artifact(n, date(2024, 1, 1 + n % 5), 1000) for n in range(300)]
    assert len(units_of(items)) == 1


def test_a_large_day_is_spread_over_the_cores() -> None:
    items = [artifact(n, date(2024, 1, 1), 8 << 20) for n in range(200)]
    units = units_of(items, cores=4)
    costs = [sum(w.cost for w in items if w.artifact in unit.artifacts) for unit in units]
    assert len(units) >= 4
    assert max(costs) < 2 * min(costs)
    assert all(cost >= SMALLEST_UNIT for cost in costs)


def test_compressed_bytes_count_more() -> None:
    assert artifact(1, None, 1 << 20, packed=True).cost > 5 * artifact(1, None, 1 << 20).cost


def test_nothing_gives_no_group() -> None:
    assert plan_groups([], 4) == []


@given(wanted())
def test_a_unit_that_failed_is_taken_apart_by_day(items: list[Wanted]) -> None:
    unit = Unit(3, tuple(w.artifact for w in items), tuple(w.source for w in items))
    again = by_day(unit, 10)
    assert [len(u.days) for u in again] == [1] * len(unit.days)
    assert sorted((a.uri, s) for u in again for a, s in zip(u.artifacts, u.sources, strict=True)) == sorted(
        zip((a.uri for a in unit.artifacts), unit.sources, strict=True)
    )
    assert [u.number for u in again] == list(range(10, 10 + len(again)))
    assert all(u.attempt == unit.attempt + 1 for u in again)

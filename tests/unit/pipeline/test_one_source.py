"""One source of a partition by itself: its rows join the days, those of the others stay."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from bucketserver import BucketServer, serving
from logfiles import write
from twosources import CONFIG, DAYS, WINDOW, TwoSources, key, lines, of_days
from world import World

from tailrace.cli.choice import Choice
from tailrace.core import TimeRange
from tailrace.core.errors import UsageError
from tailrace.lake.intents import read_ledger

MIDDLE = TimeRange(datetime(2026, 10, 2), datetime(2026, 10, 4))


@pytest.fixture
def two(world: World, tmp_path: Path) -> Iterator[TwoSources]:
    with serving(BucketServer()) as server:
        both = TwoSources(world, tmp_path / "logs", server)
        both.fill(DAYS)
        both.configure()
        yield both


def test_its_rows_join_the_days(two: TwoSources) -> None:
    (report,) = two.world.collect(window=WINDOW, source="folder")
    assert (report.clean, report.discovered) == (True, 4)
    assert two.server.requests == []
    assert two.ids() == of_days(1, 2, 3, 4, sources="f")
    (report,) = two.world.collect(window=WINDOW, source="bucket")
    assert two.ids() == of_days(1, 2, 3, 4)
    (report,) = two.world.collect(window=WINDOW)
    assert (report.wanted, report.unchanged) == (0, 8)
    entries = read_ledger(two.world.lake, "event", "p").entries
    assert sorted(zip(*(entries.column(c).to_pylist() for c in ("source", "day")), strict=True)) == [
        (source, day) for source in ("bucket", "folder") for day in DAYS
    ]


def test_a_source_that_fails_does_not_hold_the_other_back_when_it_is_left_out(two: TwoSources) -> None:
    two.server.faults.update({f"{day:%Y/%m/%d}/": [403] * 20 for day in DAYS})
    (report,) = two.world.collect(window=WINDOW)
    assert (report.clean, two.ids()) == (False, [])
    (report,) = two.world.collect(window=WINDOW, source="folder")
    assert (report.clean, two.ids()) == (True, of_days(1, 2, 3, 4, sources="f"))


def test_where_one_source_begins_is_its_own_affair(two: TwoSources) -> None:
    two.world.collect(window=TimeRange(datetime(2026, 10, 3)), source="bucket")
    assert two.ids() == of_days(3, 4, sources="b")
    notes = read_ledger(two.world.lake, "event", "p").notes
    assert notes["from:bucket"] == "2026-10-03T00:00:00"
    assert "from" not in notes
    two.world.collect(window=TimeRange(datetime(2026, 10, 2)), source="folder")
    two.world.collect(window=TimeRange(datetime(2026, 10, 4)))
    notes = read_ledger(two.world.lake, "event", "p").notes
    assert (notes["from"], notes["from:folder"]) == ("2026-10-04T00:00:00", "2026-10-02T00:00:00")
    write(two.folder / key(DAYS[1], "late"), lines(DAYS[1], "f2late"))
    two.server.objects[key(DAYS[1], "late")] = lines(DAYS[1], "b2late").encode()
    two.world.collect()
    # Each goes back to its own beginning, not to the other's.
    assert two.ids() == sorted([*of_days(3, 4), "f2", "f2late"])


def test_overwriting_one_source_leaves_the_rows_of_the_other(two: TwoSources) -> None:
    two.world.collect(window=WINDOW)
    for day in DAYS:
        two.server.objects[key(day)] = lines(day, f"new{day.day}").encode()
        write(two.folder / key(day), lines(day, f"unseen{day.day}"))
    del two.server.objects[key(DAYS[2])]
    before = read_ledger(two.world.lake, "event", "p")
    (report,) = two.world.collect(window=MIDDLE, source="bucket", overwrite=True)
    assert report.clean
    assert two.ids() == sorted([*of_days(1, 2, 3, 4, sources="f"), "b1", "b4", "new2"])
    after = read_ledger(two.world.lake, "event", "p")
    rows = dict(zip(after.entries.column("uri").to_pylist(), after.entries.column("rows").to_pylist(), strict=True))
    assert rows[f"s3://logs/{key(DAYS[2])}"] == 0
    assert sum(rows.values()) == 7
    kept = [e for e in before.entries.to_pylist() if e["source"] == "folder"]
    assert kept == [e for e in after.entries.to_pylist() if e["source"] == "folder"]


def test_overwriting_a_source_that_cannot_be_read_keeps_all(two: TwoSources) -> None:
    two.world.collect(window=WINDOW)
    two.server.faults[f"{DAYS[1]:%Y/%m/%d}/"] = [500] * 50
    (report,) = two.world.collect(window=MIDDLE, source="bucket", overwrite=True)
    assert "collect.not-overwritten" in [t.code for t in report.troubles]
    assert two.ids() == of_days(1, 2, 3, 4)


@pytest.mark.parametrize(
    ("selectors", "named", "meant"),
    [
        (("p", "bucket"), None, "bucket"),
        (("event.p", "folder"), None, "folder"),
        (("p",), "bucket", "bucket"),
        ((), "bucket", "bucket"),
        (("p", "other"), None, None),
        (("p",), None, None),
    ],
)
def test_a_source_by_its_name(
    two: TwoSources, selectors: tuple[str, ...], named: str | None, meant: str | None
) -> None:
    two.configure(CONFIG + 'partition "event" "other" { source "file" { paths = ["x"] } }\n')
    config = two.world.config()
    choice = Choice(selectors, (), None, None, named).resolved(config)
    assert choice.source == meant
    specs = choice.specs(config, None)  # type: ignore[arg-type]
    if meant:
        assert [(s.name, [one.name for one in s.sources]) for s in specs] == [("p", [meant])]
    else:
        assert [len(spec.sources) for spec in specs] == [2, 1][: len(specs)]


def test_names_that_are_no_source_or_too_much(two: TwoSources) -> None:
    config = two.world.config()
    with pytest.raises(UsageError, match="no source 'bukket'") as told:
        Choice(("p",), (), None, None, "bukket").specs(config, None)  # type: ignore[arg-type]
    assert "did you mean 'bucket'?" in str(told.value.hint)
    two.configure(CONFIG + 'partition "event" "bucket" { source "file" { paths = ["x"] } }\n')
    with pytest.raises(UsageError, match="'bucket' is a source of"):
        Choice(("p", "bucket"), (), None, None).resolved(two.world.config())
    with pytest.raises(UsageError, match="does not go with --file"):
        Choice((), ("x",), "event", None, "bucket").specs(config, None)  # type: ignore[arg-type]

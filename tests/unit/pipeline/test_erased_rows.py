"""Rows deleted by a condition: gone from every file, and nothing that is read again brings them back."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from bytesleft import holding
from lakecheck import check
from world import World

from tailrace.core import TailraceError, TimeRange
from tailrace.lake.deleted import erased
from tailrace.lake.intents import read_ledger
from tailrace.lake.predicate import Predicate
from tailrace.lake.table import stored_schema
from tailrace.lake.undo import erase, history, lift, restore
from tailrace.lake.vacuum import forget
from tailrace.pipeline.report import PartitionReport

START = datetime(2024, 3, 1)
HOURS = 48
USERS = ("alice", "bob", "carol")
ALICE = set(range(0, HOURS, 3))
CONFIG = """
table "t" {{
  column "ts" {{ type = "timestamp" }}
  column "user" {{ }}
  column "amount" {{ }}
  column "mark" {{ transform = "'{mark}'" }}
  {more}
}}
partition "t" "p" {{
  source "file" {{ paths = ["{logs}"] }}
}}
"""
WHERE = "\"user\" = 'alice'"


def configure(world: World, mark: str = "a", more: str = "") -> None:
    world.write_config(CONFIG.format(mark=mark, logs=world.home.parent / "logs", more=more))


def line(number: int) -> str:
    at = (START + timedelta(hours=number)).isoformat()
    return f'{{"ts": "{at}Z", "user": "{USERS[number % 3]}", "n": {number}, "amount": "{number}"}}\n'


def write(world: World, numbers: range, name: str = "a.jsonl", bad: int = 0) -> None:
    """As if it had been edited: another time of change."""
    path = world.home.parent / "logs" / name
    path.parent.mkdir(exist_ok=True)
    before = path.stat().st_mtime_ns if path.exists() else 10**18
    path.write_text("x\n" * bad + "".join(map(line, numbers)))
    os.utime(path, ns=(before + 10**9, before + 10**9))


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path / "home")
    configure(made, more='column "n" { type = "integer" }')
    write(made, range(HOURS))
    collect(made)
    return made


def collect(world: World, **options: object) -> PartitionReport:
    (report,) = world.collect(**options)  # type: ignore[arg-type]
    assert report.clean, report.troubles
    return report


def held(world: World) -> set[int]:
    rows = [int(n) for (n,) in world.query("select n from t")]
    assert len(rows) == len(set(rows))
    return set(rows)


def delete(world: World, where: str = WHERE, window: TimeRange | None = None) -> None:
    schema = stored_schema(world.lake, "t")
    assert schema is not None
    erase(world.lake, "t", "p", window or TimeRange(), Predicate(where, schema))


def test_they_go_and_stay_away_whatever_is_read_again(world: World) -> None:
    delete(world)
    left = set(range(HOURS)) - ALICE
    assert held(world) == left
    check(world.home, "t", "p")
    assert collect(world).counts.received == 0, "nothing has changed"
    # The file is another one now, and a second one has rows of hers as well.
    write(world, range(HOURS + 3), bad=1)
    write(world, range(1, HOURS, 2), name="odd.jsonl")
    report = collect(world)
    assert report.counts.deleted == len(ALICE) + 1 + len(ALICE & set(range(1, HOURS, 2)))
    assert report.counts.received == report.counts.stored + report.counts.deleted + report.counts.quarantined
    users = {user for (user,) in world.query('select "user" from t')}
    assert users == {"bob", "carol"}
    check(world.home, "t", "p")


def test_what_happens_after_the_deletion_is_stored(world: World) -> None:
    delete(world)
    ahead = datetime.now() + timedelta(days=2)
    path = world.home.parent / "logs" / "late.jsonl"
    path.write_text(f'{{"ts": "{ahead.isoformat()}Z", "user": "alice", "n": 99, "amount": "1"}}\n')
    assert collect(world).counts.stored == 1
    assert world.query("select n from t where \"user\" = 'alice'") == [(99,)]


def test_a_range_limits_it(world: World) -> None:
    window = TimeRange(START, START + timedelta(hours=24))
    delete(world, window=window)
    assert held(world) == set(range(HOURS)) - {n for n in ALICE if n < 24}
    write(world, range(HOURS), bad=1)
    assert collect(world).counts.deleted == 8
    assert held(world) == set(range(HOURS)) - {n for n in ALICE if n < 24}


def test_overwriting_does_not_bring_them_back_and_lifting_does(world: World) -> None:
    delete(world)
    everything = TimeRange(START, START + timedelta(days=3))
    assert collect(world, window=everything, overwrite=True).counts.deleted == len(ALICE)
    assert held(world) == set(range(HOURS)) - ALICE
    with pytest.raises(TailraceError, match="were deleted by that condition"):
        lift(world.lake, "t", "p", "true")
    lift(world.lake, "t", "p", WHERE)
    assert held(world) == set(range(HOURS)) - ALICE, "nothing has been read yet"
    collect(world, window=everything, overwrite=True)
    assert held(world) == set(range(HOURS))
    check(world.home, "t", "p")


def test_restoring_undoes_it_and_deleting_all_does_not(world: World) -> None:
    delete(world)
    version = history(world.lake, "t", "p")[1].version
    erase(world.lake, "t", "p", TimeRange())
    assert [one.where for one in erased(read_ledger(world.lake, "t", "p").notes)] == [WHERE]
    assert collect(world).counts.deleted == len(ALICE), "a partition that begins anew"
    assert held(world) == set(range(HOURS)) - ALICE
    restore(world.lake, "t", "p", version)
    assert held(world) == set(range(HOURS))
    assert erased(read_ledger(world.lake, "t", "p").notes) == ()


def test_by_shared_columns_and_by_several_conditions(world: World) -> None:
    delete(world, "tp_date = date '2024-03-01' and try_cast(amount as integer) % 2 = 0")
    delete(world, "tp_source_location like '%/a.jsonl' and \"user\" = 'bob'")
    left = {n for n in range(HOURS) if not (n < 24 and n % 2 == 0) and n % 3 != 1}
    assert held(world) == left
    configure(world, mark="b", more='column "n" { type = "integer" }')
    write(world, range(HOURS), bad=1)
    assert collect(world).counts.deleted == HOURS - len(left)
    assert held(world) == left


def test_by_a_column_that_is_not_declared_any_more(world: World) -> None:
    delete(world, "n >= 40 and \"user\" = 'alice'")
    configure(world, mark="b")
    write(world, range(HOURS), bad=1)
    assert collect(world).counts.deleted == 2, "the field is still in the log"


def test_a_row_that_cannot_be_judged_is_quarantined(world: World) -> None:
    delete(world, "cast(amount as integer) = 3")
    path = world.home.parent / "logs" / "odd.jsonl"
    path.write_text('{"ts": "2024-03-01T00:00:00Z", "user": "bob", "n": 50, "amount": "much"}\n')
    (report,) = world.collect()
    assert (report.counts.quarantined, report.counts.stored) == (1, 0)


@pytest.mark.parametrize("where", ["nosuch = 1", "sum(n) > 3", "n =", "read_text('/etc/hostname') <> ''"])
def test_what_is_no_condition_is_refused(world: World, where: str) -> None:
    with pytest.raises(TailraceError) as refused:
        delete(world, where)
    assert refused.value.code == "usage.bad-condition"
    assert held(world) == set(range(HOURS))


def test_for_good_the_bytes_are_gone_from_every_file(world: World) -> None:
    write(world, range(HOURS + 9))
    collect(world)
    assert holding(world.home, "alice")
    delete(world)
    assert holding(world.home, "alice"), "the files of earlier versions, and their statistics in the log"
    assert not [name for name in holding(world.home, "bob") if "alice" in name]
    forget(world.lake, "t", "p")
    assert holding(world.home, "alice") == []
    assert holding(world.home, "bob")
    left = {n for n in range(HOURS + 9) if n % 3}
    assert held(world) == left
    with pytest.raises(TailraceError, match="no version"):
        restore(world.lake, "t", "p", 1)
    # Whatever comes next finds the lake in order.
    write(world, range(HOURS + 12), bad=1)
    collect(world)
    assert holding(world.home, "alice") == []
    assert held(world) == {n for n in range(HOURS + 12) if n % 3}
    check(world.home, "t", "p")


@pytest.mark.parametrize("where", ["", "1, 2"])
def test_what_is_no_condition_is_refused_where_there_are_no_rows_yet(world: World, where: str) -> None:
    """Kept, it would send every row that comes later to the quarantine."""
    erase(world.lake, "t", "p", TimeRange())
    with pytest.raises(TailraceError) as refused:
        delete(world, where)
    assert refused.value.code == "usage.bad-condition"
    (report,) = world.collect()
    assert (report.counts.quarantined, held(world)) == (0, set(range(HOURS)))

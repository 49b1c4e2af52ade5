"""Delete, overwrite and restore killed at every step: the old state or the new one, never anything between.

The state is the rows, and the ranges and conditions that are deleted: an overwriting that dies lifts none of them.
"""

from __future__ import annotations

import shutil
import signal
from datetime import date, datetime
from itertools import cycle
from pathlib import Path

import forked
import partitionchange
import pytest
from bytesleft import holding
from lakecheck import Rows, check, stored
from logfiles import access_lines, write
from partitionchange import CONDITION, GONE, PLACE, WINDOW, change
from world import World

from tailrace.core import TimeRange
from tailrace.core.ranges import Ranges, joined, without
from tailrace.lake import segments
from tailrace.lake.deleted import Erasure, deleted, erased
from tailrace.lake.intents import read_ledger
from tailrace.lake.steps import MERGING, STEPS, UPKEEP
from tailrace.lake.undo import erase

ACTIONS = ("overwrite", "delete", "reset", "restore")
RECOVERY = [s for s in STEPS if s.startswith("recovery-")]
CHANGING = [s for s in STEPS if s not in {*RECOVERY, *MERGING, "fold-written", "replayed", "duplicates-dropped"}]


State = tuple[Rows, Ranges, tuple[Erasure, ...]]
AFTER: dict[str, Ranges] = {
    "overwrite": without([GONE], [WINDOW]),
    "delete": joined([GONE, WINDOW]),
    "reset": (),
    "restore": (),
}
"The ranges that are deleted then."


def state(world: World) -> State:
    notes = read_ledger(world.lake, *PLACE).notes
    return stored(world.home), deleted(notes), erased(notes)


def killed(home: Path, action: str, step: str, **env: str) -> None:
    process = forked.started(partitionchange.__file__, str(home), action, TAILRACE_KILL_AT=step, **env)
    assert process.wait(120) == -signal.SIGKILL, process.communicate()


def lines(numbers: range) -> str:
    return "".join(access_lines(date(2024, 5, day), 24) for day in numbers)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of two commits over four days, and half a day deleted; every file holds two days, and a bad line."""
    place = tmp_path_factory.mktemp("base")
    world = World(place / "home")
    world.write_config(f'partition "nginx_access_log" "web" {{\n source "file" {{ paths = ["{place}/logs"] }}\n}}')
    for first, last in ((1, 2), (3, 4)):
        write(place / "logs" / f"{first}.log", lines(range(first, last + 1)) + "bad line\n")
        change(world, "collect")
    erase(world.lake, *PLACE, GONE)
    # The second file grows by a day while nobody collects: overwriting reads all of it.
    write(place / "logs" / "3.log", lines(range(3, 6)) + "bad line\n")
    return world.home


def copied(base: Path, place: Path) -> World:
    shutil.copytree(base, place)
    return World(place)


@pytest.fixture(scope="module", params=ACTIONS)
def undisturbed(
    request: pytest.FixtureRequest, base: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, State, State]:
    """The change, the state before it and the state after it."""
    world = copied(base, tmp_path_factory.mktemp("undisturbed") / "home")
    before = state(world)
    change(world, request.param)
    after = state(world)
    assert before[0].total() == len(before[0]) == 84
    assert before[1] == (GONE,)
    assert after[0] != before[0]
    assert after[1] == AFTER[request.param]
    check(world.home, *PLACE)
    return request.param, before, after


@pytest.fixture
def world(base: Path, tmp_path: Path) -> World:
    return copied(base, tmp_path / "home")


@pytest.mark.parametrize("step", CHANGING)
def test_killed_while_changing(world, undisturbed, step):
    action, before, after = undisturbed
    killed(world.home, action, step)
    assert state(world) in (before, after), "half of it"
    change(world, action)
    assert state(world) == after
    check(world.home, *PLACE)


@pytest.mark.parametrize(("step", "action"), [*zip(RECOVERY, cycle(ACTIONS), strict=False)])
def test_killed_while_the_next_one_recovers(world, step, action):
    """A change died with its intent declared; whoever comes next clears it away and dies of it as well."""
    reference = copied(world.home, world.home.with_name("reference"))
    change(reference, action)
    before = state(world)
    killed(world.home, action, "segment-written")
    killed(world.home, "delete", step)
    assert state(world) == before, "nothing was committed"
    change(world, action)
    assert state(world) == state(reference)
    check(world.home, *PLACE)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_collect_makes_good_what_a_dead_change_left(world, action):
    killed(world.home, action, "segment-written")
    change(world, "collect")
    rows, ranges, conditions = state(world)
    assert (rows.total(), ranges, conditions) == (5 * 24 - 12, (GONE,), ())
    check(world.home, *PLACE)


@pytest.mark.parametrize("step", ["object-staged:2", "fold-written"])
@pytest.mark.parametrize("action", ACTIONS)
def test_killed_while_the_ledger_is_folded(world, monkeypatch, action, step):
    """The commit has been made: a fold that is missing, or one too many, changes nothing."""
    reference = copied(world.home, world.home.with_name("reference"))
    change(reference, action)
    killed(world.home, action, step, FOLD_EVERY="5")
    monkeypatch.setattr(segments, "FOLD_EVERY", 5)
    assert state(world) == state(reference)
    for each in (world, reference):
        change(each, "collect")
        check(each.home, *PLACE)
    assert state(world) == state(reference)
    ledgers = [read_ledger(each.lake, *PLACE) for each in (world, reference)]
    told = [sorted(ledger.entries.select(["uri", "rows", "status"]).to_pylist(), key=str) for ledger in ledgers]
    assert told[0] == told[1]


@pytest.mark.parametrize("step", ["segment-written", "committed"])
def test_killed_while_deleting_by_a_condition(world, step):
    """It is the commit of a deletion, with files written anew and a note in the ledger."""
    reference = copied(world.home, world.home.with_name("reference"))
    change(reference, "erase")
    before, after = state(world), state(reference)
    assert after[1:] == ((GONE,), (Erasure(CONDITION, WINDOW),))
    assert after[0] < before[0]
    killed(world.home, "erase", step)
    assert state(world) == (after if step == "committed" else before)
    change(world, "erase")
    assert state(world) == after
    check(world.home, *PLACE)


@pytest.mark.parametrize("step", ["manifest-written", "segment-staged", "segment-written", "committed", "run-cleaned"])
def test_killed_while_days_expire(world, step):
    """It is the commit of a deletion, of days that are over for longer than they are kept."""
    reference = copied(world.home, world.home.with_name("reference"))
    change(reference, "expire")
    before, after = state(world), state(reference)
    assert after[1] == (TimeRange(None, datetime(2024, 5, 3)),)
    assert after[0] < before[0]
    killed(world.home, "expire", step)
    assert state(world) == (after if step in ("committed", "run-cleaned") else before)
    change(world, "expire")
    assert state(world) == after
    check(world.home, *PLACE)


@pytest.mark.parametrize("step", UPKEEP)
def test_deleting_for_good_killed_between_its_steps(world, step):
    """The rows are gone with the commit; the bytes go with whoever does it again."""
    rows, *_ = state(world)
    killed(world.home, "erase for good", step)
    after, *_ = state(world)
    assert after < rows
    change(world, "erase for good")
    assert state(world)[0] == after
    within = [name for name in holding(world.home, "user1") if "tp_date=2024-05-02" in name]
    assert within == [], "a day that lies in the window as a whole"
    change(world, "collect")
    assert state(world)[0] > after, "the day that has come since"

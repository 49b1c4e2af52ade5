from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultruns import (
    EACH_DAY,
    ONCE,
    RECOVERY,
    Rows,
    check_clean,
    collect,
    commit_by_turns,
    sleeper_loses,
    start,
    stored,
    wait_until_stopped,
)
from remotelake import BUCKET, MotoProcess, moto_process, remote_lake

from tailrace.lake.paths import Lake
from tailrace.lake.steps import MERGING, STEPS


def at(*steps: str, in_bucket: tuple[str, ...] = ()) -> pytest.MarkDecorator:
    """Each step in a lake on disk, and some of them in one in a bucket: all of them are in tests/long."""
    cases = [*(("disk", step) for step in steps), *(("bucket", step) for step in in_bucket)]
    return pytest.mark.parametrize(("lake", "step"), cases, indirect=["lake"])


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MotoProcess]:
    with moto_process(tmp_path_factory.mktemp("moto") / "log", BUCKET) as server:
        yield server


@pytest.fixture
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    if request.param == "disk":
        return Lake(tmp_path)
    return remote_lake(tmp_path, request.getfixturevalue("moto").url, tmp_path.name)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    lake = Lake(tmp_path_factory.mktemp("undisturbed"))
    assert collect(lake, "a")[0] == 0
    check_clean(lake)
    return stored(lake)


@at(
    *ONCE,
    *(f"{step}:{n}" for step in EACH_DAY for n in (1, 3)),
    in_bucket=("segment-written:1",),
)
def test_killed_collecting(lake: Lake, undisturbed: Rows, step: str) -> None:
    assert collect(lake, "a", TAILRACE_KILL_AT=step)[0] == -signal.SIGKILL
    assert collect(lake, "b")[0] == 0
    assert stored(lake) == undisturbed
    check_clean(lake)


@at(*RECOVERY)
def test_killed_recovering(lake: Lake, undisturbed: Rows, step: str) -> None:
    assert collect(lake, "a", TAILRACE_KILL_AT="segment-written:2")[0] == -signal.SIGKILL
    assert collect(lake, "b", TAILRACE_KILL_AT=step)[0] == -signal.SIGKILL
    assert collect(lake, "c")[0] == 0
    assert stored(lake) == undisturbed
    check_clean(lake)


@at("files-written", "segment-written", "committed")
def test_killed_replacing(lake: Lake, step: str) -> None:
    """Artifacts that changed: their old rows go and the new ones come, together or not at all."""
    assert collect(lake, "a")[0] == 0
    before = stored(lake)
    code, _ = collect(lake, "b", SOURCE_VERSION="2", TAILRACE_KILL_AT=f"{step}:2")
    assert code == -signal.SIGKILL
    assert set(Counter(i for i, _ in stored(lake)).values()) == {1}
    assert collect(lake, "c", SOURCE_VERSION="2")[0] == 0
    after = stored(lake)
    assert set(after.values()) == {1}
    assert len(after) == len(before) + 3 * 20
    assert Counter(version for _, version in after) == {"1": 3 * 2 * 20, "2": 3 * 2 * 20}


@at("manifest-written", "files-written", "segment-staged", "segment-written", in_bucket=("segment-staged",))
def test_sleeper_loses(lake: Lake, undisturbed: Rows, step: str) -> None:
    """A collector stopped before its commit, recovered over by a second one, then woken."""
    sleeper_loses(lake, undisturbed, step)


@pytest.mark.parametrize("lake", ["disk"], indirect=True)
def test_sleeper_wakes_while_only_recovered(lake: Lake, undisturbed: Rows) -> None:
    """Its files are deleted, but nothing new is committed in their place: it still must not publish them."""
    with start(lake, "a", TAILRACE_STOP_AT="files-written") as sleeper:
        wait_until_stopped(sleeper.pid)
        assert collect(lake, "b", TAILRACE_KILL_AT="manifest-written")[0] == -signal.SIGKILL
        sleeper.send_signal(signal.SIGCONT)
        assert sleeper.wait(60) == 5
    assert collect(lake, "c")[0] == 0
    assert stored(lake) == undisturbed
    check_clean(lake)


def test_every_step_is_tested() -> None:
    here = {*RECOVERY, *ONCE, *EACH_DAY} - {"files-written", "day-committed"}
    others = {*MERGING, "fold-written", "replayed", "duplicates-dropped"}
    assert set(STEPS) == here | others, "and these are in test_changes_, test_replay_ and test_collect_killed"


@pytest.mark.parametrize(("lake", "commits"), [("disk", 50), ("bucket", 5)], indirect=["lake"])
def test_two_partitions_of_one_table_commit_by_turns(lake: Lake, commits: int) -> None:
    """A hundred times in a bucket: tests/long."""
    commit_by_turns(lake, commits)

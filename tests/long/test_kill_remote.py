"""A lake in a bucket: collectors killed at every step of the protocol, asleep, and by turns."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
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
    stored,
)
from remotelake import BUCKET, MotoProcess, moto_process, remote_lake

from tailrace.lake.paths import Lake

COMMITS = 50
Noted = Callable[[str, object], None]


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MotoProcess]:
    with moto_process(tmp_path_factory.mktemp("moto") / "log", BUCKET) as server:
        yield server


@pytest.fixture
def lake(tmp_path: Path, moto: MotoProcess) -> Lake:
    return remote_lake(tmp_path, moto.url, tmp_path.name)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    lake = Lake(tmp_path_factory.mktemp("undisturbed"))
    assert collect(lake, "a")[0] == 0
    return stored(lake)


@pytest.mark.parametrize("step", [*ONCE, *(f"{step}:{n}" for step in EACH_DAY for n in (1, 3))])
def test_collecting(lake: Lake, undisturbed: Rows, step: str, record_property: Noted) -> None:
    assert collect(lake, "a", TAILRACE_KILL_AT=step)[0] == -signal.SIGKILL
    assert collect(lake, "b")[0] == 0
    assert stored(lake) == undisturbed
    check_clean(lake)
    record_property("kills", 1)
    record_property("rows compared", undisturbed.total())


@pytest.mark.parametrize("step", RECOVERY)
def test_recovering(lake: Lake, undisturbed: Rows, step: str, record_property: Noted) -> None:
    assert collect(lake, "a", TAILRACE_KILL_AT="segment-written:2")[0] == -signal.SIGKILL
    assert collect(lake, "b", TAILRACE_KILL_AT=step)[0] == -signal.SIGKILL
    assert collect(lake, "c")[0] == 0
    assert stored(lake) == undisturbed
    check_clean(lake)
    record_property("kills", 2)
    record_property("rows compared", undisturbed.total())


@pytest.mark.parametrize("step", ["files-written", "segment-written", "committed"])
def test_replacing(lake: Lake, step: str, record_property: Noted) -> None:
    assert collect(lake, "a")[0] == 0
    assert collect(lake, "b", SOURCE_VERSION="2", TAILRACE_KILL_AT=f"{step}:2")[0] == -signal.SIGKILL
    assert set(Counter(i for i, _ in stored(lake)).values()) == {1}
    assert collect(lake, "c", SOURCE_VERSION="2")[0] == 0
    after = stored(lake)
    assert Counter(version for _, version in after) == {"1": 3 * 2 * 20, "2": 3 * 2 * 20}
    assert set(after.values()) == {1}
    record_property("kills", 1)


@pytest.mark.parametrize("step", ["manifest-written", "files-written", "segment-staged", "segment-written"])
def test_sleepers(lake: Lake, undisturbed: Rows, step: str) -> None:
    sleeper_loses(lake, undisturbed, step)


def test_by_turns(lake: Lake, record_property: Noted) -> None:
    commit_by_turns(lake, COMMITS)
    record_property("commits by turns", 2 * COMMITS)

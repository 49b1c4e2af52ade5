"""Replays that are killed or stopped at each step: every row is stored once, and the quarantine holds the rest."""

from __future__ import annotations

import json
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import forked
import pytest
from forked import Forked
from logfiles import write
from refusals import JSONL, WRONG, configure, counts, lines, refused, replayed, stored
from world import World

SCRIPT = Path(__file__).with_name("replay_once.py")
STEPS = ["manifest-written", "replayed", "segment-staged", "segment-written", "committed", "run-cleaned"]
CSV = 'format "delimited" "x" {{\ndelimiter = ","\nfield_map = {{ tp_timestamp = "{}" }}\n}}'
Rows = list[tuple[Any, ...]]


def start(home: Path, *more: str, **env: str) -> Forked:
    return forked.started(SCRIPT, str(home), *more, **env)


def kill(home: Path, step: str, *more: str) -> None:
    with start(home, *more, TAILRACE_KILL_AT=step) as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, err


@pytest.fixture(scope="module")
def refused_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files whose records were refused, of which all but one fit the configuration that is there now."""
    root = tmp_path_factory.mktemp("refused")
    for name in "ab":
        write(root / "logs" / f"{name}.log", lines(1, 2, 3) + ("bad\n" if name == "a" else ""))
    world = World(root / "home")
    configure(world, root / "logs", WRONG)
    world.collect()
    configure(world, root / "logs", JSONL)
    return world.home


@pytest.fixture(scope="module")
def undisturbed(refused_home: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, Rows]:
    world = World(shutil.copytree(refused_home, tmp_path_factory.mktemp("undisturbed") / "home"))
    assert replayed(world).stored == 6
    assert counts(world) == (6, 1)
    return stored(world), refused(world)


@pytest.fixture
def copied(refused_home: Path, tmp_path: Path) -> World:
    return World(shutil.copytree(refused_home, tmp_path / "home"))


@pytest.mark.parametrize("step", [*STEPS, "manifest-removed"])
def test_killed_replaying(copied: World, undisturbed: tuple[Rows, Rows], step: str) -> None:
    kill(copied.home, step)
    done = step in ("committed", "run-cleaned", "manifest-removed")
    assert counts(copied) == ((6, 1) if done else (0, 7))
    assert replayed(copied).stored == (0 if done else 6)
    assert counts(copied) == (6, 1)
    assert (stored(copied), refused(copied)) == undisturbed
    names = {path.name for path in copied.lake.meta("quarantine", "events", "p").path.iterdir()}
    assert len(names) <= 2  # what was refused at first, and what is left of it


@pytest.mark.parametrize("step", ["recovery-decided", "recovery-files-deleted", "recovery-segment-voided"])
def test_killed_recovering(copied: World, undisturbed: tuple[Rows, Rows], step: str) -> None:
    kill(copied.home, "segment-written")
    kill(copied.home, step)
    assert counts(copied) == (0, 7)
    replayed(copied)
    assert (stored(copied), refused(copied)) == undisturbed


@pytest.mark.parametrize("step", ["replayed", "segment-written", "committed"])
def test_killed_reading_artifacts_again(tmp_path: Path, step: str) -> None:
    world, logs = World(tmp_path / "home"), tmp_path / "logs"
    write(logs / "a.csv", "at,n\n2024-05-01T00:00:00Z,1\n2024-05-02T00:00:00Z,2\n")
    configure(world, logs, CSV.format("when"))
    world.collect()
    configure(world, logs, CSV.format("at"))
    kill(world.home, step, "again")
    assert counts(world) == ((2, 0) if step == "committed" else (0, 2))
    replayed(world)
    assert counts(world) == (2, 0)


def test_a_sleeper_loses_to_a_collection(copied: World) -> None:
    """The lock is lost, as on a file system without locks: the collection wins, and the replay changes nothing."""
    with start(copied.home, TAILRACE_STOP_AT="replayed") as sleeper:
        deadline = time.monotonic() + 60
        while Path(f"/proc/{sleeper.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        (copied.lake.meta("locks", "events", "p").path / "lock").unlink()
        assert copied.collect()[0].done == 2
        sleeper.send_signal(signal.SIGCONT)
        out, err = sleeper.communicate(timeout=60)
    assert sleeper.returncode == 5, err
    assert json.loads(out)["code"] == "lake.lost-race"
    assert counts(copied) == (6, 1)

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tailrace.lake.intents import read_ledger
from tailrace.lake.paths import Lake, partition_path
from tailrace.lake.quarantine import read_quarantine
from tailrace.lake.snapshot import snapshot
from tailrace.lake.steps import STEPS

TABLE = "fault_log"
SCRIPT = Path(__file__).with_name("collect_once.py")
SOURCE = Path(__file__).parents[2] / "src"
RECOVERY = [s for s in STEPS if s.startswith("recovery-")]
ONCE = ["object-staged", "manifest-written", "run-cleaned", "manifest-removed"]
EACH_DAY = ["files-written", "segment-staged", "segment-written", "committed", "day-committed"]
Rows = Counter[tuple[str, str]]


def start(home: Path, run: str, partition: str = "main", **env: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **env}
    command = [sys.executable, str(SCRIPT), str(home), run, partition]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def collect(home: Path, run: str, partition: str = "main", **env: str) -> tuple[int, str]:
    with start(home, run, partition, **env) as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode in (0, 5, -signal.SIGKILL), err
    return process.returncode, out


def stored(home: Path, partition: str = "main") -> Rows:
    """Every visible row: its id and the version it was read from."""
    seen = snapshot(Lake(home), TABLE)
    found: Rows = Counter()
    for file in seen.files.select(["path", "tp_partition"]).to_pylist():
        if file["tp_partition"] == partition:
            rows = pq.ParquetFile(seen.root.path / file["path"]).read(columns=["tp_id", "version"])
            found.update(zip(*(c.to_pylist() for c in rows.columns), strict=True))
    return found


def check_clean(home: Path, partition: str = "main") -> None:
    """No file that was never committed, and a ledger that says what the data hold."""
    lake = Lake(home)
    root = lake.table_root(TABLE).path
    committed = set()
    for log in sorted((root / "_delta_log").glob("*.json")):
        actions = map(json.loads, log.read_text().splitlines())
        committed |= {a["add"]["path"] for a in actions if "add" in a}
    on_disk = {str(p.relative_to(root)) for p in (root / partition_path(partition)).rglob("*.parquet")}
    assert on_disk <= committed
    ledger = read_ledger(lake, TABLE, partition)
    assert sum(ledger.entries.column("rows").to_pylist()) == stored(home, partition).total()
    quarantine = {p.name for p in lake.meta("quarantine", TABLE, partition).path.iterdir()}
    assert quarantine == set(ledger.quarantine)
    assert read_quarantine(lake, TABLE, partition, ["uri", "raw"]).num_rows == len(ledger.entries)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    home = tmp_path_factory.mktemp("undisturbed")
    assert collect(home, "a")[0] == 0
    check_clean(home)
    return stored(home)


@pytest.mark.parametrize("step", [*ONCE, *(f"{step}:{n}" for step in EACH_DAY for n in (1, 3))])
def test_killed_collecting(tmp_path: Path, undisturbed: Rows, step: str) -> None:
    assert collect(tmp_path, "a", TAILRACE_KILL_AT=step)[0] == -signal.SIGKILL
    assert collect(tmp_path, "b")[0] == 0
    assert stored(tmp_path) == undisturbed
    check_clean(tmp_path)


@pytest.mark.parametrize("step", RECOVERY)
def test_killed_recovering(tmp_path: Path, undisturbed: Rows, step: str) -> None:
    assert collect(tmp_path, "a", TAILRACE_KILL_AT="segment-written:2")[0] == -signal.SIGKILL
    assert collect(tmp_path, "b", TAILRACE_KILL_AT=step)[0] == -signal.SIGKILL
    assert collect(tmp_path, "c")[0] == 0
    assert stored(tmp_path) == undisturbed
    check_clean(tmp_path)


@pytest.mark.parametrize("step", ["files-written", "segment-written", "committed"])
def test_killed_replacing(tmp_path: Path, step: str) -> None:
    """Artifacts that changed: their old rows go and the new ones come, together or not at all."""
    assert collect(tmp_path, "a")[0] == 0
    before = stored(tmp_path)
    code, _ = collect(tmp_path, "b", SOURCE_VERSION="2", TAILRACE_KILL_AT=f"{step}:2")
    assert code == -signal.SIGKILL
    assert set(Counter(i for i, _ in stored(tmp_path)).values()) == {1}
    assert collect(tmp_path, "c", SOURCE_VERSION="2")[0] == 0
    after = stored(tmp_path)
    assert set(after.values()) == {1}
    assert len(after) == len(before) + 3 * 20
    assert Counter(version for _, version in after) == {"1": 3 * 2 * 20, "2": 3 * 2 * 20}


@pytest.mark.parametrize("step", ["manifest-written", "files-written", "segment-staged", "segment-written"])
def test_sleeper_loses(tmp_path: Path, undisturbed: Rows, step: str) -> None:
    """A collector stopped before its commit, recovered over by a second one, then woken."""
    with start(tmp_path, "a", TAILRACE_STOP_AT=step) as sleeper:
        wait_until_stopped(sleeper.pid)
        assert collect(tmp_path, "b")[0] == 0
        sleeper.send_signal(signal.SIGCONT)
        out, err = sleeper.communicate(timeout=60)
    assert sleeper.returncode == 5, err
    assert json.loads(out)["code"] == "lake.lost-race"
    assert stored(tmp_path) == undisturbed
    check_clean(tmp_path)


def test_sleeper_wakes_while_only_recovered(tmp_path: Path, undisturbed: Rows) -> None:
    """Its files are deleted, but nothing new is committed in their place: it still must not publish them."""
    with start(tmp_path, "a", TAILRACE_STOP_AT="files-written") as sleeper:
        wait_until_stopped(sleeper.pid)
        assert collect(tmp_path, "b", TAILRACE_KILL_AT="manifest-written")[0] == -signal.SIGKILL
        sleeper.send_signal(signal.SIGCONT)
        assert sleeper.wait(60) == 5
    assert collect(tmp_path, "c")[0] == 0
    assert stored(tmp_path) == undisturbed
    check_clean(tmp_path)


def test_every_step_is_tested() -> None:
    here = {*RECOVERY, *ONCE, *EACH_DAY} - {"files-written", "day-committed"}
    others = {"fold-written", "replayed", "duplicates-dropped"}
    assert set(STEPS) == here | others, "and these are in test_changes_, test_replay_ and test_collect_killed"


def test_two_partitions_of_one_table_at_once(tmp_path: Path) -> None:
    names = [f"p{n}" for n in range(3)]
    processes = [start(tmp_path, f"run{n}", n) for n in names]
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, out + err
    for name in names:
        check_clean(tmp_path, name)
        assert stored(tmp_path, name).total() == 3 * 3 * 20


def wait_until_stopped(pid: int) -> None:
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < deadline
        time.sleep(0.01)

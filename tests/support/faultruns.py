"""A small collector in processes of its own, and what it leaves in a lake on disk or in a bucket."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import forked
import pyarrow.parquet as pq
from forked import Forked
from lakecheck import committed

from tailrace.lake.intents import read_ledger
from tailrace.lake.paths import Lake, partition_path
from tailrace.lake.quarantine import read_quarantine
from tailrace.lake.snapshot import snapshot
from tailrace.lake.steps import STEPS
from tailrace.lake.table import open_table

TABLE = "fault_log"
RECOVERY = [s for s in STEPS if s.startswith("recovery-")]
ONCE = ["object-staged", "manifest-written", "run-cleaned", "manifest-removed"]
EACH_DAY = ["files-written", "segment-staged", "segment-written", "committed", "day-committed"]
SCRIPT = Path(__file__).parents[1] / "faults" / "collect_once.py"
Rows = Counter[tuple[str, str]]


def start(lake: Lake, run: str, partition: str = "main", **env: str) -> Forked:
    """A lake in a bucket is one of moto's, which `remotelake` knows by its URL."""
    if lake.elsewhere is not None:
        env |= {"LAKE_ENDPOINT": _endpoint(lake), "LAKE_PREFIX": lake.elsewhere.prefix}  # type: ignore[attr-defined]
    return forked.started(SCRIPT, str(lake.home), run, partition, **env)


def _endpoint(lake: Lake) -> str:
    return str(lake.elsewhere.container.settings.text("endpoint_url"))  # type: ignore[union-attr]


def collect(lake: Lake, run: str, partition: str = "main", **env: str) -> tuple[int, str]:
    with start(lake, run, partition, **env) as process:
        out, err = process.communicate(timeout=180)
    assert process.returncode in (0, 5, -signal.SIGKILL), err
    return process.returncode, out


def stored(lake: Lake, partition: str = "main") -> Rows:
    """Every visible row: its id and the version it was read from."""
    seen = snapshot(lake, TABLE)
    found: Rows = Counter()
    for file in seen.files.select(["path", "tp_partition"]).to_pylist():
        if file["tp_partition"] == partition:
            with seen.root.open(file["path"]) as opened:
                rows = pq.ParquetFile(opened).read(columns=["tp_id", "version"])
            found.update(zip(*(c.to_pylist() for c in rows.columns), strict=True))
    return found


def check_clean(lake: Lake, partition: str = "main") -> None:
    """No file that was never committed, and a ledger that says what the data hold."""
    root = lake.table_root(TABLE)
    there = {path for path in root.walk(partition_path(partition)) if path.endswith(".parquet")}
    assert there <= committed(root)
    ledger = read_ledger(lake, TABLE, partition)
    assert sum(ledger.entries.column("rows").to_pylist()) == stored(lake, partition).total()
    assert lake.meta("quarantine", TABLE, partition).names() == sorted(ledger.quarantine)
    assert read_quarantine(lake, TABLE, partition, ["uri", "raw"]).num_rows == len(ledger.entries)


def commit_by_turns(lake: Lake, commits: int) -> None:
    """Two processes, each with so many commits to a partition of its own: none is lost."""
    runs = [start(lake, f"run{p}", p, DAYS=str(commits)) for p in "ab"]
    for run in runs:
        out, err = run.communicate(timeout=600)
        assert run.returncode == 0, out + err
    delta = open_table(lake.table_root(TABLE))
    by = [c.get("tailrace.partition") for c in reversed(delta.history()) if "tailrace.partition" in c]
    assert (by.count("a"), by.count("b")) == (commits, commits)
    assert sum(one != other for one, other in pairwise(by)) > commits // 5, "one after the other"
    for partition in "ab":
        rows = stored(lake, partition)
        assert rows.total() == len(rows) == commits * 3 * 20
        check_clean(lake, partition)


def wait_until_stopped(pid: int) -> None:
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def sleeper_loses(lake: Lake, undisturbed: Rows, step: str) -> None:
    """A collector stopped before its commit, recovered over by a second one, then woken."""
    with start(lake, "a", TAILRACE_STOP_AT=step) as sleeper:
        wait_until_stopped(sleeper.pid)
        assert collect(lake, "b")[0] == 0
        sleeper.send_signal(signal.SIGCONT)
        out, err = sleeper.communicate(timeout=60)
    assert sleeper.returncode == 5, err
    assert json.loads(out)["code"] == "lake.lost-race"
    assert stored(lake) == undisturbed
    check_clean(lake)

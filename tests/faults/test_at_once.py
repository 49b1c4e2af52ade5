"""Several processes on one table and on one partition: no commit is lost, no row is stored twice."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import partitionchange
from lakecheck import check, stored
from logfiles import access_lines, write
from partitionchange import PLACE
from world import World

from tailrace.lake.intents import read_ledger

SUPPORT = os.pathsep.join(str(Path(__file__).parents[n] / name) for n, name in ((2, "src"), (1, "support")))
BY_DAY = """
select tp_date, count(*), count(distinct tp_id) from nginx_access_log where tp_date < '2024-02-01' group by 1
"""
BUSY = """
import sys, time
from pathlib import Path
from tailrace.core import LockedError, TailraceError
from logfiles import access_lines, write
from datetime import date, timedelta
from partitionchange import change
from world import World
world, logs, turns = World(Path(sys.argv[1])), Path(sys.argv[2]), sys.argv[4:]
tries = 0
for number, action in enumerate(turns):
    day = date(2024, 1, 1) + timedelta(days=number)
    write(logs / f"{sys.argv[3]}-{day}.log", access_lines(day, 4))
    while True:
        try:
            change(world, action)
            break
        except LockedError:
            tries += 1
            time.sleep(0.01)
print(tries)
"""


def busy(home: Path, logs: Path, name: str, turns: list[str]) -> subprocess.Popen[str]:
    """A process that changes the partition again and again; before each turn a log joins."""
    command = [sys.executable, "-c", BUSY, str(home), str(logs), name, *turns]
    environment = {**os.environ, "PYTHONPATH": SUPPORT}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def all_well(*processes: subprocess.Popen[str]) -> list[int]:
    """What each of them said."""
    said = []
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        said.append(int(out))
    return said


def configured(home: Path, logs: Path) -> World:
    world = World(home)
    world.write_config(f'partition "nginx_access_log" "web" {{\n source "file" {{ paths = ["{logs}"] }}\n}}')
    return world


def test_two_collectors_take_turns_on_one_partition(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    world = configured(tmp_path / "home", logs)
    turns = ["collect"] * 10
    waits = all_well(*(busy(world.home, logs, name, turns) for name in "ab"))
    assert sum(waits), "they never met"
    world.collect()
    rows = stored(world.home)
    assert rows.total() == len(rows) == 2 * len(turns) * 4
    check(world.home, *PLACE)


def test_collecting_deleting_overwriting_and_asking_at_once(tmp_path: Path) -> None:
    """Whoever asks meanwhile sees whole days only, and never an error."""
    logs = tmp_path / "logs"
    for number in range(5):
        day = partitionchange.WINDOW.start.date() + timedelta(days=number)  # type: ignore[union-attr]
        write(logs / f"old-{day}.log", access_lines(day, 24))
    world = configured(tmp_path / "home", logs)
    world.collect()
    changing = [
        busy(world.home, logs, "a", ["collect"] * 15),
        busy(world.home, logs, "b", ["overwrite", "delete", "collect"] * 5),
    ]
    asked = 0
    while any(process.poll() is None for process in changing):
        found = world.query(BY_DAY)
        asked += 1
        assert all(rows == ids and rows % 4 == 0 for _, rows, ids in found), found
    all_well(*changing)
    assert asked > 5
    partitionchange.change(world, "overwrite")
    assert world.query("select count(*) from nginx_access_log where tp_date >= '2024-05-01'") == [(5 * 24,)]
    assert world.query("select count(*) from nginx_access_log where tp_date < '2024-02-01'") == [(30 * 4,)]
    check(world.home, *PLACE)
    assert read_ledger(world.lake, *PLACE).entries.num_rows == 35

"""A replay that reads files again runs on Spark as a collection does, and so do the records beside them."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from commandline import Home, ended, is_stopped, killed_afterwards, wait_for
from logfiles import write
from refusals import JSONL, WRONG, configure, counts, lines
from world import World


def test_records_and_artifacts_in_one_commit(home: Home, tmp_path: Path) -> None:
    world, logs = World(home.path), tmp_path / "logs"
    write(logs / "a.log", lines(1, 2) + "bad\n")
    broken = write(logs / "b.log", "")
    broken.write_bytes(b"\x1f\x8b\x08\x00rubbish that is no deflate stream")
    configure(world, logs, WRONG)
    world.collect()
    (logs / "a.log").unlink()
    write(broken, lines(3, 4, 5))
    configure(world, logs, JSONL)
    done = home.run("quarantine", "replay", "p", "--output", "json")
    assert done.code == 0, done.err
    (row,) = done.json()
    assert (row["tried"], row["stored"], row["quarantined"], row["artifacts"]) == (4, 5, 1, 1)
    assert counts(world) == (5, 1)
    changes = home.run("partition", "history", "events.p", "--output", "json").json()
    assert [change["change"] for change in changes] == ["replay", "collect"]
    assert home.query("select n from events order by n") == [{"n": n} for n in (1, 2, 3, 4, 5)]


@pytest.mark.slow
def test_twice_at_once(home: Home, tmp_path: Path) -> None:
    """One wins, the other is told who holds the partition; every row is stored once."""
    world, logs = World(home.path), tmp_path / "logs"
    write(logs / "a.log", lines(1, 2, 3) + "bad\n")
    configure(world, logs, WRONG)
    world.collect()
    configure(world, logs, JSONL)
    replay = ("quarantine", "replay", "p", "--output", "json")
    with killed_afterwards(home.start(*replay, TAILRACE_STOP_AT="replayed")) as first:
        wait_for(lambda: is_stopped(first))
        second = home.run(*replay)
        assert (second.code, "error[lake.locked]" in second.err) == (6, True), second
        assert f"process {first.pid}" in second.err
        assert counts(world) == (0, 4)
        first.send_signal(signal.SIGCONT)
        done = ended(first)
    assert done.code == 0, done
    assert done.json()[0]["stored"] == 3
    assert counts(world) == (3, 1)
    # Nobody waits for anybody: whoever comes later finds nothing to do, or the door closed.
    write(logs / "b.log", lines(*range(20, 60)))
    configure(world, logs, WRONG)
    world.collect()
    configure(world, logs, JSONL)
    both = [home.start(*replay) for _ in range(2)]
    codes = sorted(ended(process).code for process in both)
    assert codes in ([0, 0], [0, 6])
    assert counts(world) == (43, 1)

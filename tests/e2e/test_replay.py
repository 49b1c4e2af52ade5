"""A replay that reads files again runs on Spark as a collection does, and so do the records beside them."""

from __future__ import annotations

from pathlib import Path

from commandline import Home
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

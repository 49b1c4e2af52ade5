"""Deleting, looking back and restoring, as typed."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from logfiles import access_lines, today, write
from mounts import no_larger_files
from world import World

from tailrace.cli.main import cli
from tailrace.cli.options import Context
from tailrace.cli.summary import print_summary
from tailrace.core import TimeRange
from tailrace.lake.intents import Intents
from tailrace.lake.lock import partition_lock
from tailrace.lake.undo import erase

NAME = "nginx_access_log.p"


@pytest.fixture
def world(tmp_path: Path) -> World:
    for back in range(3):
        write(tmp_path / "logs" / f"{back}.log", access_lines(today() - timedelta(days=back), 24))
    made = World(tmp_path / "home")
    made.collect_one("nginx_access_log", f"{tmp_path}/logs")
    return made


def run(world: World, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(world.home), "partition", *arguments])


def told(world: World, *arguments: str) -> Any:
    done = run(world, *arguments, "--output", "json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def count(world: World) -> int:
    return world.query("select count(*) from nginx_access_log")[0][0]


def test_nothing_goes_in_a_dry_run(world: World) -> None:
    (row,) = told(world, "delete", "p", "--from", str(today()), "--dry-run")
    assert row == {"name": NAME, "rows": 24, "files": 1, "days": 1, "first": str(today()), "last": str(today())}
    assert count(world) == 72


def test_a_dry_run_counts_the_rows_of_a_day_that_is_cut(world: World) -> None:
    yesterday = today() - timedelta(days=1)
    span = ("--from", f"{yesterday}T18:00:00", "--to", f"{today()}T00:00:01")
    (row,) = told(world, "delete", "p", *span, "--dry-run")
    assert row == {"name": NAME, "rows": 7, "files": 2, "days": 2, "first": str(yesterday), "last": str(today())}
    (done,) = told(world, "delete", "p", *span, "--force")
    assert (done["rows"], count(world)) == (7, 65)


def test_a_range_between_two_rows_dooms_nothing(world: World) -> None:
    (row,) = told(world, "delete", "p", "--from", f"{today()}T10:10:00", "--to", f"{today()}T10:20:00", "--dry-run")
    assert (row["rows"], row["files"], row["days"], row["first"]) == (0, 0, 0, None)


def test_nobody_is_asked_without_a_terminal(world: World) -> None:
    done = run(world, "delete", "p")
    assert done.exception is not None
    assert getattr(done.exception, "code", None) == "usage.not-confirmed"
    assert count(world) == 72


def test_a_range_goes_and_comes_back(world: World) -> None:
    (row,) = told(world, "delete", "nginx*.p", "--to", f"{today()}T12:00:00", "--force")
    assert (row["rows"], count(world)) == (60, 12)
    assert row["undo"].endswith(f"partition restore {NAME} --at {row['version']}")
    changes = told(world, "history", "p")
    assert [(c["change"], c["added"], c["removed"]) for c in changes] == [("delete", 0, 60), ("collect", 72, 0)]
    assert changes[1]["restore"].endswith(f"partition restore {NAME} --at {changes[1]['version']}")
    shown = run(world, "history", "p")
    assert "REMOVED" in shown.stdout
    assert f"partition restore {NAME} --at VERSION" in shown.stderr
    for form in ("csv", "jsonl", "line", "plain"):
        assert "removed" in run(world, "history", "p", "--output", form).stdout.lower()
    (row,) = told(world, "restore", NAME, "--at", str(row["version"]))
    assert (row["rows"], count(world)) == (72, 72)


def test_deleted_ranges_are_shown_and_counted(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert "deleted" not in told(world, "show", "p")
    yesterday = today() - timedelta(days=1)
    told(world, "delete", "p", "--to", f"{yesterday}T12:00:00", "--force")
    told(world, "delete", "p", "--from", f"{yesterday}T18:00:00", "--to", str(today()), "--force")
    assert told(world, "show", "p")["deleted"] == [
        {"from": None, "to": f"{yesterday} 12:00:00"},
        {"from": f"{yesterday} 18:00:00", "to": f"{today()} 00:00:00"},
    ]
    assert "deleted" in run(world, "show", "p").stdout
    write(world.home.parent / "logs" / "late.log", access_lines(yesterday, 24))
    (report,) = world.collect()
    assert (report.clean, report.counts.deleted, report.counts.stored) == (True, 18, 6)
    assert count(world) == 24 + 6 + 6
    print_summary([report], "table", Context(), 1.0)
    assert "6 stored, 0 filtered, 0 out of range, 18 in a deleted range, 0 quarantined" in capsys.readouterr().out
    print_summary([report], "json", Context(), 1.0)
    assert json.loads(capsys.readouterr().out)["partitions"][0]["rows"]["deleted"] == 18


def test_without_a_version_the_last_change_is_undone(world: World) -> None:
    told(world, "delete", "p", "--to", f"{today()}T12:00:00", "--force")
    (row,) = told(world, "restore", "p")
    assert row["undone"].startswith("delete of ")
    assert row["undo"].endswith(f"partition restore {NAME}")
    assert (row["rows"], count(world)) == (72, 72)
    (row,) = told(world, "restore", "p")
    assert row["undone"].startswith("restore of ")
    assert count(world) == 12
    told(world, "restore", "p")
    (row,) = told(world, "delete", "p", "--force")
    assert count(world) == 0
    told(world, "restore", "p")
    assert count(world) == 72


def test_who_says_no_keeps_everything(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    done = run(world, "delete", "p", "--from", str(today()))
    assert done.exit_code != 0
    assert "24 rows in 1 days" in done.output
    assert count(world) == 72


def test_a_disk_without_room_is_told_as_such_and_changes_nothing(world: World) -> None:
    """A limit on the size of files stands for the disk: every write fails."""
    for arguments in (("delete", "p", "--to", f"{today()}T12:00:00", "--force"), ("restore", "p", "--at", "0")):
        with no_larger_files():
            done = run(world, *arguments)
        assert getattr(done.exception, "code", None) == "lake.io", done.exception
        assert count(world) == 72
    (row,) = told(world, "delete", "p", "--to", f"{today()}T12:00:00", "--force")
    assert (row["rows"], count(world)) == (60, 12)


def test_all_of_an_orphan(world: World) -> None:
    world.write_config("")
    (row,) = told(world, "delete", NAME, "--force")
    assert (row["rows"], count(world)) == (72, 0)
    assert run(world, "list").exit_code == 0
    (row,) = told(world, "restore", "p", "--at", str(row["version"]))
    assert count(world) == 72


def test_wrong_names_and_locks(world: World) -> None:
    for arguments in (("delete", "q", "--force"), ("history", "q"), ("restore", "q", "--at", "1")):
        assert getattr(run(world, *arguments).exception, "code", None) == "usage.unknown-partition"
    with partition_lock(world.lake, "nginx_access_log", "p", "another"):
        done = run(world, "delete", "p", "--force")
        assert getattr(done.exception, "exit_code", None) == 6
    assert count(world) == 72


def test_the_last_change_may_be_that_of_whoever_is_waited_for(world: World) -> None:
    days = [today() - timedelta(days=back) for back in range(2)]
    told(world, "delete", "p", "--from", str(days[0]), "--force")
    is_held = threading.Event()

    def delete_yesterday() -> None:
        with partition_lock(world.lake, *NAME.split("."), "test", brief=True):
            is_held.set()
            time.sleep(1)
            begins, ends = (datetime.combine(day, datetime.min.time()) for day in reversed(days))
            erase(world.lake, *NAME.split("."), TimeRange(begins, ends))

    other = threading.Thread(target=delete_yesterday)
    other.start()
    is_held.wait()
    (row,) = told(world, "restore", "p")
    other.join()
    assert (row["rows"], count(world)) == (48, 48), "the deletion of yesterday is undone, that of today is not"


def test_a_restoration_that_was_refused_is_nothing_to_undo(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk neither its commit fits nor the note that it failed."""
    told(world, "delete", "p", "--from", str(today()), "--force")
    transact = Intents.transact

    def full(*given: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def hardly(self: Intents, actions: list[Any], *given: Any, is_ok: bool) -> None:
        full() if is_ok else transact(self, actions, *given, is_ok=is_ok)

    with monkeypatch.context() as disk:
        disk.setattr(Intents, "transact", hardly)
        disk.setattr(Intents, "_void", full)
        assert run(world, "restore", "p").exit_code == 1
    assert count(world) == 48
    assert [row["change"] for row in told(world, "history", "p")] == ["void", "delete", "collect"]
    (row,) = told(world, "restore", "p")
    assert (row["rows"], count(world)) == (72, 72)

"""`maintain` and `partition delete --where`, as typed; and what a collection does by itself."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from bytesleft import holding
from click.testing import CliRunner, Result
from logfiles import access_lines, today, write
from world import World

from tailrace.cli import settings
from tailrace.cli.main import cli
from tailrace.cli.upkeep import keep_up
from tailrace.lake.lock import partition_lock

NAME = "nginx_access_log.p"
PLACE = ("nginx_access_log", "p")
ROWS = 24
DAYS = 4


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Four days up to now, of which two are kept."""
    made = World(tmp_path / "home")
    made.write_config(
        f'partition "nginx_access_log" "p" {{\n retention = "1d"\n source "file" {{ paths = ["{tmp_path}/logs"] }}\n}}'
    )
    for back in range(DAYS):
        write(tmp_path / "logs" / f"{back}.log", access_lines(today() - timedelta(days=back), ROWS))
    assert all(report.clean for report in made.collect())
    return made


def run(world: World, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(world.home), *arguments])


def told(world: World, *arguments: str, code: int = 0) -> Any:
    done = run(world, *arguments, "--output", "json")
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def count(world: World) -> int:
    return world.query("select count(*) from nginx_access_log")[0][0]


def later(monkeypatch: pytest.MonkeyPatch, days: int) -> datetime:
    moment = settings.now() + timedelta(days=days)
    monkeypatch.setattr(settings, "now", lambda: moment)
    return moment


def test_a_dry_run_lists_what_is_due_and_changes_nothing(world: World) -> None:
    (chore,) = told(world, "maintain", "--dry-run")["chores"]
    first, last = today() - timedelta(days=3), today() - timedelta(days=2)
    assert {name: chore[name] for name in ("action", "name", "days", "rows", "first", "last")} == {
        "action": "expire", "name": NAME, "days": 2, "rows": 2 * ROWS, "first": str(first), "last": str(last),
    }  # fmt: skip
    assert count(world) == DAYS * ROWS
    assert "expire" in run(world, "maintain", "--dry-run").stdout


def test_it_is_done_and_then_nothing_is_due(world: World) -> None:
    assert [chore["action"] for chore in told(world, "maintain", "p")["chores"]] == ["expire"]
    assert count(world) == 2 * ROWS
    assert told(world, "maintain")["chores"] == []
    assert "nothing is due" in run(world, "maintain").stderr
    assert told(world, "partition", "show", NAME)["retention"] == "1d"


def test_a_month_later_the_files_go_as_well(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    told(world, "maintain")
    later(monkeypatch, 31)
    actions = {chore["action"]: chore for chore in told(world, "maintain")["chores"]}
    # Those that expire now as well: their commit bears the time that it really is.
    assert (actions["expire"]["rows"], actions["vacuum"]["files"]) == (2 * ROWS, 4)
    assert count(world) == 0


def test_small_files_are_merged_where_it_pays(world: World, tmp_path: Path) -> None:
    world.write_config(f'partition "nginx_access_log" "p" {{\n source "file" {{ paths = ["{tmp_path}/logs"] }}\n}}')
    for number in range(8):
        write(tmp_path / "logs" / f"more{number}.log", access_lines(today(), 3 + number))
        world.collect()
    before = count(world)
    (planned,) = [c for c in told(world, "maintain", "--dry-run")["chores"] if c["action"] == "compact"]
    assert (planned["name"], planned["days"], planned["files"]) == (NAME, 1, 9)
    assert not [c for c in told(world, "maintain", "--no-compact")["chores"] if c["action"] == "compact"]
    (done,) = [c for c in told(world, "maintain")["chores"] if c["action"] == "compact"]
    assert (done["files"], done["into"]) == (9, 1)
    assert count(world) == before


def test_somebody_else_at_work_is_told(world: World) -> None:
    with partition_lock(world.lake, *PLACE, "tailrace collect"):
        answer = told(world, "maintain", code=6)
    assert [trouble["code"] for trouble in answer["troubles"]] == ["lake.locked"]
    assert count(world) == DAYS * ROWS


def test_a_damaged_table_does_not_keep_others_from_it(world: World) -> None:
    broken = world.lake.data_root.path / "tp_table=broken" / "_delta_log"  # type: ignore[attr-defined]
    broken.mkdir(parents=True)
    (broken / f"{0:020d}.json").write_text("no JSON")
    world.lake.meta("ledger", "broken", "x").put("000000000001.parquet", b"", "test")
    answer = told(world, "maintain", code=5)
    assert [chore["name"] for chore in answer["chores"]] == [NAME]
    assert [trouble["name"] for trouble in answer["troubles"]] == ["broken"]


def test_a_collection_looks_after_it_once_a_day(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_up(world.lake, world.config(), [PLACE], quiet=False)
    assert count(world) == DAYS * ROWS, "a new partition has nothing that is due"
    later(monkeypatch, 1)
    keep_up(world.lake, world.config(), [PLACE, ("nginx_access_log", "unknown")], quiet=False)
    assert count(world) == ROWS
    assert f"{NAME}: 72 rows of 3 days up to {today() - timedelta(days=1)} expired" in capsys.readouterr().err


def test_rows_of_one_user(world: World) -> None:
    where = ("--where", "remote_user = 'user2'")
    (row,) = told(world, "partition", "delete", "p", *where, "--dry-run")
    assert (row["rows"], row["days"]) == (DAYS * ROWS // 3, DAYS)
    (done,) = told(world, "partition", "delete", "p", *where, "--force")
    assert (done["rows"], count(world)) == (DAYS * ROWS // 3, DAYS * ROWS * 2 // 3)
    (kept,) = told(world, "partition", "show", NAME)["deleted_where"]
    assert kept["where"] == where[1]
    assert holding(world.home, "user2")
    (gone,) = told(world, "partition", "delete", "p", *where, "--for-good", "--force")
    assert (gone["rows"], gone["files"], gone["undo"]) == (0, DAYS, None)
    assert holding(world.home, "user2") == []
    assert run(world, "partition", "delete", "p", *where, "--lift").exit_code == 0
    assert "deleted_where" not in told(world, "partition", "show", NAME)


@pytest.mark.parametrize("tier", ["", 'store "default" {{\n tier "old" {{\n path = "{place}/old"\n }}\n}}\n'])
def test_a_snapshot_that_keeps_such_rows_is_told(world: World, tmp_path: Path, tier: str) -> None:
    config = (world.home / "config" / "test.tpc").read_text()
    schema = '\nschema "mine" {\n materialized = true\n}\n'
    world.write_config(config + schema + tier.format(place=tmp_path))
    assert run(world, "maintain").exit_code == 0
    assert any((tmp_path / "old").rglob("*.parquet")) == bool(tier)
    assert run(world, "schema", "refresh", "mine").exit_code == 0
    done = run(world, "partition", "delete", "p", "--where", "remote_user = 'user2'", "--for-good", "--force")
    assert done.exit_code == 0
    assert f"schema mine keeps files of {NAME} from before" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--where", "nosuch = 1", "--force"), "usage.bad-condition"),
        (("--lift",), "usage.lift-what"),
        (("--where", "true", "--lift"), "usage.no-such-condition"),
    ],
)
def test_what_cannot_be_meant(world: World, arguments: tuple[str, ...], code: str) -> None:
    done = run(world, "partition", "delete", "p", *arguments)
    assert getattr(done.exception, "code", None) == code
    assert count(world) == DAYS * ROWS

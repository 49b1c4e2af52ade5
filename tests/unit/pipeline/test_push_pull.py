"""Days of a partition in two lakes: handed over once, merged by `tp_id`, told apart when one of them has changed."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lakecheck import check, stored
from logfiles import access_lines, write
from mounts import no_larger_files
from twolakes import ALL, DAYS, PLACE, ROWS, asked, hand, made_in, other, rows_of, told
from world import World

from tailrace.cli.main import cli
from tailrace.core import TimeRange
from tailrace.core.errors import LakeError, LockedError
from tailrace.lake import handover
from tailrace.lake.lock import partition_lock
from tailrace.lake.paths import Lake
from tailrace.lake.predicate import Predicate
from tailrace.lake.snapshot import snapshot
from tailrace.lake.table import stored_schema
from tailrace.lake.undo import erase, history, restore

SECOND = TimeRange(datetime(2024, 5, 2), datetime(2024, 5, 3))
SAME = [("same", 0, 0, 0)] * 4


@pytest.fixture
def world(tmp_path: Path) -> World:
    return made_in(tmp_path)


@pytest.fixture
def remote(tmp_path: Path) -> Lake:
    return other(tmp_path / "remote")


def collected_again(world: World) -> None:
    """Every row anew, of the same artifacts."""
    (report,) = world.collect(window=SECOND, overwrite=True)
    assert report.clean


def test_days_are_handed_over_once(world: World, remote: Lake) -> None:
    before = rows_of(world.lake)
    assert told(hand("push", world.lake, remote)) == [("new", ROWS, 0, 0)] * 4
    assert rows_of(remote) == before
    check(remote, *PLACE)
    version = snapshot(remote, PLACE[0]).version
    assert told(hand("push", world.lake, remote)) == SAME
    assert told(hand("pull", remote, world.lake)) == SAME
    assert snapshot(remote, PLACE[0]).version == version, "nothing to do, nothing done"
    assert [commit.kind for commit in history(remote, *PLACE)] == ["push"] * 4


def test_a_working_set_on_another_machine(world: World, remote: Lake, tmp_path: Path) -> None:
    """Pulled by range; handed on to a third lake and back: all of them know that it is the same day."""
    hand("push", world.lake, remote)
    here, third = Lake(tmp_path / "here"), other(tmp_path / "third")
    wanted = replace(ALL, window=SECOND)
    assert told(hand("pull", remote, here, wanted)) == [("new", ROWS, 0, 0)]
    assert stored(here).total() == ROWS
    assert told(hand("push", here, third)) == [("new", ROWS, 0, 0)]
    assert told(hand("pull", third, world.lake)) == [("same", 0, 0, 0)]


def test_a_day_that_has_grown_here(world: World, remote: Lake, tmp_path: Path) -> None:
    hand("push", world.lake, remote)
    write(tmp_path / "logs" / "late.log", access_lines(DAYS[3], 5))
    world.collect()
    assert told(hand("push", world.lake, remote)) == [("newer", 5, 0, 0), *SAME[1:]]
    assert rows_of(remote) == rows_of(world.lake)
    check(remote, *PLACE)


def test_a_day_that_has_grown_there(world: World, remote: Lake, tmp_path: Path) -> None:
    hand("push", world.lake, remote)
    elsewhere = made_in(tmp_path / "elsewhere")
    hand("push", elsewhere.lake, remote)
    assert rows_of(remote).total() == 8 * ROWS
    assert told(hand("push", world.lake, remote)) == [("older", 0, 0, 0)] * 4, "what is here is there"
    assert told(hand("pull", remote, world.lake)) == [("newer", ROWS, 0, 0)] * 4
    assert rows_of(world.lake) == rows_of(remote)
    check(world.home, *PLACE)


def test_merged_files_are_compared_by_their_rows(world: World, remote: Lake, tmp_path: Path) -> None:
    hand("push", world.lake, remote)
    write(tmp_path / "logs" / "late.log", access_lines(DAYS[3], 5))
    world.collect()
    world.compact()
    assert told(hand("push", world.lake, remote)) == [("differs", 5, 0, ROWS), *SAME[1:]]
    assert rows_of(remote) == rows_of(world.lake)
    check(remote, *PLACE)
    version = snapshot(remote, PLACE[0]).version
    assert told(hand("push", world.lake, remote))[0] == ("differs", 0, 0, ROWS + 5)
    assert snapshot(remote, PLACE[0]).version == version


def test_rows_that_were_collected_again_replace_their_elders(world: World, remote: Lake) -> None:
    hand("push", world.lake, remote)
    earlier = rows_of(remote)
    collected_again(world)
    assert rows_of(world.lake) != earlier
    assert told(hand("pull", remote, world.lake))[2] == ("differs", 0, 0, ROWS), "older rows replace no newer ones"
    assert told(hand("push", world.lake, remote))[2] == ("differs", 0, ROWS, 0)
    assert rows_of(remote) == rows_of(world.lake)
    check(remote, *PLACE)
    assert told(hand("push", world.lake, remote)) == SAME
    with partition_lock(remote, *PLACE, "test"):
        restore(remote, *PLACE, history(remote, *PLACE)[1].version)
    assert rows_of(remote) == earlier, "a push can be undone"


def test_who_collects_there_reads_nothing_again(world: World, remote: Lake) -> None:
    """The ledger comes with the rows. Artifacts of which a day is missing are read as a whole."""
    hand("push", world.lake, remote)
    there = World(world.home, elsewhere=remote.elsewhere)
    (report,) = there.collect()
    assert (report.unchanged, report.wanted) == (2, 0)
    assert rows_of(remote) == rows_of(world.lake)


def test_who_has_a_part_of_an_artifact_gets_the_rest_once(world: World, tmp_path: Path) -> None:
    part = other(tmp_path / "part")
    hand("push", world.lake, part, replace(ALL, window=SECOND))
    check(part, *PLACE)
    World(world.home, elsewhere=part.elsewhere).collect()
    assert stored(part) == stored(world.home)
    check(part, *PLACE)


def test_what_was_deleted_there_stays_away(world: World, remote: Lake) -> None:
    hand("push", world.lake, remote)
    schema = stored_schema(remote, PLACE[0])
    assert schema is not None
    with partition_lock(remote, *PLACE, "test"):
        erase(remote, *PLACE, SECOND)
        erase(remote, *PLACE, TimeRange(), Predicate("remote_user = 'user1'", schema))
    left = rows_of(remote)
    done = hand("push", world.lake, remote)
    assert rows_of(remote) == left
    assert sum(one.withheld for one in done) == sum(one.shared.rows for one in done if one.shared.lacking) - sum(
        one.kept for one in done
    )
    hand("push", world.lake, remote, overwrite=True)
    days = dict(asked(remote, "select tp_date, count(*) from nginx_access_log group by 1"))
    assert days.keys() == set(DAYS), "the range is wanted again"
    assert not asked(remote, "select 1 from nginx_access_log where remote_user = 'user1'"), "the condition holds"


@pytest.mark.parametrize("kind", ["push", "pull"])
def test_what_is_told_of_rows_that_were_deleted(world: World, tmp_path: Path, kind: str) -> None:
    here, there = World(tmp_path / "here"), str(tmp_path / "remote")
    run(world, "push", "*", "--lake", there)
    taker = other(there) if kind == "push" else here.lake
    asker, place = (world, "there") if kind == "push" else (here, "here")
    run(asker, kind, "*", "--lake", there)
    schema = stored_schema(taker, PLACE[0])
    assert schema is not None
    with partition_lock(taker, *PLACE, "test"):
        erase(taker, *PLACE, SECOND)
        erase(taker, *PLACE, TimeRange(datetime(2024, 5, 3), None), Predicate("remote_user = 'user1'", schema))
    first = run(asker, kind, "*", "--lake", there, "--dry-run", "--output", "json")
    states = [day["state"] for day in json.loads(first.stdout)["days"]]
    done = run(asker, kind, "*", "--lake", there)
    assert states == ["differs", "differs", "deleted", "same"]
    lines = done.stderr.splitlines()
    assert lines[0] == f"note: {ROWS} rows were deleted {place} and stay away; see --overwrite"
    assert (
        f"rows were deleted {place} by a condition and stay away until `partition delete --where … --lift`" in lines[1]
    )
    assert " deleted " in done.stdout
    again = run(asker, kind, "*", "--lake", there, "--overwrite")
    assert [line.split(" rows")[1] for line in again.stderr.splitlines()] == [lines[1].split(" rows")[1]]
    assert " new " in again.stdout


def test_as_it_was(world: World, remote: Lake, tmp_path: Path) -> None:
    first = history(world.lake, *PLACE)[-1].version
    assert [one.shared.day for one in hand("push", world.lake, remote, replace(ALL, at=first))] == DAYS[1::-1]


def test_a_damaged_file_is_not_handed_on(world: World, remote: Lake) -> None:
    seen = snapshot(world.lake, PLACE[0])
    path = Path(seen.root.address(seen.files.column("path")[0].as_py()))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(LakeError, match="bytes, and the log says") as told_so:
        hand("push", world.lake, remote)
    assert told_so.value.code == "lake.damaged-file"
    assert not [p for p in remote.table_root(PLACE[0]).walk("tp_partition=web") if ".tmp" in p]


def test_rows_there_that_cannot_be_compared_are_told_with_their_file(
    world: World, remote: Lake, tmp_path: Path
) -> None:
    hand("push", world.lake, remote)
    write(tmp_path / "logs" / "late.log", access_lines(DAYS[3], 5))
    world.collect()
    world.compact()
    seen = snapshot(remote, PLACE[0])
    (name,) = [file["path"] for file in seen.files.to_pylist() if file["tp_date"] == DAYS[3]]
    path = Path(seen.root.address(name))
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(len(whole) // 2) + whole[len(whole) // 2 + 4 :])
    with pytest.raises(LakeError) as told_so:
        hand("push", world.lake, remote)
    assert (told_so.value.code, told_so.value.where) == ("lake.damaged-file", str(path))
    assert told_so.value.hint
    assert snapshot(remote, PLACE[0]).version == seen.version
    path.write_bytes(whole)
    assert told(hand("push", world.lake, remote)) == [("differs", 5, 0, ROWS), *SAME[1:]]
    check(remote, *PLACE)


def test_a_lake_that_finds_no_room_is_told_with_what_to_do(world: World, remote: Lake, tmp_path: Path) -> None:
    there = str(tmp_path / "remote")
    for form in ("json", "table"):
        with no_larger_files():
            done = run(world, "push", "*", "--lake", there, "--output", form)
        assert done.exit_code == 5
        assert "File too large" in done.output
        assert "make room there" in done.output
    assert run(world, "push", "*", "--lake", there).exit_code == 0
    assert rows_of(remote) == rows_of(world.lake)
    check(remote, *PLACE)


def test_a_copy_that_is_not_what_was_read(world: World, remote: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    from tailrace.lake import copying

    monkeypatch.setattr(copying, "_digest", lambda *_: "another")
    with pytest.raises(LakeError, match="differs from its original"):
        hand("push", world.lake, remote)
    assert not snapshot(remote, PLACE[0]).files.num_rows


def test_two_at_once(world: World, remote: Lake, tmp_path: Path) -> None:
    """They take turns, day by day, and wait for each other."""
    elsewhere = made_in(tmp_path / "elsewhere")
    failed: list[BaseException] = []

    def push(lake: Lake) -> None:
        try:
            hand("push", lake, remote)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=push, args=(each.lake,)) for each in (world, elsewhere)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert rows_of(remote) == rows_of(world.lake) + rows_of(elsewhere.lake)
    check(remote, *PLACE)


def test_who_holds_it_for_too_long_is_named(world: World, remote: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    from tailrace.lake import lock

    monkeypatch.setattr(handover, "PATIENCE", 0.05)
    monkeypatch.setattr(lock, "BRIEFLY", 0.05)
    with partition_lock(remote, *PLACE, "somebody else"), pytest.raises(LockedError, match="somebody else"):
        hand("push", world.lake, remote)


def run(world: World, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(world.home), *arguments], catch_exceptions=False)


def test_the_commands(world: World, remote: Lake, tmp_path: Path) -> None:
    there = str(tmp_path / "remote")
    planned = run(world, "push", "nginx_access_log", "--lake", there, "--dry-run", "--output", "json")
    days = json.loads(planned.stdout)["days"]
    assert [(day["state"], day["files"], day["rows"]) for day in days] == [("new", 1, ROWS)] * 4
    assert all(day["size"] > 0 for day in days), "what there is to be copied is told before"
    assert not Path(there).exists()
    done = run(world, "push", "web", "--lake", there, "--from", "2024-05-02", "--to", "2024-05-04")
    assert done.exit_code == 0, done.stderr
    assert "2024-05-02" in done.stdout
    assert stored(remote).total() == 2 * ROWS
    listed = json.loads(run(world, "partition", "list", "--lake", there, "--output", "json").stdout)
    assert [(row["name"], row["rows"], row["first"]) for row in listed] == [
        ("nginx_access_log.web", 2 * ROWS, "2024-05-02")
    ]
    (table,) = json.loads(run(world, "table", "list", "--lake", there, "--output", "json").stdout)
    assert (table["name"], table["rows"]) == ("nginx_access_log", 2 * ROWS)
    elsewhere = World(tmp_path / "elsewhere")
    pulled = run(elsewhere, "pull", "*", "--lake", there, "--output", "json")
    assert [(day["state"], day["added"]) for day in json.loads(pulled.stdout)["days"]] == [("new", ROWS)] * 2
    assert stored(elsewhere.home) == stored(remote)


def test_a_schema_and_an_index(world: World, remote: Lake, tmp_path: Path) -> None:
    config = (world.home / "config" / "test.tpc").read_text()
    world.write_config(config + 'schema "few" {\n start_date = "2024-05-03"\n end_date = "2024-05-03"\n}\n')
    there = str(tmp_path / "remote")
    done = run(world, "push", "*", "--lake", there, "--schema", "few", "--index", "def*", "--output", "json")
    assert [day["day"] for day in json.loads(done.stdout)["days"]] == [str(date(2024, 5, 3))]
    assert not json.loads(run(world, "push", "*", "--lake", there, "--index", "x", "--output", "json").stdout)["days"]


@pytest.mark.parametrize(
    ("address", "code"),
    [("nowhere", "usage.unknown-lake"), ("not/absolute", "config.bad-path"), ("HOME", "usage.same-lake")],
)
def test_lakes_that_cannot_be(world: World, address: str, code: str) -> None:
    from tailrace.core import TailraceError

    here = str(world.lake.data_root).removesuffix("/data/default")
    address = address.replace("HOME", here)
    if code == "usage.same-lake":
        world.write_config(f'workspace "default" {{ path = "{here}/own" }}')
        address = f"{here}/own"
    with pytest.raises(TailraceError) as refused:
        run(world, "push", "*", "--lake", address)
    assert refused.value.code == code
    assert refused.value.hint


def test_the_hint_lists_the_lake_that_was_asked(world: World, tmp_path: Path) -> None:
    from tailrace.core import TailraceError

    there = str(tmp_path / "other lake")
    run(world, "push", "*", "--lake", there)
    for command, lake in (("push", ""), ("pull", f" --lake '{there}'")):
        with pytest.raises(TailraceError) as refused:
            run(world, command, "qqqq", "--lake", there)
        assert refused.value.hint == f"`tailrace partition list{lake}` shows all"


def test_by_the_name_of_a_workspace(world: World, tmp_path: Path) -> None:
    config = (world.home / "config" / "test.tpc").read_text()
    world.write_config(config + f'workspace "archive" {{ path = "{tmp_path}/archive" }}\n')
    assert run(world, "push", "*", "--lake", "archive").exit_code == 0
    assert stored(other(tmp_path / "archive")) == stored(world.home)

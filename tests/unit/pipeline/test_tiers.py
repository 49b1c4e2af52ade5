"""Days that rest in tiers: moved by age, range and condition, and changed as if they had never moved."""

from __future__ import annotations

import errno
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from lakecheck import check, stored
from logfiles import access_lines, write
from tieredlake import DAYS, FIRST, NOW, PARTITION, PLACE, ROWS, Tiered

from tailrace.cli.main import cli
from tailrace.cli.tiers import rules_for, tiers_of
from tailrace.config import Config
from tailrace.core import TailraceError, TimeRange
from tailrace.lake import moving
from tailrace.lake.paths import Lake
from tailrace.lake.place import Place
from tailrace.lake.predicate import Predicate
from tailrace.lake.resting import moves
from tailrace.lake.rewrite import ActiveFile
from tailrace.lake.snapshot import snapshot
from tailrace.lake.undo import erase, history, restore
from tailrace.lake.vacuum import Vacuum


def test_each_day_moves_to_where_it_belongs_and_stays_there(tiered: Tiered) -> None:
    before = stored(tiered.home)
    answer = tiered.query("select tp_date, count(*), sum(body_bytes_sent) from nginx_access_log group by 1 order by 1")
    upkeep = tiered.maintain()
    assert [(chore.to, chore.days) for chore in upkeep.done] == [("default.old", 2), ("default.recent", 2)]
    assert tiered.resting() == {"old": DAYS[:2], "workspace": DAYS[2:3], "recent": DAYS[3:]}
    assert stored(tiered.home) == before
    assert (
        tiered.query("select tp_date, count(*), sum(body_bytes_sent) from nginx_access_log group by 1 order by 1")
        == answer
    )
    check(tiered.home, *PLACE)
    assert tiered.maintain().due == []
    base = tiered.home.parent / "tiers" / "old store" / "tp_table=nginx_access_log" / "tp_partition=web"
    assert {path.parent.relative_to(base).as_posix() for path in base.rglob("*.parquet")} == {
        "tp_year=2024/tp_month=05"
    }
    commits = history(tiered.lake, *PLACE)
    assert [(c.kind, c.added, c.removed) for c in commits[:4]] == [("move", 0, 0)] * 4


@pytest.mark.parametrize(("fits", "moved"), [(2, 1), (0, 0)])
def test_a_tier_that_fills_up_is_named_beside_what_was_moved(
    tiered: Tiered, monkeypatch: pytest.MonkeyPatch, fits: int, moved: int
) -> None:
    """Two files of the first day find room in it, or none does."""
    copy, copied = moving.copy_whole, 0

    def filling(source: Place, name: str, target: Place, path: str, size: int) -> None:
        nonlocal copied
        copied += 1
        if copied > fits:
            raise OSError(errno.ENOSPC, "No space left on device")
        copy(source, name, target, path, size)

    monkeypatch.setattr(moving, "copy_whole", filling)
    before = stored(tiered.home)
    answer = CliRunner().invoke(cli, ["--home", str(tiered.home), "maintain", "--no-compact"])
    assert answer.exit_code == 5
    assert "nothing is due" not in answer.output
    tier = tiered.home.parent / "tiers" / "old store"
    assert f"warning[lake.io]: nginx_access_log.web: {tier}: No space left on device" in answer.stderr
    assert tiered.resting() == ({"old": DAYS[:1], "workspace": DAYS[1:]} if moved else {"workspace": DAYS})
    assert answer.stdout.count("default.old") == moved
    assert stored(tiered.home) == before
    check(tiered.home, *PLACE)


def test_a_disk_that_is_not_mounted_is_told_though_nothing_is_to_be_moved(tiered: Tiered) -> None:
    tiered.maintain()
    tier = tiered.home.parent / "tiers" / "old store"
    disk = tier.rename(tier.with_name("disk"))
    tier.mkdir()
    command = ["--home", str(tiered.home), "maintain", "--no-compact"]
    for arguments in (command, [*command, "--dry-run"]):
        answer = CliRunner().invoke(cli, arguments)
        assert answer.exit_code == 5
        assert "nothing is due" not in answer.output
        assert answer.stderr.count(f"warning[lake.tier-not-mounted]: tier default.old: {tier}: ") == 1
    tier.rmdir()
    disk.rename(tier)
    assert tiered.maintain().troubles == []


def test_what_is_restored_stays_where_it_rests(tiered: Tiered) -> None:
    """A move since then is not undone: days need not be copied again."""
    before = stored(tiered.home)
    version = snapshot(tiered.lake, PLACE[0]).version
    erase(tiered.lake, *PLACE, TimeRange(datetime(2024, 5, 1), datetime(2024, 5, 2)))
    tiered.maintain()
    rests = tiered.resting()
    restore(tiered.lake, *PLACE, version)
    assert stored(tiered.home) == before
    assert tiered.resting() == rests | {"workspace": [DAYS[0], *rests["workspace"]]}
    check(tiered.home, *PLACE)
    (moved,) = tiered.maintain().done
    assert (moved.action, moved.days, moved.to) == ("move", 1, "default.old")
    assert tiered.resting() == {"old": DAYS[:2], "workspace": DAYS[2:3], "recent": DAYS[3:]}


def test_days_grow_old_and_come_back(tiered: Tiered) -> None:
    before = stored(tiered.home)
    tiered.maintain()
    tiered.maintain(NOW + timedelta(days=1))
    assert tiered.resting() == {"old": DAYS[:2], "workspace": DAYS[2:4], "recent": DAYS[4:]}
    tiered.write_store(
        text='store "default" {{\n tier "old" {{\n path = "{tiers}/old store"\n to = "2024-05-01T00:00:00Z"\n}}\n}}\n'
    )
    tiered.maintain()
    assert tiered.resting() == {"workspace": DAYS}
    assert stored(tiered.home) == before


def test_moved_days_are_overwritten_deleted_and_restored_like_others(tiered: Tiered) -> None:
    tiered.maintain()
    version = history(tiered.lake, *PLACE)[0].version
    before = stored(tiered.home)
    window = TimeRange(datetime(2024, 5, 1, 12), datetime(2024, 5, 4, 12))
    (report,) = tiered.collect(window=window, overwrite=True)
    assert report.clean
    assert stored(tiered.home) == before, "the same rows, some of them in the workspace again"
    erase(tiered.lake, *PLACE, window)
    check(tiered.home, *PLACE)
    assert stored(tiered.home).total() == 2 * ROWS * 2
    # A command without a configuration finds files on disk as well.
    bare = Lake(tiered.home)
    schema = snapshot(bare, PLACE[0]).schema
    erase(bare, *PLACE, TimeRange(), Predicate("remote_user = 'user1'", schema))
    assert tiered.query("select count(*) from nginx_access_log where remote_user = 'user1'") == [(0,)]
    check(tiered.home, *PLACE)
    restore(tiered.lake, *PLACE, version)
    assert stored(tiered.home) == before
    tiered.maintain()
    assert stored(tiered.home) == before


def test_late_rows_of_a_moved_day(tiered: Tiered) -> None:
    tiered.maintain()
    late = tiered.logs / "late.log"
    write(late, access_lines(FIRST, 5))
    tiered.collect()
    late.unlink()
    assert FIRST in tiered.resting()["workspace"]
    assert tiered.query(f"select count(*) from nginx_access_log where tp_date = '{FIRST}'") == [(2 * ROWS + 5,)]
    tiered.maintain()
    assert tiered.resting()["old"] == DAYS[:2]
    check(tiered.home, *PLACE)


def test_moved_days_are_merged_where_they_rest_and_expire(tiered: Tiered) -> None:
    tiered.maintain()
    before = stored(tiered.home)
    assert all(report.clean for report in tiered.compact())
    assert tiered.resting() == {"old": DAYS[:2], "workspace": DAYS[2:3], "recent": DAYS[3:]}
    assert snapshot(tiered.lake, PLACE[0]).files.num_rows == len(DAYS), "one file is left of each day"
    assert stored(tiered.home) == before
    assert not tiered.compact(), "nothing is left to do"
    tiered.write_store(more='  retention = "3d"')
    tiered.maintain()
    assert tiered.resting() == {"old": DAYS[1:2], "workspace": DAYS[2:3], "recent": DAYS[3:]}
    check(tiered.home, *PLACE)


def test_what_is_left_of_moves_is_vacuumed_in_tiers_too(tiered: Tiered) -> None:
    tiered.maintain()
    tiered.maintain(NOW + timedelta(days=1))
    later = datetime.now(UTC).replace(tzinfo=None) + timedelta(days=31)
    before = stored(tiered.home)
    waste = Vacuum(tiered.lake, PLACE[0], later).clear(PLACE[1])
    # Eight files left the workspace, and two of them came back from `recent`.
    assert len(waste.files) == 10
    assert len([path for path in waste.files if "recent" in path]) == 2
    assert stored(tiered.home) == before
    on_disk = [*(tiered.home.parent / "tiers").rglob("*.parquet")]
    assert len(on_disk) == 2 * len(tiered.resting()["old"] + tiered.resting()["recent"])


def test_by_condition_and_by_reference(tmp_path: Path) -> None:
    made = Tiered(tmp_path)
    where = "tp_year = 2024 and tp_month <= 3 and tp_index like 'a%'"
    made.write_config(
        f'tier "q1" {{\n path = "{tmp_path}/q1"\n where = "{where}"\n}}\n'
        f'tier "rest" {{\n path = "{tmp_path}/rest"\n}}\n'
        + PARTITION.format(logs=tmp_path, more="tiers = [tier.q1, tier.rest]")
    )
    rules = rules_for(made.config(), made.lake, *PLACE, NOW)
    assert [(rule.tier.store, rule.tier.name) for rule in rules] == [("tier", "q1"), ("tier", "rest")]
    files = [
        ActiveFile(f"{index}{day}", 1, "web", index, day, 1)
        for index in ("abc", "xyz")
        for day in (date(2024, 3, 31), date(2024, 4, 1))
    ]
    found = moves("nginx_access_log", files, rules)
    resting = {(f.index, f.day): move.tier.name for move in found if move.tier for f in move.files}
    assert resting.pop(("abc", date(2024, 3, 31))) == "q1"
    assert set(resting.values()) == {"rest"}
    assert len(resting) == 3


def test_a_condition_on_what_the_log_does_not_know(tmp_path: Path) -> None:
    made = Tiered(tmp_path)
    made.write_config(
        f'tier "x" {{\n path = "{tmp_path}/x"\n where = "status = 200"\n}}\n'
        + PARTITION.format(logs=tmp_path, more="tiers = [tier.x]")
    )
    with pytest.raises(TailraceError) as refused:
        rules_for(made.config(), made.lake, *PLACE, NOW)
    assert refused.value.code == "config.bad-expression"
    assert str(refused.value.where).endswith("test.tpc:3:10")
    for command, code in ((["doctor"], 1), (["config", "validate"], 3)):
        told = CliRunner().invoke(cli, ["--home", str(tmp_path), *command])
        assert told.exit_code == code
        assert told.output.count('column "status" not found') == 1


def test_tiers_are_known_by_config(tmp_path: Path) -> None:
    made = Tiered(tmp_path)
    (tmp_path / "logs").write_text("/nowhere")
    made.write_store()
    config: Config = made.config()
    assert [warning.message for warning in config.warnings] == []
    assert [(t.store, t.name) for t in tiers_of(config)] == [("default", "recent"), ("default", "old")]

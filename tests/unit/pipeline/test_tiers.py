"""Days that rest in tiers: moved by age, range and condition, seen once, and changed as if they had never moved."""

from __future__ import annotations

import errno
import json
import shutil
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from lakecheck import check, stored
from logfiles import access_lines, write
from world import World

from tailrace.cli.main import cli
from tailrace.cli.tiers import rules_for, tiers_of
from tailrace.cli.upkeep import Upkeep
from tailrace.config import Config
from tailrace.core import TailraceError, TimeRange
from tailrace.core.errors import QueryError
from tailrace.lake import moving
from tailrace.lake.paths import Lake
from tailrace.lake.place import Place
from tailrace.lake.predicate import Predicate
from tailrace.lake.resting import moves, tier_of
from tailrace.lake.rewrite import ActiveFile
from tailrace.lake.snapshot import snapshot
from tailrace.lake.undo import erase, history, restore
from tailrace.lake.vacuum import Vacuum
from tailrace.query.engine import Engine
from tailrace.query.filters import Schema
from tailrace.query.limits import Limits

PLACE = ("nginx_access_log", "web")
FIRST = date(2024, 5, 1)
DAYS = [FIRST + timedelta(days=n) for n in range(5)]
ROWS = 24
NOW = datetime(2024, 5, 5, 12)
STORE = """
store "default" {{
  tier "recent" {{
    path    = "{tiers}/recent"
    max_age = "1d"
  }}
  tier "old" {{
    path         = "{tiers}/old store"
    to           = "2024-05-02"
    partition_by = ["tp_year", "tp_month"]
    {old}
  }}
}}
"""
PARTITION = 'partition "nginx_access_log" "web" {{\n source "file" {{ paths = ["{logs}"] }}\n{more}\n}}\n'


class Tiered(World):
    """A world whose lake knows its tiers."""

    @property
    def lake(self) -> Lake:
        return Lake(self.home, tiers=tiers_of(self.config()))

    def maintain(self, now: datetime = NOW) -> Upkeep:
        upkeep = Upkeep(self.lake, self.config(), now)
        upkeep.look([PLACE])
        upkeep.carry_out("expire", "purge", "move")
        assert upkeep.troubles == []
        return upkeep

    def resting(self) -> dict[str, list[date]]:
        """Days by tier."""
        seen = snapshot(self.lake, PLACE[0]).files.select(["path", "tp_date"]).to_pylist()
        found: dict[str, set[date]] = {}
        for file in seen:
            tier = tier_of(file["path"], self.lake.tiers)
            found.setdefault(tier.name if tier else "workspace", set()).add(file["tp_date"])
        return {name: sorted(days) for name, days in found.items()}

    @property
    def logs(self) -> Path:
        return Path((self.home / "logs").read_text())

    def write_store(self, old: str = "", more: str = "", text: str = STORE) -> None:
        tiers = self.home.parent / "tiers"
        self.write_config(text.format(tiers=tiers, old=old) + PARTITION.format(logs=self.logs, more=more))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with five days in two files each."""
    place = tmp_path_factory.mktemp("base")
    made = Tiered(place / "home")
    made.home.mkdir()
    (made.home / "logs").write_text(str(place / "logs"))
    made.write_store()
    for name, part in (("a", (ROWS, 0)), ("b", (2 * ROWS, ROWS))):
        for day in DAYS:
            write(place / "logs" / f"{day}-{name}.log", access_lines(day, *part))
        assert all(report.clean for report in made.collect())
    return made.home


@pytest.fixture
def world(base: Path, tmp_path: Path) -> Tiered:
    shutil.copytree(base, tmp_path / "home")
    made = Tiered(tmp_path / "home")
    made.write_store()
    return made


def test_each_day_moves_to_where_it_belongs_and_stays_there(world: Tiered) -> None:
    before = stored(world.home)
    answer = world.query("select tp_date, count(*), sum(body_bytes_sent) from nginx_access_log group by 1 order by 1")
    upkeep = world.maintain()
    assert [(chore.to, chore.days) for chore in upkeep.done] == [("default.old", 2), ("default.recent", 2)]
    assert world.resting() == {"old": DAYS[:2], "workspace": DAYS[2:3], "recent": DAYS[3:]}
    assert stored(world.home) == before
    assert (
        world.query("select tp_date, count(*), sum(body_bytes_sent) from nginx_access_log group by 1 order by 1")
        == answer
    )
    check(world.home, *PLACE)
    assert world.maintain().due == []
    base = world.home.parent / "tiers" / "old store" / "tp_table=nginx_access_log" / "tp_partition=web"
    assert {path.parent.relative_to(base).as_posix() for path in base.rglob("*.parquet")} == {
        "tp_year=2024/tp_month=05"
    }
    commits = history(world.lake, *PLACE)
    assert [(c.kind, c.added, c.removed) for c in commits[:4]] == [("move", 0, 0)] * 4


@pytest.mark.parametrize(("fits", "moved"), [(2, 1), (0, 0)])
def test_a_tier_that_fills_up_is_named_beside_what_was_moved(
    world: Tiered, monkeypatch: pytest.MonkeyPatch, fits: int, moved: int
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
    before = stored(world.home)
    answer = CliRunner().invoke(cli, ["--home", str(world.home), "maintain", "--no-compact"])
    assert answer.exit_code == 5
    assert "nothing is due" not in answer.output
    tier = world.home.parent / "tiers" / "old store"
    assert f"warning[lake.io]: nginx_access_log.web: {tier}: No space left on device" in answer.stderr
    assert world.resting() == ({"old": DAYS[:1], "workspace": DAYS[1:]} if moved else {"workspace": DAYS})
    assert answer.stdout.count("default.old") == moved
    assert stored(world.home) == before
    check(world.home, *PLACE)


def test_other_engines_and_sandboxes_follow_the_links(world: Tiered) -> None:
    import polars as pl
    from deltalake import DeltaTable

    world.maintain()
    root = world.lake.table_root(PLACE[0]).uri
    table, rows = DeltaTable(root), 2 * ROWS * len(DAYS)
    assert table.to_pyarrow_table(columns=["tp_id"]).num_rows == rows
    assert pl.scan_delta(root, use_pyarrow=True).select("tp_id").collect().height == rows
    listed = pl.scan_parquet(
        table.file_uris(), hive_partitioning=False, missing_columns="insert", extra_columns="ignore"
    )
    assert listed.select("tp_id").collect().height == rows
    count = f"select count(*) from read_parquet({table.file_uris()})"
    assert duckdb.sql(count).fetchall() == [(rows,)]
    engine = Engine(Lake(world.home), limits=Limits(sandboxed=True))
    (result,) = engine.run("select count(*) from nginx_access_log")
    assert [*result.rows] == [(rows,)]


@pytest.mark.parametrize("name", ["old store", "recent"])
def test_queries_write_into_no_tier(world: Tiered, name: str) -> None:
    """Known by the links, where no configuration is at hand."""
    world.maintain()
    out = world.home.parent / "tiers" / name / "x.csv"
    engine = Engine(Lake(world.home), limits=Limits(writable=(str(world.home.parent),)))
    with pytest.raises(QueryError, match="belongs to the lake"):
        list(engine.run(f"copy nginx_access_log to '{out}'"))
    with pytest.raises(QueryError, match="belongs to the lake"):
        list(engine.run(f"copy nginx_access_log to '{out.parent}/tp_table=nginx_access_log/x.csv'"))
    assert not out.exists()


def test_days_grow_old_and_come_back(world: Tiered) -> None:
    before = stored(world.home)
    world.maintain()
    world.maintain(NOW + timedelta(days=1))
    assert world.resting() == {"old": DAYS[:2], "workspace": DAYS[2:4], "recent": DAYS[4:]}
    world.write_store(
        text='store "default" {{\n tier "old" {{\n path = "{tiers}/old store"\n to = "2024-05-01T00:00:00Z"\n}}\n}}\n'
    )
    world.maintain()
    assert world.resting() == {"workspace": DAYS}
    assert stored(world.home) == before


def test_statistics_survive_so_that_queries_skip_files(world: Tiered) -> None:
    columns = [
        "min.tp_timestamp",
        "max.tp_timestamp",
        "min.remote_addr",
        "max.remote_addr",
        "null_count.status",
        "rows",
    ]

    def told() -> list[dict[str, Any]]:
        files = snapshot(world.lake, PLACE[0]).files
        return sorted(files.select([c for c in columns if c in files.column_names]).to_pylist(), key=str)

    before = told()
    world.maintain()
    assert told() == before


def test_moved_days_are_overwritten_deleted_and_restored_like_others(world: Tiered) -> None:
    world.maintain()
    version = history(world.lake, *PLACE)[0].version
    before = stored(world.home)
    window = TimeRange(datetime(2024, 5, 1, 12), datetime(2024, 5, 4, 12))
    (report,) = world.collect(window=window, overwrite=True)
    assert report.clean
    assert stored(world.home) == before, "the same rows, some of them in the workspace again"
    erase(world.lake, *PLACE, window)
    check(world.home, *PLACE)
    assert stored(world.home).total() == 2 * ROWS * 2
    # A command without a configuration finds files on disk as well.
    bare = Lake(world.home)
    schema = snapshot(bare, PLACE[0]).schema
    erase(bare, *PLACE, TimeRange(), Predicate("remote_user = 'user1'", schema))
    assert world.query("select count(*) from nginx_access_log where remote_user = 'user1'") == [(0,)]
    check(world.home, *PLACE)
    restore(world.lake, *PLACE, version)
    assert stored(world.home) == before
    world.maintain()
    assert stored(world.home) == before


def test_late_rows_of_a_moved_day(world: Tiered) -> None:
    world.maintain()
    late = world.logs / "late.log"
    write(late, access_lines(FIRST, 5))
    world.collect()
    late.unlink()
    assert FIRST in world.resting()["workspace"]
    assert world.query(f"select count(*) from nginx_access_log where tp_date = '{FIRST}'") == [(2 * ROWS + 5,)]
    world.maintain()
    assert world.resting()["old"] == DAYS[:2]
    check(world.home, *PLACE)


def test_moved_days_are_merged_where_they_rest_and_expire(world: Tiered) -> None:
    world.maintain()
    before = stored(world.home)
    assert all(report.clean for report in world.compact())
    assert world.resting() == {"old": DAYS[:2], "workspace": DAYS[2:3], "recent": DAYS[3:]}
    assert snapshot(world.lake, PLACE[0]).files.num_rows == len(DAYS), "one file is left of each day"
    assert stored(world.home) == before
    assert not world.compact(), "nothing is left to do"
    world.write_store(more='  retention = "3d"')
    world.maintain()
    assert world.resting() == {"old": DAYS[1:2], "workspace": DAYS[2:3], "recent": DAYS[3:]}
    check(world.home, *PLACE)


def test_what_is_left_of_moves_is_vacuumed_in_tiers_too(world: Tiered) -> None:
    world.maintain()
    world.maintain(NOW + timedelta(days=1))
    later = datetime.now(UTC).replace(tzinfo=None) + timedelta(days=31)
    before = stored(world.home)
    waste = Vacuum(world.lake, PLACE[0], later).clear(PLACE[1])
    # Eight files left the workspace, and two of them came back from `recent`.
    assert len(waste.files) == 10
    assert len([path for path in waste.files if "recent" in path]) == 2
    assert stored(world.home) == before
    on_disk = [*(world.home.parent / "tiers").rglob("*.parquet")]
    assert len(on_disk) == 2 * len(world.resting()["old"] + world.resting()["recent"])


def test_schemas_see_the_stores_that_they_name(world: Tiered) -> None:
    world.write_store(old="attached = false")
    world.maintain()
    schemas = [
        Schema("archive", stores=("old",)),
        Schema("every"),
        Schema("here", stores=("workspace",)),
        Schema("rec", stores=("rec*",)),
    ]
    engine = Engine(Lake(world.home), dict, lambda: schemas, tiers=lambda: tiers_of(world.config()))

    def days(schema: str) -> list[date]:
        (result,) = engine.run(f"select distinct tp_date from {schema}.nginx_access_log order by 1")
        return [day for (day,) in result.rows]

    assert days("archive") == DAYS[:2]
    assert days("every") == DAYS
    assert days("here") == DAYS[2:3]
    assert days("rec") == DAYS[3:]
    assert days("tailrace") == DAYS[2:], "what is not attached is not part of the default schema"


def test_what_rests_where_is_told(world: Tiered) -> None:
    world.maintain()
    done = CliRunner().invoke(cli, ["--home", str(world.home), "store", "show", "default", "--output", "json"])
    assert done.exit_code == 0, done.output
    told = {tier["name"]: (tier["rows"], tier["files"], tier["first"]) for tier in json.loads(done.stdout)["tiers"]}
    assert told == {
        "recent": (4 * ROWS, 4, str(DAYS[3])),
        "old": (4 * ROWS, 4, str(DAYS[0])),
        "workspace": (2 * ROWS, 2, str(DAYS[2])),
    }


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


def test_tiers_are_known_by_config(tmp_path: Path) -> None:
    made = Tiered(tmp_path)
    (tmp_path / "logs").write_text("/nowhere")
    made.write_store()
    config: Config = made.config()
    assert [warning.message for warning in config.warnings] == []
    assert [(t.store, t.name) for t in tiers_of(config)] == [("default", "recent"), ("default", "old")]

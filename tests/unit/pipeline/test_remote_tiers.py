"""Tiers in an object store: days move there and back, and are queried, changed and cleared up as on disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from lakecheck import check, stored
from logfiles import access_lines, write
from remotelake import ACCESS_KEY, BUCKET, SECRET_KEY, MotoProcess, bucket_place, moto_process
from world import World

from tailrace.cli.main import cli
from tailrace.cli.tiers import tiers_of
from tailrace.cli.upkeep import Upkeep
from tailrace.core import TimeRange
from tailrace.core.errors import LakeError, QueryError
from tailrace.export.run import Export
from tailrace.export.scope import Scope
from tailrace.lake.materialized import refresh
from tailrace.lake.paths import Lake, partition_path, table_path
from tailrace.lake.place import LocalPlace, Place
from tailrace.lake.resting import tier_of
from tailrace.lake.snapshot import snapshot
from tailrace.lake.undo import erase, history, restore
from tailrace.lake.vacuum import Vacuum
from tailrace.query.engine import Engine
from tailrace.query.filters import Schema
from tailrace.query.tables import live_tables

PLACE = ("nginx_access_log", "web")
DAYS = [date(2024, 5, day) for day in (1, 2, 3)]
ROWS = 24
COUNTS = "select tp_date, count(*), sum(body_bytes_sent) from nginx_access_log group by 1 order by 1"
CONFIG = """
connection "aws" "test" {{
  access_key   = "{key}"
  secret_key   = "{secret}"
  region       = "us-east-1"
  endpoint_url = "{url}"
}}
store "default" {{
  tier "old" {{
    path       = "s3://{bucket}/{prefix}"
    connection = connection.aws.test
    to         = "2024-05-02"
  }}
}}
partition "nginx_access_log" "web" {{
  source "file" {{ paths = ["{logs}"] }}
}}
"""


class Tiered(World):
    """A world whose lake knows its tiers."""

    @property
    def lake(self) -> Lake:
        return Lake(self.home, elsewhere=self.elsewhere, tiers=tiers_of(self.config()))

    def maintain(self) -> list[str]:
        upkeep = Upkeep(self.lake, self.config(), datetime(2024, 5, 5))
        upkeep.look([PLACE])
        upkeep.carry_out("move")
        assert upkeep.troubles == []
        return [f"{chore.days} to {chore.to}" for chore in upkeep.done]

    def moved(self) -> list[date]:
        files = snapshot(self.lake, PLACE[0]).files.select(["path", "tp_date"]).to_pylist()
        return sorted({file["tp_date"] for file in files if tier_of(file["path"], self.lake.tiers)})


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MotoProcess]:
    with moto_process(tmp_path_factory.mktemp("moto") / "log", BUCKET) as server:
        yield server


def made(tmp_path: Path, url: str, elsewhere: Place | None = None) -> Tiered:
    """Three days."""
    world = Tiered(tmp_path / "home", elsewhere=elsewhere)
    prefix = f"{tmp_path.name}/tier"
    facts = {"key": ACCESS_KEY, "secret": SECRET_KEY, "url": url, "bucket": BUCKET, "prefix": prefix}
    world.write_config(CONFIG.format(**facts, logs=tmp_path / "logs"))
    for day in DAYS:
        write(tmp_path / "logs" / f"{day}.log", access_lines(day, ROWS))
    assert all(report.clean for report in world.collect())
    return world


@pytest.fixture
def world(tmp_path: Path, moto: MotoProcess, monkeypatch: pytest.MonkeyPatch) -> Tiered:
    """With its lake on disk."""
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    return made(tmp_path, moto.url)


def test_days_move_and_queries_see_all_of_them(
    world: Tiered, moto: MotoProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, answer = stored(world.lake), world.query(COUNTS)
    assert world.maintain() == ["2 to default.old"]
    assert world.moved() == DAYS[:2]
    assert world.maintain() == []
    assert stored(world.lake) == before
    check(world.lake, *PLACE)
    seen = moto.forget()
    assert world.query(f"select count(*) from nginx_access_log where tp_date = '{DAYS[2]}'") == [(ROWS,)]
    assert moto.files_read(seen) == [], "what is here needs no request"
    # The engine of a command opens its lake without a configuration, and asks for it when a file rests elsewhere.
    engine = Engine(Lake(world.home), tiers=lambda: tiers_of(world.config()))
    for _ in range(2):
        (result,) = engine.run(COUNTS)
        assert [*result.rows] == answer
    assert len(moto.files_read(seen)) == 2, "nothing is fetched twice"
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "empty"))
    with pytest.raises(QueryError) as refused:
        [*Engine(Lake(world.home)).run(COUNTS)]
    assert refused.value.code == "lake.unknown-tier"


def test_changes_of_moved_days(world: Tiered) -> None:
    before = stored(world.lake)
    world.maintain()
    version = history(world.lake, *PLACE)[0].version
    erase(world.lake, *PLACE, TimeRange(datetime(2024, 5, 1, 12), datetime(2024, 5, 2, 12)))
    assert stored(world.lake).total() == 2 * ROWS
    assert world.moved() == DAYS[:2], "what is left is written anew where it was"
    check(world.lake, *PLACE)
    restore(world.lake, *PLACE, version)
    assert stored(world.lake) == before
    later = datetime.now(UTC).replace(tzinfo=None) + timedelta(days=31)
    waste = Vacuum(world.lake, PLACE[0], later).clear(PLACE[1])
    # Two that were moved away, and two that a deletion made and a restoration took back.
    assert sorted("://" in path for path in waste.files) == [False, False, True, True]
    assert stored(world.lake) == before


def test_moved_days_are_merged_where_they_rest(world: Tiered, tmp_path: Path) -> None:
    world.maintain()
    logs = next(Path(str(path)) for source in world.config().partitions[0].sources for path in source.args["paths"])  # type: ignore[attr-defined]
    write(logs / "late.log", access_lines(DAYS[0], 5))
    assert all(report.clean for report in world.collect())
    world.maintain()
    before = stored(world.lake)
    (report,) = world.compact()
    assert report.clean, (report.error, report.troubles)
    assert world.moved() == DAYS[:2]
    assert snapshot(world.lake, PLACE[0]).files.num_rows == len(DAYS), "one file is left of each day"
    assert stored(world.lake) == before
    check(world.lake, *PLACE)


def test_files_that_no_log_names_are_those_of_a_lake_that_is_alone(world: Tiered, tmp_path: Path) -> None:
    world.maintain()
    place = world.lake.tiers[0].place / f"{table_path(PLACE[0])}/{partition_path(PLACE[1])}"
    stray = f"tp_index=default/tp_date=2024-05-01/{'1' * 20}{'a' * 10}-stray.parquet"
    other = ".tailrace-lake-0123"
    for name in (stray, other):
        place.put(name, b"", "test")
    vacuum = Vacuum(world.lake, PLACE[0], datetime.now(UTC).replace(tzinfo=None))
    assert vacuum.clear(PLACE[1]).files == (), "it may be the other lake's"
    place.delete([other])
    assert vacuum.clear(PLACE[1]).files == (place.address(stray),)


def test_other_ways_to_the_rows(world: Tiered, tmp_path: Path) -> None:
    answer = world.query(COUNTS)
    world.maintain()
    schema = Schema("kept", materialized=True)
    refresh(world.lake, "kept", live_tables(world.lake, schema), "test")
    engine = Engine(world.lake, schemas=lambda: [schema])
    (result,) = engine.run(COUNTS.replace("from ", "from kept."))
    assert [*result.rows] == answer
    Export(world.lake, tmp_path / "tree", "hive").run({PLACE[0]: Scope()}, lambda *_: None)
    assert len([*(tmp_path / "tree").rglob("tp_date=*/*.parquet")]) == 3
    told = CliRunner().invoke(cli, ["--home", str(world.home), "store", "show", "default", "--output", "json"])
    assert told.exit_code == 0, told.output
    assert {tier["name"]: tier["rows"] for tier in json.loads(told.stdout)["tiers"]} == {
        "old": 2 * ROWS, "workspace": ROWS,
    }  # fmt: skip
    assert SECRET_KEY not in told.output
    told = CliRunner().invoke(cli, ["--home", str(world.home), "connect"])
    assert isinstance(told.exception, LakeError)
    assert told.exception.code == "lake.not-local"


def test_of_a_lake_in_a_bucket(tmp_path: Path, moto: MotoProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    world = made(tmp_path, moto.url, bucket_place(moto.url, f"{tmp_path.name}/lake"))
    before, answer = stored(world.lake), world.query(COUNTS)
    assert world.maintain() == ["2 to default.old"]
    assert world.moved() == DAYS[:2]
    assert stored(world.lake) == before
    assert world.query(COUNTS) == answer
    check(world.lake, *PLACE)


def test_another_lake_whose_days_rest_there(tmp_path: Path, moto: MotoProcess) -> None:
    """It is given by its directory; the tier is in the configuration of the one who pulls."""
    world = made(tmp_path, moto.url, LocalPlace(str(tmp_path / "shared")))
    assert world.maintain() == ["2 to default.old"]
    own = World(tmp_path / "own")
    own.write_config((world.home / "config" / "test.tpc").read_text())
    pull = ["--home", str(own.home), "pull", "*", "--lake", str(tmp_path / "shared")]
    done = CliRunner().invoke(cli, pull)
    assert done.exit_code == 0, done.output
    assert stored(own.home) == stored(world.lake)

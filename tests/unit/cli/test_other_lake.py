"""What `--lake` leads to: the lake of another home, and a place where nothing is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lakecheck import check, stored
from twolakes import DAYS, PLACE, ROWS, made_in
from world import World

from tailrace.cli.main import cli
from tailrace.core import UsageError
from tailrace.lake.paths import Lake

EVERYTHING = len(DAYS) * ROWS


@pytest.fixture
def world(tmp_path: Path) -> World:
    return made_in(tmp_path)


def run(home: Path, *arguments: str) -> Result:
    done = CliRunner().invoke(cli, ["--home", str(home), *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def test_another_home_is_the_lake_that_it_has(world: World, tmp_path: Path) -> None:
    """A lake with a `path` has its tables a level higher: rows that were written there its own queries did not see."""
    other = tmp_path / "colleague"
    (other / "config").mkdir(parents=True)
    run(world.home, "push", "*", "--lake", str(other))
    check(Lake(other), *PLACE)
    assert stored(other) == stored(world.home)
    for address in (other, other / "data" / "default"):
        (row,) = json.loads(run(world.home, "partition", "list", "--lake", str(address), "--output", "json").stdout)
        assert row["rows"] == EVERYTHING
        third = tmp_path / f"of {address.name}"
        run(third, "pull", "*", "--lake", str(address))
        assert stored(third) == stored(world.home)


@pytest.mark.parametrize("below", ["", "data/default"])
def test_the_own_home_is_no_other_lake(world: World, below: str) -> None:
    with pytest.raises(UsageError) as refused:
        run(world.home, "push", "*", "--lake", str(world.home / below))
    assert refused.value.code == "usage.same-lake"


@pytest.mark.parametrize("noun", ["partition", "table"])
def test_an_empty_list_tells_where_it_looked(world: World, tmp_path: Path, noun: str) -> None:
    listed = run(world.home, noun, "list", "--lake", str(tmp_path / "mistyped"))
    assert listed.stderr == f"the lake in {tmp_path}/mistyped/data holds no table\n"
    assert not run(world.home, "--quiet", noun, "list", "--lake", str(tmp_path / "mistyped")).stderr


def test_nothing_can_be_pulled_from_where_nothing_is(world: World, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        run(world.home, "pull", "*", "--lake", str(tmp_path / "mistyped"))
    assert (refused.value.code, refused.value.where) == ("usage.empty-lake", f"{tmp_path}/mistyped/data")

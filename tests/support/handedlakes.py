"""A lake on disk and another in a bucket, of twelve days, between which `push` and `pull` hand over."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from commandline import Home
from lakecheck import check, stored
from logfiles import access_lines, today, write
from remotelake import BUCKET, MotoProcess, remote_lake
from twolakes import PLACE, rows_of
from world import World

from tailrace.lake.paths import Lake

DAYS = [today() - timedelta(days=n) for n in range(1, 13)]
ROWS = 3_000
CONFIG = 'partition "nginx_access_log" "web" {\n source "file" { paths = ["LOGS"] }\n}\n'


def collected(world: World, logs: Path, days: list[date], name: str = "") -> None:
    written(logs, days, name)
    assert all(report.clean for report in world.collect())


def written(logs: Path, days: list[date], name: str) -> None:
    """A file with the lines of another would be taken for that one."""
    for day in days:
        write(logs / f"{day}{name}.log", access_lines(day, ROWS).replace("agent/", f"agent{name}/"))


@dataclass(frozen=True)
class Given:
    """A home that gives to a bucket, or takes from one, and all rows that there are then."""

    home: Path
    rows: Counter[Any]


@dataclass(frozen=True)
class Hand:
    """From a lake on disk to another in a bucket, below a prefix of its own; or from the one that was given there."""

    home: Home
    taken: Lake
    arguments: tuple[str, ...]

    def seen(self) -> int:
        """How many rows are there, each once."""
        begun = (self.taken.table_root(PLACE[0]) / "_delta_log").names()
        found = stored(self.taken) if begun else Counter()
        assert max(found.values(), default=1) == 1, "no row is seen twice"
        return found.total()

    def assert_made_good(self, rows: Counter[Any]) -> None:
        """No row is seen twice; the same command again brings what is missing, and nothing else is left there."""
        self.seen()
        done = self.home.run(*self.arguments)
        assert done.code == 0, done
        assert rows_of(self.taken) == rows
        check(self.taken, *PLACE)


def there(prefix: str) -> tuple[str, ...]:
    return ("*", "--lake", f"s3://{BUCKET}/{prefix}", "--connection", "aws.test")


def hand(kind: str, place: Path, given: Given, moto: MotoProcess, prefix: str) -> Hand:
    cache = {"TAILRACE_CACHE_DIR": str(place / "cache")}
    if kind == "push":  # who gives changes nothing: all may give from the same home
        remote = remote_lake(place / "there", moto.url, prefix)
        return Hand(Home(given.home, cache), remote, (kind, *there(prefix)))
    home = Home(Path(shutil.copytree(given.home, place / "here")), cache)
    return Hand(home, Lake(home.path), (kind, *there("given")))


def before_push(place: Path, world: World) -> Given:
    collected(world, place / "logs", DAYS)
    return Given(world.home, rows_of(world.lake))


def before_pull(place: Path, world: World) -> Given:
    """Half of the days are here, some of them with rows of their own and merged; the bucket has more of those, too."""
    here = World(place / "here")
    shutil.copytree(world.home / "config", here.home / "config")
    (here.home / "config" / "test.tpc").write_text(CONFIG.replace("LOGS", str(place / "own")))
    collected(world, place / "logs", DAYS[6:])
    assert Home(world.home).run("push", *there("given")).code == 0
    assert Home(here.home).run("pull", *there("given")).code == 0
    older = rows_of(world.lake)
    collected(here, place / "own", DAYS[4:8], "-own")
    here.compact()
    own = rows_of(here.lake) - older
    assert own.total() == 4 * ROWS
    collected(world, place / "logs", DAYS[:8], "-more")
    world.compact()
    assert Home(world.home).run("push", *there("given")).code == 0
    written(place / "own", DAYS[2:6], "-later")  # for who collects meanwhile
    assert rows_of(world.lake).total() == 14 * ROWS
    return Given(here.home, rows_of(world.lake) + own)

"""Days from one lake to another, here or in a process of its own: `twolakes.py HOME KIND LAKE [OVERWRITE]`."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

from logfiles import access_lines, write
from world import World

from tailrace.cli.handing import Handing, Kind, Wanted
from tailrace.core import TailraceError, TimeRange
from tailrace.lake.handover import Handed
from tailrace.lake.paths import Lake
from tailrace.lake.place import LocalPlace, Place
from tailrace.query.engine import Engine

PLACE = ("nginx_access_log", "web")
DAYS = [date(2024, 5, day) for day in range(1, 5)]
ROWS = 24
ALL = Wanted(("*",), TimeRange(), (), None, None)


def other(folder: Path | str) -> Lake:
    """A lake in a directory, as `--lake DIR` opens it."""
    return Lake(Path(folder), elsewhere=LocalPlace(str(folder)))


def made_in(place: Path) -> World:
    """Four days in two commits, of two files that hold two days each."""
    world = World(place / "home")
    world.write_config(f'partition "nginx_access_log" "web" {{\n source "file" {{ paths = ["{place}/logs"] }}\n}}\n')
    for first in (0, 2):
        lines = "".join(access_lines(day, ROWS) for day in DAYS[first : first + 2])
        write(place / "logs" / f"{first}.log", lines)
        assert all(report.clean for report in world.collect())
    return world


def hand(kind: Kind, source: Lake, target: Lake, wanted: Wanted = ALL, *, overwrite: bool = False) -> list[Handed]:
    """As the commands do it."""
    handing = Handing(kind, source, target, wanted, overwrite)
    done = [handed for _, handed in handing.carry_out(handing.plan())]
    for _, error in handing.troubles:
        raise error
    return done


def told(done: list[Handed]) -> list[tuple[str, int, int, int]]:
    """Of each day, newest first: its state, rows added, replaced and kept."""
    return [(one.shared.state, one.added, one.replaced, one.kept) for one in done]


def rows_of(lake: Lake) -> Counter[Any]:
    """All rows as queries see them: id, and a hash of all columns."""
    return Counter(asked(lake, "select tp_id, hash(t) from nginx_access_log t"))


def asked(lake: Lake, sql: str) -> list[tuple[Any, ...]]:
    """Of a lake that has no configuration."""
    (result,) = Engine(lake, dict).run(sql)
    return list(result.rows)


if __name__ == "__main__":
    home, kind, folder = sys.argv[1:]
    place: Place = LocalPlace(folder)
    mine, theirs = Lake(Path(home)), Lake(Path(folder), elsewhere=place)
    try:
        hand(kind, *((mine, theirs) if kind == "push" else (theirs, mine)))  # type: ignore[arg-type]
    except TailraceError as error:
        print(error.code, error)
        sys.exit(error.exit_code)

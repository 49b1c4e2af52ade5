"""What is brought back has the statistics that it had, also of columns that its files lack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lakecheck import check
from logfiles import write
from world import World

from tailrace.core import TimeRange
from tailrace.lake.lock import partition_lock
from tailrace.lake.snapshot import snapshot
from tailrace.lake.undo import erase, restore

WEB = ("nginx_access_log", "web")
NOBODY = '192.0.2.{} - - [01/May/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n'


def statistics(world: World) -> dict[str, Any]:
    (row,) = snapshot(world.lake, WEB[0]).files.to_pylist()
    return {name: value for name, value in row.items() if name.startswith(("min.", "max.", "null_count."))}


def test_of_columns_that_are_null_throughout(tmp_path: Path) -> None:
    world = World(tmp_path / "home")
    world.write_config(f'partition "nginx_access_log" "web" {{\n source "file" {{ paths = ["{tmp_path}/logs"] }}\n}}\n')
    write(tmp_path / "logs" / "1.log", "".join(map(NOBODY.format, range(3))))
    assert all(report.clean for report in world.collect())
    before, version = statistics(world), snapshot(world.lake, WEB[0]).version
    assert before["null_count.remote_user"] == 3
    with partition_lock(world.lake, *WEB, "test"):
        erase(world.lake, *WEB, TimeRange())
        restore(world.lake, *WEB, version)
    assert statistics(world) == before
    check(world.home, *WEB)

"""Values of `tp_index` that mean something to a shell, to SQL, to a path or among wildcards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from lakecheck import check
from world import World

from tailrace.cli.main import cli

VALUES = ("[x]", "it's", 'a "b"', "100%", "%41", "../x", "größe 日本", "x" * 200)
CONFIG = """
table "app" {{
  column "ts" {{ type = "timestamp" }}
  column "host" {{ type = "varchar" }}
}}
partition "app" "p" {{
  tp_index = "host"
  source "file" {{ paths = ["{logs}"] }}
}}
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A row of each value."""
    logs = tmp_path / "app.jsonl"
    rows = [{"ts": f"2024-05-01T00:00:0{number}Z", "host": value} for number, value in enumerate(VALUES)]
    logs.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    world = World(tmp_path / "home")
    world.write_config(CONFIG.format(logs=logs))
    assert [report.counts.stored for report in world.collect()] == [len(VALUES)]
    check(world.home, "app", "p")
    return world


def told(world: World, *arguments: str) -> dict[str, int]:
    done = CliRunner().invoke(cli, ["--home", str(world.home), *arguments, "--output", "json"])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    (row,) = answer["days"] if isinstance(answer, dict) else answer
    found: dict[str, int] = row
    return found


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_found_by_itself(world: World, tmp_path: Path, value: str) -> None:
    """Whoever asks, pushes and exports by it gets the same row."""
    assert told(world, "query", "select count(*) as rows, min(host) as host from app", "--index", value) == {
        "rows": 1,
        "host": value,
    }
    assert told(world, "push", "p", "--lake", str(tmp_path / "there"), "--index", value)["added"] == 1
    assert told(world, "export", "app", "--out", str(tmp_path / "out"), "--index", value)["rows"] == 1
    quoted = value.replace("'", "''")
    assert told(world, "partition", "delete", "p", "--where", f"tp_index = '{quoted}'", "--force")["rows"] == 1
    assert world.query("select count(*) from app") == [(len(VALUES) - 1,)]

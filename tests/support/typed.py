"""Commands as they are typed, in this process and on the lake of a small world."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result
from world import World

from tailrace.cli.main import cli


def run(world: World, *words: str) -> Result:
    """What came of it; an error is raised."""
    return CliRunner().invoke(cli, ["--home", str(world.home), *words], catch_exceptions=False)


def rows(world: World, *words: str) -> Any:
    """What it tells as JSON."""
    done = run(world, *words, "--output", "json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)

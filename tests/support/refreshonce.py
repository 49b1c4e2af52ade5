"""One refresh of a schema, here or in a process of its own: `refreshonce.py HOME`."""

from __future__ import annotations

import sys
from pathlib import Path

from world import World

from tailrace.lake.materialized import Refreshed, refresh
from tailrace.query.filters import Schema
from tailrace.query.tables import live_tables

QUARTER = Schema("q1", tables=("h*",), materialized=True)


def refreshed(world: World, schema: Schema = QUARTER) -> Refreshed:
    """As the command does it."""
    return refresh(world.lake, schema.name, live_tables(world.lake, schema), "test")


if __name__ == "__main__":
    refreshed(World(Path(sys.argv[1])))

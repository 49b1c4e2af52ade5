"""One change of a partition, here or in a process of its own: `partitionchange.py HOME ACTION`."""

from __future__ import annotations

import os
import sys
from datetime import date, datetime
from pathlib import Path

from world import World

from tailrace.core import LockedError, TailraceError, TimeRange
from tailrace.lake import segments
from tailrace.lake.lock import partition_lock
from tailrace.lake.paths import Lake, Tier
from tailrace.lake.place import LocalPlace
from tailrace.lake.predicate import Predicate
from tailrace.lake.resting import Rule
from tailrace.lake.table import stored_schema
from tailrace.lake.undo import erase, restore
from tailrace.lake.upkeep import carry_out, due
from tailrace.lake.vacuum import forget

PLACE = ("nginx_access_log", "web")
WINDOW = TimeRange(datetime(2024, 5, 1, 12), datetime(2024, 5, 3, 6))
"Cuts its first and last day, and takes the one between whole."
GONE = TimeRange(datetime(2024, 5, 1, 6), datetime(2024, 5, 1, 18))
"Half a day that may have been deleted before: the window begins in it."
CONDITION = "remote_user = 'user1'"
OLD = date(2024, 5, 3)
"Days up to this one move."
KEPT_FROM = date(2024, 5, 3)
"Days before this one expire."
FIRST = 1
"The version of the table after its first collection: version 0 is empty."


def tiered(world: World) -> Lake:
    """With a tier beside the home."""
    return Lake(world.home, tiers=(Tier("default", "old", LocalPlace(f"{world.home}-tier")),))


def change(world: World, action: str) -> None:
    """As the commands do it, in this process and without a JVM."""
    if action in ("collect", "overwrite"):
        overwrite = action == "overwrite"
        (report,) = world.collect(window=WINDOW if overwrite else None, overwrite=overwrite)
        if report.error is not None:
            raise report.error
        assert report.clean, report.troubles
        return
    if action in ("compact", "reindex"):
        done = world.compact("web", patience=0.0) if action == "compact" else world.reindex(patience=0.0)
        for compacted in done:
            locked = next((t for t in compacted.troubles if t.code == LockedError.code), None)
            if compacted.error is not None or locked is not None:
                raise compacted.error or LockedError(str(locked))
            assert compacted.clean, compacted.troubles
        return
    if action == "expire":
        now = datetime(2024, 5, 10)
        for chore in [*due(world.lake, PLACE[0], [PLACE[1]], lambda _: KEPT_FROM, now)]:
            if chore.action == action:
                carry_out(world.lake, chore, "test expire", now)
        return
    if action == "move":
        lake, now = tiered(world), datetime(2024, 5, 10)
        rule = Rule(lake.tiers[0], last=OLD)
        for chore in [*due(lake, PLACE[0], [PLACE[1]], lambda _: None, now, lambda _: [rule])]:
            assert chore.action == "move"
            carry_out(lake, chore, "test move", now)
        return
    with partition_lock(world.lake, *PLACE, f"test {action}"):
        if action == "restore":
            restore(world.lake, *PLACE, FIRST)
        elif action in ("erase", "erase for good"):
            schema = stored_schema(world.lake, PLACE[0])
            assert schema is not None
            erase(world.lake, *PLACE, WINDOW, Predicate(CONDITION, schema))
            if action == "erase for good":
                forget(world.lake, *PLACE)
        else:
            erase(world.lake, *PLACE, WINDOW if action == "delete" else TimeRange())


if __name__ == "__main__":
    segments.FOLD_EVERY = int(os.environ.get("FOLD_EVERY", segments.FOLD_EVERY))
    try:
        change(World(Path(sys.argv[1])), sys.argv[2])
    except TailraceError as error:
        print(error.code)
        sys.exit(error.exit_code)

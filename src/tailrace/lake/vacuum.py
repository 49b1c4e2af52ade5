"""Files that no version needs which can still be seen: found by their names, and deleted.

A file is needed when the latest version has it, when it was removed within the time for which versions are kept, or
when the run that its name begins with has not ended. All others of ours are waste, whoever left them. Files of other
names are not ours and stay. In a directory of a tier that another lake uses as well, only what the log says to have
been removed is known to be ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tailrace.lake.cache import Cache
from tailrace.lake.compacting import APART
from tailrace.lake.emptied import remove_emptied
from tailrace.lake.intents import partitions_with, read_ledger
from tailrace.lake.kept import forget_kept
from tailrace.lake.log import LoggedCommit, forget_versions, logged
from tailrace.lake.paths import Lake, partition_path
from tailrace.lake.runs import manifests
from tailrace.lake.segments import load_ledger, read_segment
from tailrace.lake.snapshot import active_files
from tailrace.lake.steps import reached
from tailrace.lake.table import open_table, undo_retention
from tailrace.lake.table_place import whereabouts
from tailrace.lake.tier_owners import is_alone

if TYPE_CHECKING:
    from deltalake import DeltaTable

_OURS = re.compile(r"(?:.*/)?(\d{20}[0-9a-f]{10})-[^/]*\.parquet")
"As `new_run_id` begins the name of a file."
_KINDS = ("runs", APART)
"Manifests of runs that may be writing."


@dataclass(frozen=True, slots=True)
class Waste:
    """What of a partition nobody needs."""

    files: tuple[str, ...] = ()
    "Data files, by their path in the table."
    quarantine: tuple[str, ...] = ()
    bytes: int = 0


class Vacuum:
    """One look at a table's log, for all of its partitions."""

    def __init__(self, lake: Lake, table: str, now: datetime | None) -> None:
        """`now`: None to keep no version but the latest."""
        self.lake, self.table = lake, table
        self.root = lake.table_root(table)
        self.really = whereabouts(self.root)
        self.delta: DeltaTable = open_table(self.root)
        self.since = None if now is None else now - undo_retention(self.delta)
        "Versions that held then or later are kept."
        self.commits: list[LoggedCommit] = []

    def waste(self, partition: str) -> Waste:
        """What there is to delete. Whoever does so holds the partition's lock, and looks at the table after that."""
        # In this order: a run that ends meanwhile is in the log, or has cleared up after itself.
        really = self.really
        found = {really(path): (path, run) for path, run in _of_ours(self.root.walk(partition_path(partition)))}
        place = self.lake.meta("quarantine", self.table, partition)
        refused = [*_of_ours(place.names())]
        alive = self._alive(partition)
        self._look()
        needed = {file.path for file in active_files(self.delta, partition)} | self._removed()
        named = self._named(partition)
        kept = {*map(really, needed)}
        left = {place: path for place, (path, run) in found.items() if place not in kept and run not in alive}
        files = self._ours(left, partition)
        quarantine = tuple(name for name, run in refused if name not in named and run not in alive)
        size = 0
        for where, name in (*((self.root, name) for name in files), *((place, name) for name in quarantine)):
            with suppress(FileNotFoundError):
                size += where.size(name)
        return Waste(files, quarantine, size)

    def clear(self, partition: str) -> Waste:
        """Deletes it; the caller holds the partition's lock."""
        waste = self.waste(partition)
        self.root.delete(waste.files)
        reached("files-vacuumed")
        self.lake.meta("quarantine", self.table, partition).delete(waste.quarantine)
        reached("quarantine-vacuumed")
        return waste

    def _look(self) -> None:
        """What the log says by now."""
        self.delta.update_incremental()
        last = self.commits[-1].version if self.commits else -1
        self.commits += logged(self.root, last)

    def _ours(self, found: Mapping[str, str], partition: str) -> tuple[str, ...]:
        """Of names by whereabouts. Asked after they were listed: whoever came meanwhile has signed before its first."""
        gone = {self.really(path) for commit in self.commits for path, _ in commit.removed}
        directories = {_directory(path, partition) for path in found.values()}
        shared = {one for one in directories if not is_alone(self.lake, self.root, one)}
        return tuple(path for at, path in found.items() if at in gone or _directory(path, partition) not in shared)

    def _alive(self, partition: str) -> set[str]:
        return {m.run for kind in _KINDS for m in manifests(self.lake.meta(kind, self.table, partition))}

    def _removed(self) -> set[str]:
        """Files that were removed so late that somebody may want to go back to them."""
        since = self.since or datetime.max
        return {path for commit in self.commits for path, at in commit.removed if at >= since}

    def _named(self, partition: str) -> set[str]:
        """Quarantine files that the ledger names, or named when a version held that is kept."""
        directory = self.lake.meta("ledger", self.table, partition)
        named = set(read_ledger(self.lake, self.table, partition).quarantine)
        since = self.since or datetime.max
        late = [c.sequence for c in self.commits if c.partition == partition and c.at >= since]
        if late:
            named |= set(load_ledger(directory, min(late) - 1, True).quarantine)
            for sequence in range(min(late), max(late) + 1):
                named |= set(read_segment(directory, sequence).quarantine)
        return named


def forget(lake: Lake, table: str, partition: str) -> Waste:
    """Delete for good: every file of the partition that the latest version does not have, and all earlier versions.

    The caller holds the locks of all partitions of the table: it is the table that cannot go back any more; and no
    compaction of this partition is at work. What this machine has kept of it for queries goes as well.
    """
    vacuum = Vacuum(lake, table, None)
    waste = vacuum.clear(partition)
    remove_emptied(lake, vacuum.root, partition)
    forget_versions(vacuum.delta, vacuum.root)
    forget_kept(vacuum.root)
    if not vacuum.root.is_near:
        Cache(lake.cache_size).clear()
    return waste


def _directory(path: str, partition: str) -> str:
    """Of the partition where a file rests, at home or in a tier, as the log begins its name."""
    before, below, _ = path.partition(f"{partition_path(partition)}/")
    return before + below.rstrip("/")


def _of_ours(names: Iterator[str] | list[str]) -> Iterator[tuple[str, str]]:
    """Names that we gave, with the run of each."""
    for name in names:
        found = _OURS.fullmatch(name)
        if found:
            yield name, found[1]


def partitions_of(lake: Lake, table: str) -> list[str]:
    """Partitions of a table that were ever collected."""
    return [partition for owner, partition in partitions_with(lake, "ledger") if owner == table]

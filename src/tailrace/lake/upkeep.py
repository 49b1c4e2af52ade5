"""What is due in a lake: rows past their retention, files that nobody needs, logs without a checkpoint.

`due` only looks; `carry_out` does one thing, under the lock of its partition, and looks again before it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

import msgspec
import pyarrow.compute as pc

from tailrace.core import TimeRange
from tailrace.lake.commit import Change
from tailrace.lake.deleted import after_delete
from tailrace.lake.ledger import EXPIRE
from tailrace.lake.lock import partition_lock
from tailrace.lake.log import CHECKPOINT_BEHIND, behind, checkpoint
from tailrace.lake.paths import Lake
from tailrace.lake.purge import purge
from tailrace.lake.quarantined import found_pages
from tailrace.lake.snapshot import Snapshot, snapshot
from tailrace.lake.sought import Sought
from tailrace.lake.table import open_table
from tailrace.lake.undo import changing
from tailrace.lake.vacuum import Vacuum, Waste

EVERY = timedelta(days=1)
"How often a partition is looked after behind a collection."
_LAST = "last.json"
FirstDay = Callable[[str], date | None]
"By partition: the first day that is kept; None where all are."


@dataclass(frozen=True, slots=True)
class Chore:
    """One thing that is due, or was done."""

    action: str
    "`expire` days, `purge` quarantined records, `vacuum` files, `checkpoint` a log."
    table: str
    partition: str | None = None
    "None: the table as a whole."
    days: int = 0
    rows: int = 0
    files: int = 0
    bytes: int = 0
    first: date | None = None
    last: date | None = None
    before: date | None = None
    "Of `expire` and `purge`: what is older goes."

    @property
    def name(self) -> str:
        return self.table if self.partition is None else f"{self.table}.{self.partition}"

    @property
    def window(self) -> TimeRange:
        """What goes, of `expire` and `purge`."""
        assert self.before is not None
        return _until(self.before)


def due(lake: Lake, table: str, partitions: Iterable[str], first_day: FirstDay, now: datetime) -> Iterator[Chore]:
    """What there is to do in some partitions of a table, and for the table itself."""
    names = list(partitions)
    seen = snapshot(lake, table)
    for partition in names:
        before = first_day(partition)
        if before is not None:
            yield from _expired(seen, partition, before)
            yield from _stale_records(lake, table, partition, before)
    vacuum = Vacuum(lake, table, now)
    for partition in names:
        waste = vacuum.waste(partition)
        if waste.files or waste.quarantine:
            yield _vacuumed(Chore("vacuum", table, partition), waste)
    versions = behind(seen.root, seen.version)
    if versions >= CHECKPOINT_BEHIND:
        yield Chore("checkpoint", table, files=versions)


def carry_out(lake: Lake, chore: Chore, command: str, now: datetime) -> Chore:
    """Does what is due, and says what was done; LockedError while somebody else changes the partition."""
    if chore.partition is None:
        root = lake.table_root(chore.table)
        checkpoint(open_table(root), root)
        return chore
    with partition_lock(lake, chore.table, chore.partition, command):
        if chore.action == "expire":
            return _expire(lake, chore, chore.partition)
        if chore.action == "purge":
            purged = purge(lake, chore.table, chore.partition, Sought(window=chore.window))
            return replace(chore, rows=purged.records)
        return _vacuumed(chore, Vacuum(lake, chore.table, now).clear(chore.partition))


def _expired(seen: Snapshot, partition: str, before: date) -> Iterator[Chore]:
    files = seen.files
    old = pc.and_(pc.equal(files.column("tp_partition"), partition), pc.less(files.column("tp_date"), before))
    files = files.filter(old)
    if not files.num_rows:
        return
    days = pc.unique(files.column("tp_date")).to_pylist()
    rows, size = (pc.sum(files.column(name)).as_py() or 0 for name in ("rows", "size"))
    yield Chore("expire", seen.table, partition, len(days), rows, files.num_rows, size, min(days), max(days), before)


def _expire(lake: Lake, chore: Chore, partition: str) -> Chore:
    """One commit. The rows stay away as if they had been deleted: what is read again does not bring them back."""
    with changing(lake, chore.table, partition) as writer:
        notes = after_delete(writer.ledger().notes, chore.window)
        writer.commit(Change([], cut=chore.window, kind=EXPIRE, notes=notes))
    return chore


def _stale_records(lake: Lake, table: str, partition: str, before: date) -> Iterator[Chore]:
    """Records that could not be read when rows were collected which are no longer kept."""
    sought = Sought(window=_until(before))
    records = sum(len(numbers) for _, numbers in found_pages(lake, f"{table}.{partition}", sought))
    if records:
        yield Chore("purge", table, partition, rows=records, before=before)


def _until(day: date) -> TimeRange:
    return TimeRange(None, datetime(day.year, day.month, day.day))


def _vacuumed(chore: Chore, waste: Waste) -> Chore:
    return replace(chore, files=len(waste.files) + len(waste.quarantine), bytes=waste.bytes)


# Once a day


def is_time(lake: Lake, table: str, partition: str, now: datetime) -> bool:
    """Has it been a day since the partition was last looked after? The first time it has nothing to be looked after."""
    place = lake.meta("upkeep", table, partition)
    last: datetime | None = None
    with suppress(FileNotFoundError, msgspec.DecodeError):
        last = msgspec.json.decode(place.read(_LAST), type=datetime).astimezone(UTC).replace(tzinfo=None)
    if last is None:
        note_time(lake, table, partition, now)
    return last is not None and now - last >= EVERY


def note_time(lake: Lake, table: str, partition: str, now: datetime) -> None:
    """It is looked after now."""
    place = lake.meta("upkeep", table, partition)
    place.put(_LAST, msgspec.json.encode(now.replace(tzinfo=UTC)), "upkeep")

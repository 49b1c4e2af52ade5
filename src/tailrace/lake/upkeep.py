"""What is due in a lake: rows past their retention, files that nobody needs, logs without a checkpoint.

`due` only looks; `carry_out` does one thing, under the lock of its partition, and looks again before it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta

import msgspec
import pyarrow.compute as pc

from tailrace.core import LakeError, TailraceError, TimeRange
from tailrace.core.errors import one_line
from tailrace.lake.commit import Change
from tailrace.lake.deleted import after_delete
from tailrace.lake.ledger import EXPIRE
from tailrace.lake.lock import partition_lock
from tailrace.lake.log import CHECKPOINT_BEHIND, behind, checkpoint
from tailrace.lake.mounted import mark, require_mounted
from tailrace.lake.moving import carry_over
from tailrace.lake.paths import Lake, Tier
from tailrace.lake.purge import purge
from tailrace.lake.quarantined import found_pages
from tailrace.lake.resting import Move, Rule, moves
from tailrace.lake.rewrite import ActiveFile
from tailrace.lake.snapshot import Snapshot, files_of, snapshot
from tailrace.lake.sought import Sought
from tailrace.lake.table import open_table
from tailrace.lake.tier_owners import sign
from tailrace.lake.undo import changing
from tailrace.lake.vacuum import Vacuum, Waste

EVERY = timedelta(days=1)
"How often a partition is looked after behind a collection."
_LAST = "last.json"
FirstDay = Callable[[str], date | None]
"By partition: the first day that is kept; None where all are."
Rules = Callable[[str], Sequence[Rule]]
"By partition: where its days rest."


@dataclass(frozen=True, slots=True)
class Chore:
    """One thing that is due, or was done."""

    action: str
    "`expire` or `move` days, `purge` quarantined records, `vacuum` files, `checkpoint` a log."
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
    "Of `expire` and `purge`: what is older goes. Of `move`: it stays where it is."
    tier: Tier | None = None
    "Of `move`: where to; None: to the workspace."
    rules: tuple[Rule, ...] = field(default=(), repr=False)
    "Of `move`: what rests where."
    stopped: TailraceError | None = field(default=None, compare=False)
    "Of `move`: why it ended before all was moved; what is counted here was."

    @property
    def to(self) -> str | None:
        """Of `move`: the tier, or `workspace`."""
        if self.action != "move":
            return None
        return "workspace" if self.tier is None else f"{self.tier.store}.{self.tier.name}"

    @property
    def name(self) -> str:
        return self.table if self.partition is None else f"{self.table}.{self.partition}"

    @property
    def window(self) -> TimeRange:
        """What goes, of `expire` and `purge`."""
        assert self.before is not None
        return _until(self.before)


def due(
    lake: Lake,
    table: str,
    partitions: Iterable[str],
    first_day: FirstDay,
    now: datetime,
    rules: Rules = lambda _: (),
) -> Iterator[Chore]:
    """What there is to do in some partitions of a table, and for the table itself."""
    names = list(partitions)
    seen = snapshot(lake, table)
    for partition in names:
        before = first_day(partition)
        if before is not None:
            yield from _expired(seen, partition, before)
            yield from _stale_records(lake, table, partition, before)
        yield from _misplaced(seen, partition, tuple(rules(partition)), before)
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
    if chore.action == "move":
        return _move(lake, chore, chore.partition, command)
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


def _misplaced(seen: Snapshot, partition: str, rules: tuple[Rule, ...], before: date | None) -> Iterator[Chore]:
    """Files that do not rest where they should, by tier; what is about to expire need not be moved."""
    found = _moves(seen, partition, rules, before)
    for tier in dict.fromkeys(move.tier for move in found):
        files = [file for move in found if move.tier == tier for file in move.files]
        yield _moved(Chore("move", seen.table, partition, before=before, tier=tier, rules=rules), files)


def _moves(seen: Snapshot, partition: str, rules: Sequence[Rule], before: date | None) -> list[Move]:
    files = files_of(seen.files, partition) if rules else []
    return moves(seen.table, [file for file in files if before is None or file.day >= before], rules)


def _move(lake: Lake, chore: Chore, partition: str, command: str) -> Chore:
    """A commit per day, and the lock for each: a collection need not wait for all of them."""
    moved: list[ActiveFile] = []
    seen = snapshot(lake, chore.table)
    for tier in [rule.tier for rule in chore.rules] if chore.tier is None else [chore.tier]:
        require_mounted(lake, tier)
    if chore.tier is not None:
        try:
            mark(lake, chore.tier)
            sign(lake, chore.tier, chore.table, partition)
        except OSError as error:
            raise _of_tier(error, lake, chore) from None
    # Files may have been merged since it was found out what is due.
    for move in _moves(seen, partition, chore.rules, chore.before):
        if move.tier != chore.tier:
            continue
        try:
            with partition_lock(lake, chore.table, partition, command), changing(lake, chore.table, partition) as hand:
                if chore.tier is not None:  # moving takes long: the disk may be gone by now
                    require_mounted(lake, chore.tier)
                moved += carry_over(snapshot(lake, chore.table), hand, move)
        except (TailraceError, OSError) as error:
            stopped = _of_tier(error, lake, chore) if isinstance(error, OSError) else error
            if not moved:
                raise stopped from None
            return replace(_moved(chore, moved), stopped=stopped)
    return _moved(chore, moved)


def _of_tier(error: OSError, lake: Lake, chore: Chore) -> LakeError:
    """Names the tier that is full or gone, not the link that leads there, nor nothing at all."""
    goal = lake.data_root if chore.tier is None else chore.tier.place
    link = None if chore.tier is None else f"{chore.tier.called(chore.table)}/"
    named = error.filename if link is None or link not in str(error.filename) else None
    return LakeError(error.strerror or one_line(error), code="lake.io", where=str(named or goal))


def _moved(chore: Chore, files: Sequence[ActiveFile]) -> Chore:
    days = sorted({file.day for file in files})
    rows, size = (sum(getattr(file, name) for file in files) for name in ("rows", "size"))
    first, last = (days[0], days[-1]) if days else (None, None)
    return replace(chore, days=len(days), rows=rows, files=len(files), bytes=size, first=first, last=last)


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

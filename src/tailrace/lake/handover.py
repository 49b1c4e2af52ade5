"""Days of a partition from one lake to another: a commit for each, which is the only moment at which anybody sees it.

Whoever dies leaves copies that no commit names, which are found like all others; what was committed is not copied
again. The lock of the partition that takes is held for a day at a time, so that several may hand over to it in turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import cached_property

import numpy as np

from tailrace.core import TimeRange
from tailrace.core.errors import LakeError
from tailrace.lake.commit import Change, PartitionWriter
from tailrace.lake.comparing import NONE, Compared, Rival, compared
from tailrace.lake.copying import Told, copy_name, copy_whole
from tailrace.lake.damage import COLLECT_AGAIN, DAMAGED_FILE, reading_file
from tailrace.lake.deleted import after_overwrite, deleted, erased, is_deleted
from tailrace.lake.files import DataFile
from tailrace.lake.ledger import Entry, Ledger, keys
from tailrace.lake.lock import partition_lock
from tailrace.lake.logged_stats import stats_of
from tailrace.lake.paths import Lake, data_path
from tailrace.lake.place import Place
from tailrace.lake.predicate import Predicate
from tailrace.lake.removal import entries_of, heads_of
from tailrace.lake.rewrite import ActiveFile, Doomed, Rows, marked_rows, rows_by_prefix, without_rows
from tailrace.lake.runs import new_run_id
from tailrace.lake.sharing import SharedDay, shared_day
from tailrace.lake.snapshot import Snapshot, files_of
from tailrace.lake.steps import reached
from tailrace.lake.succession import handed_on, succeeds
from tailrace.lake.types import schema_fingerprint

PATIENCE = 600.0
"Seconds for which somebody else who changes the partition is waited for."
THREADS = 4


@dataclass(frozen=True, slots=True)
class Handed:
    """What has become of a day."""

    shared: SharedDay
    added: int = 0
    "Rows that the lake did not have."
    replaced: int = 0
    "Rows that it had, and that were collected again since."
    kept: int = 0
    "Rows that it has, the same or newer, or of whose artifact it has a later version."
    gone: int = 0
    "Rows that it had, of earlier versions of artifacts that were read again as a whole."
    withheld: int = 0
    "Rows that were deleted there, and stay away."
    erased: int = 0
    "Those of them that were deleted by a condition, which holds until it is lifted."
    copied_bytes: int = 0
    version: int | None = None
    "Of the table; None: nothing had to be done."


class HandOver:
    """From a version of a table to another lake; `kind` is what its history calls it.

    `overwrite`: days of which rows were deleted there come as well, and are wanted from then on.
    `succession`: rows of earlier versions of artifacts go; not where the ledger is of a later time than the files.
    """

    def __init__(
        self,
        given: Snapshot,
        ledger: Ledger,
        lake: Lake,
        partition: str,
        kind: str,
        *,
        overwrite: bool = False,
        succession: bool = True,
        told: Told = lambda _: None,
    ) -> None:
        self.given, self.ledger, self.lake, self.partition, self.kind = given, ledger, lake, partition, kind
        self.overwrite, self.succession, self.told = overwrite, succession, told
        self._known = {row["path"]: row for row in given.files.to_pylist() if row["tp_partition"] == partition}
        self._all = files_of(given.files, partition)

    def day(self, asked: SharedDay, command: str) -> Handed:
        """One day, whole or not at all; the lake is looked at again, because others may have changed it."""
        given = [file for file in self._all if file.day == asked.day]
        with self._writing(command) as writer:
            there = [file for file in writer.active() if file.day == asked.day]
            shared = shared_day(self.partition, asked.day, asked.files, given, there)
            shared = replace(shared, is_deleted=not self.overwrite and is_deleted(writer.ledger().notes, asked.day))
            if not shared.lacking and asked.files:
                return Handed(shared)
            is_all = self.succession and len(asked.files) in (0, len(given))
            return _Day(self, writer, shared, is_all).hand_over()

    def stats(self, path: str) -> tuple[str, int]:
        """What the log says of a file, and when its rows were stored."""
        return stats_of(self._known[path]), self._known[path]["modified"]

    @contextmanager
    def _writing(self, command: str) -> Iterator[PartitionWriter]:
        place = (self.lake, self.given.table, self.partition)
        with partition_lock(*place, command, patience=PATIENCE):
            writer = PartitionWriter(*place, new_run_id(), self.given.schema)
            writer.recover()
            try:
                yield writer
            finally:
                writer.finish()


class _Day:
    """A day that is on its way."""

    def __init__(self, hand: HandOver, writer: PartitionWriter, shared: SharedDay, is_all: bool) -> None:
        self.hand, self.writer, self.shared = hand, writer, shared
        self.is_all = is_all
        "Is all that is given of the day asked for, as the ledger knows it?"
        self.source, self.target = hand.given.root, hand.lake.table_root(hand.given.table)
        self.fingerprint = schema_fingerprint(hand.given.schema)
        self.added: Counter[str] = Counter()
        self.gone: Counter[str] = Counter()

    def hand_over(self) -> Handed:
        (withheld, by_condition), settled = self._withheld(), self._compared()
        left_out = {
            file.path: np.union1d(withheld.get(file.path, NONE), settled.left_out.get(file.path, NONE))
            for file in self._lacking
        }
        reached("day-compared")
        whole = [file for file in self._lacking if not len(left_out[file.path])]
        files = [*self._copied(whole), *self._in_part(left_out)]
        outdated = [file for file in self._beside if file.path in settled.outdated]
        files += self._without(outdated, settled.outdated)
        reached("day-copied")
        stay_away, need_not, go = (_number(rows) for rows in (withheld, left_out, settled.outdated))
        come, replaced = sum(file.rows for file in self._lacking) - need_not, go - settled.gone
        version = None
        if come or go:
            change = Change(self._entries(), files, merged=outdated, kind=self.hand.kind, notes=self._notes())
            version = self.writer.commit(change).version
        return Handed(
            self.shared,
            added=come - replaced,
            replaced=replaced,
            kept=need_not - stay_away,
            gone=settled.gone,
            withheld=stay_away,
            erased=by_condition,
            copied_bytes=sum(file.size for file in whole),
            version=version,
        )

    # Which rows

    def _marked(self, doomed: Sequence[Doomed]) -> dict[str, Rows]:
        found = {file.path: marked_rows(self.source, file.path, doomed) for file in self._lacking if doomed}
        return {path: rows for path, rows in found.items() if len(rows)}

    def _compared(self) -> Compared:
        if not self.shared.beside:
            return Compared()
        return compared((self.source, self._lacking), (self.target, self._beside), self._rivals())

    def _rivals(self) -> Iterator[Rival]:
        """Artifacts of which one of the lakes may have a later version. One that deletes says nothing of the other."""
        may_win = self.is_all and not _deletes(self.hand.ledger, self.shared.day)
        may_lose = not _deletes(self.writer.ledger(), self.shared.day)
        for entry, before in self.artifacts:
            # Where nothing comes, only those lose rows that have none on the day any more.
            if before is not None and (self._lacking or self.shared.day not in entry.dates):
                given = entry.at if may_win and succeeds(entry, before) else None
                there = before.at if may_lose and succeeds(before, entry) else None
                if given or there:
                    yield Rival(_heads(entry, before), given, there)

    @property
    def _lacking(self) -> Sequence[ActiveFile]:
        return self.shared.lacking

    @property
    def _beside(self) -> Sequence[ActiveFile]:
        return self.shared.beside

    def _withheld(self) -> tuple[dict[str, Rows], int]:
        """Rows that were deleted from the lake that takes, and how many of them by a condition."""
        notes, day, schema = self.writer.ledger().notes, self.shared.day, self.hand.given.schema
        ranges = [Doomed(window=window) for window in deleted(notes) if window.touches(day) and not self.hand.overwrite]
        conditions = [Doomed(window=one.window, where=Predicate(one.where, schema)) for one in erased(notes)]
        by_condition = self._marked(conditions)
        return self._marked([*ranges, *conditions]) if ranges else by_condition, _number(by_condition)

    def _notes(self) -> dict[str, str]:
        if not self.hand.overwrite:
            return {}
        begins = datetime.combine(self.shared.day, time.min)
        return after_overwrite(self.writer.ledger().notes, TimeRange(begins, begins + timedelta(days=1)), None)

    # Which files

    def _copied(self, files: Sequence[ActiveFile]) -> list[DataFile]:
        """Byte for byte, a few at a time."""
        with ThreadPoolExecutor(THREADS) as pool:
            done = list(pool.map(self._copy, range(len(files)), files))
        for _, rows in done:
            self.added.update(rows)
        return [copy for copy, _ in done]

    def _copy(self, number: int, file: ActiveFile) -> tuple[DataFile, Counter[str]]:
        name = copy_name(self.writer.run, f"{file.day:%Y%m%d}-{number}", file.path)
        path = f"{data_path(file.partition, file.index, file.day)}/{name}"
        copy_whole(self.source, file.path, self.target, path, file.size, self.hand.told)
        self._require_rows(file, path)
        near = self.target.has_near(path)
        rows = rows_by_prefix(self.target, path) if near else rows_by_prefix(self.source, file.path)
        stats, modified = self.hand.stats(file.path)
        place = (file.partition, file.index, file.day)
        return DataFile(path, file.size, *place, file.rows, stats, self.fingerprint, modified), rows

    def _require_rows(self, file: ActiveFile, path: str) -> None:
        """A file that was exchanged for another one is no better for being copied well."""
        with reading_file(self.target, path) as copy:
            rows = copy.metadata.num_rows
        if rows != file.rows:
            message = f"the file has {rows:,} rows, and the log says {file.rows:,}"
            raise LakeError(message, code=DAMAGED_FILE, where=self.source.address(file.path), hint=COLLECT_AGAIN)

    def _in_part(self, left_out: Mapping[str, Rows]) -> Iterator[DataFile]:
        """Files some of whose rows need not come; none of those of which no row has to."""
        for number, file in enumerate(self._lacking):
            rows = left_out[file.path]
            if 0 < len(rows) < file.rows:
                name = f"{self.writer.run}-{file.day:%Y%m%d}-part-{number}.parquet"
                path = f"{data_path(file.partition, file.index, file.day)}/{name}"
                yield self._anew(self.source, file, rows, path)

    def _without(self, files: Iterable[ActiveFile], outdated: Mapping[str, Rows]) -> Iterator[DataFile]:
        """Files that are there, where they rest, without the rows that newer ones replace."""
        for number, file in enumerate(files):
            self.writer.leave_home()
            self.gone.update(rows_by_prefix(self.target, file.path))
            if len(outdated[file.path]) < file.rows:
                path = f"{file.path.rpartition('/')[0]}/{self.writer.run}-{file.day:%Y%m%d}-rest-{number}.parquet"
                yield self._anew(self.target, file, outdated[file.path], path)

    def _anew(self, root: Place, file: ActiveFile, rows: Rows, path: str) -> DataFile:
        written = without_rows(root, file, rows, self.target, path)
        self.added.update(rows_by_prefix(self.target, path))
        return replace(written, fingerprint=self.fingerprint)

    # What the ledger says

    @cached_property
    def artifacts(self) -> list[tuple[Entry, Entry | None]]:
        """Those that have rows on the day, as the lake that gives knows them, and as the other does."""
        day = self.shared.day
        ours, theirs = (
            keys(ledger.of_days(day, day)).to_pylist() for ledger in (self.hand.ledger, self.writer.ledger())
        )
        concerned = {*ours, *theirs}
        before = {entry.key: entry for entry in entries_of(self.writer.ledger(), concerned)}
        return [(entry, before.get(entry.key)) for entry in entries_of(self.hand.ledger, concerned)]

    def _entries(self) -> list[Entry]:
        """Artifacts whose rows have come: whoever collects into that lake need not read them again."""
        found = []
        for entry, before in self.artifacts:
            come, gone = (sum(some[head] for head in _heads(entry, before)) for some in (self.added, self.gone))
            if come or gone:
                rows, dates = before.rows if before else 0, {*(before.dates if before else ())}
                dates = {*dates, self.shared.day} if come else dates - {self.shared.day}
                found.append(handed_on(entry, before, frozenset(dates), rows + come - gone))
        return found


def _heads(entry: Entry, before: Entry | None) -> list[str]:
    return heads_of(entry if before is None else replace(entry, members=(*{*entry.members, *before.members},)))


def _number(rows: Mapping[str, Rows]) -> int:
    return sum(map(len, rows.values()))


def _deletes(ledger: Ledger, day: date) -> bool:
    """Has anybody deleted rows that may be of the day?"""
    return bool(erased(ledger.notes)) or any(window.touches(day) for window in deleted(ledger.notes))

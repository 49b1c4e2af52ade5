"""Days of a partition from one lake to another: a commit for each, which is the only moment at which anybody sees it.

Whoever dies leaves copies that no commit names, which are found like all others; what was committed is not copied
again. The lock of the partition that takes is held for a day at a time, so that several may hand over to it in turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

import numpy as np

from tailrace.core import TimeRange
from tailrace.core.errors import LakeError
from tailrace.lake.commit import Change, PartitionWriter
from tailrace.lake.copying import Told, copy_name, copy_whole
from tailrace.lake.damage import COLLECT_AGAIN, DAMAGED_FILE, reading_file
from tailrace.lake.deleted import after_overwrite, deleted, erased
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
from tailrace.lake.types import schema_fingerprint
from tailrace.lake.unique import Key, connected, scan

PATIENCE = 600.0
"Seconds for which somebody else who changes the partition is waited for."
THREADS = 4
_NONE: Rows = np.empty(0, np.int64)
_COMPARED = Key(("tp_ingest_timestamp",))


@dataclass(frozen=True, slots=True)
class Handed:
    """What has become of a day."""

    shared: SharedDay
    added: int = 0
    "Rows that the lake did not have."
    replaced: int = 0
    "Rows that it had, and that were collected again since."
    kept: int = 0
    "Rows that it has, the same or newer."
    withheld: int = 0
    "Rows that were deleted there, and stay away."
    copied_bytes: int = 0
    version: int | None = None
    "Of the table; None: nothing had to be done."


@dataclass(frozen=True, slots=True)
class _Compared:
    """Numbers of rows, by file."""

    left_out: dict[str, Rows]
    "Of the files that are given: those that need not come."
    outdated: dict[str, Rows]
    "Of the files that are there: those in whose place newer ones come."
    withheld: int
    "How many of those left out were deleted there."


class HandOver:
    """From a version of a table to another lake; `kind` is what its history calls it.

    `overwrite`: days of which rows were deleted there come as well, and are wanted from then on.
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
        told: Told = lambda _: None,
    ) -> None:
        self.given, self.ledger, self.lake, self.partition, self.kind = given, ledger, lake, partition, kind
        self.overwrite, self.told = overwrite, told
        self._known = {row["path"]: row for row in given.files.to_pylist() if row["tp_partition"] == partition}
        self._all = files_of(given.files, partition)

    def day(self, asked: SharedDay, command: str) -> Handed:
        """One day, whole or not at all; the lake is looked at again, because others may have changed it."""
        given = [file for file in self._all if file.day == asked.day]
        with self._writing(command) as writer:
            there = [file for file in writer.active() if file.day == asked.day]
            shared = shared_day(self.partition, asked.day, asked.files, given, there)
            if not shared.lacking:
                return Handed(shared)
            return _Day(self, writer, shared).hand_over()

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

    def __init__(self, hand: HandOver, writer: PartitionWriter, shared: SharedDay) -> None:
        self.hand, self.writer, self.shared = hand, writer, shared
        self.source, self.target = hand.given.root, hand.lake.table_root(hand.given.table)
        self.fingerprint = schema_fingerprint(hand.given.schema)
        self.added: Counter[str] = Counter()
        self.gone: Counter[str] = Counter()

    def hand_over(self) -> Handed:
        compared = self._compared()
        reached("day-compared")
        whole = [file for file in self.shared.lacking if not len(compared.left_out.get(file.path, _NONE))]
        files = [*self._copied(whole), *self._in_part(compared.left_out)]
        outdated = [file for file in self.shared.beside if file.path in compared.outdated]
        files += self._without(outdated, compared.outdated)
        reached("day-copied")
        left_out = sum(map(len, compared.left_out.values()))
        kept = left_out - compared.withheld
        replaced = sum(map(len, compared.outdated.values()))
        come = sum(file.rows for file in self.shared.lacking) - left_out
        version = None
        if come:
            change = Change(self._entries(), files, merged=outdated, kind=self.hand.kind, notes=self._notes())
            version = self.writer.commit(change).version
        size = sum(file.size for file in whole)
        return Handed(self.shared, come - replaced, replaced, kept, compared.withheld, size, version)

    # Which rows

    def _compared(self) -> _Compared:
        withheld = self._withheld()
        left_out = {file.path: marked_rows(self.source, file.path, withheld) for file in self._lacking if withheld}
        number = sum(map(len, left_out.values()))
        if not self.shared.beside:
            return _Compared({path: rows for path, rows in left_out.items() if len(rows)}, {}, number)
        outdated: dict[str, Rows] = {}
        with connected() as (con, folder):
            for name, root, files in (("ours", self.source, self._lacking), ("theirs", self.target, self._beside)):
                con.execute(
                    f"CREATE TABLE {name} AS SELECT tp_id, tp_ingest_timestamp AS at, file_index AS file,"
                    f" file_row_number AS line FROM {scan(root, files, _COMPARED, folder)}"
                )
            both = "FROM ours JOIN theirs USING (tp_id) WHERE"
            is_newer = "coalesce(ours.at > theirs.at, false)"
            for n, file in enumerate(self._lacking):
                rows = con.execute(f"SELECT ours.line {both} ours.file = {n} AND NOT {is_newer}").fetchnumpy()
                left_out[file.path] = np.union1d(left_out.get(file.path, _NONE), rows["line"]).astype(np.int64)
            for n, file in enumerate(self._beside):
                rows = con.execute(f"SELECT theirs.line {both} theirs.file = {n} AND {is_newer}").fetchnumpy()
                if len(rows["line"]):
                    outdated[file.path] = rows["line"]
        return _Compared({path: rows for path, rows in left_out.items() if len(rows)}, outdated, number)

    @property
    def _lacking(self) -> Sequence[ActiveFile]:
        return self.shared.lacking

    @property
    def _beside(self) -> Sequence[ActiveFile]:
        return self.shared.beside

    def _withheld(self) -> list[Doomed]:
        """Rows that were deleted from the lake that takes, and have to stay away from it."""
        notes, day = self.writer.ledger().notes, self.shared.day
        found = [Doomed(window=window) for window in deleted(notes) if window.touches(day) and not self.hand.overwrite]
        for one in erased(notes):
            found.append(Doomed(window=one.window, where=Predicate(one.where, self.hand.given.schema)))
        return found

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

    def _in_part(self, left_out: dict[str, Rows]) -> Iterator[DataFile]:
        """Files some of whose rows need not come; none of those of which no row has to."""
        for number, file in enumerate(self._lacking):
            rows = left_out.get(file.path, _NONE)
            if 0 < len(rows) < file.rows:
                name = f"{self.writer.run}-{file.day:%Y%m%d}-part-{number}.parquet"
                path = f"{data_path(file.partition, file.index, file.day)}/{name}"
                yield self._anew(self.source, file, rows, path)

    def _without(self, files: Iterable[ActiveFile], outdated: dict[str, Rows]) -> Iterator[DataFile]:
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

    def _entries(self) -> list[Entry]:
        """Artifacts whose rows have come: whoever collects into that lake need not read them again."""
        day = self.shared.day
        theirs = keys(self.hand.ledger.of_days(day, day)).to_pylist()
        before = {entry.key: entry for entry in entries_of(self.writer.ledger(), theirs)}
        found = []
        for entry in entries_of(self.hand.ledger, theirs):
            heads = heads_of(entry)
            come, gone = (sum(counted[head] for head in heads) for counted in (self.added, self.gone))
            if come or gone:
                found.append(_handed_on(entry, before.get(entry.key), day, come - gone))
        return found


def _handed_on(entry: Entry, before: Entry | None, day: date, more: int) -> Entry:
    """One of which not all days are there looks as if it had changed: then it is read as a whole."""
    dates = {day, *(before.dates if before else ())}
    rows = more + (before.rows if before else 0)
    quarantined, generation = (before.quarantined, before.generation) if before else (0, entry.generation)
    base = entry if before is None or entry.at >= before.at else before
    base = replace(
        base,
        rows=rows,
        received=base.received - base.quarantined + quarantined,
        quarantined=quarantined,
        dates=tuple(sorted(dates)),
        generation=max(entry.generation, generation),
        # As if it had been read on: records that were refused here have not come, and are not replaced.
        resumed=(base.offset or base.size) if before is not None and (before.rows or quarantined) else None,
    )
    return base if dates.issuperset(entry.dates) else replace(base, version="", offset=None)

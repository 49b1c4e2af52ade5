"""The numbered intents of a partition, and what the Delta log decided on each.

Intent n is a ledger segment. The log's `tailrace/<partition>` = F says that all up to F are decided, and
`tailrace/<partition>/ok` = F that F itself is valid. A refused intent is voided before the next begins, so
every segment below F counts as it stands.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.core.errors import LakeError
from tailrace.lake import runs
from tailrace.lake import segments as book
from tailrace.lake.damage import LOG, reading_log, writing_log
from tailrace.lake.files import Balance
from tailrace.lake.ledger import VOID, Ledger, Segment
from tailrace.lake.paths import PARTITION_COLUMNS, Lake, decode_value, encode_value
from tailrace.lake.snapshot import active_files
from tailrace.lake.steps import reached
from tailrace.lake.table import ATTEMPTS, exists, open_or_create, open_table, widen
from tailrace.lake.table_place import whereabouts

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction, RemoveAction

NOTHING = Balance()
REFUSED = "tailrace.refused"
"Of a commit: that it made its intent invalid. The segment says so too, unless whoever refused it died before that."
KEYS_HOLD = 300
"Seconds for which a table that was opened with keys of a session is used with them."


def read_ledger(lake: Lake, table: str, partition: str) -> Ledger:
    """What has been collected, for those who only look."""
    root = lake.table_root(table)
    if not exists(root):
        return Ledger()
    decided, valid = _decided(open_table(root), partition)
    return book.load_ledger(lake.meta("ledger", table, partition), decided, valid == decided)


def _app(partition: str) -> str:
    return f"tailrace/{encode_value(partition)}"


def _decided(delta: DeltaTable, partition: str) -> tuple[int, int]:
    decided = delta.transaction_version(_app(partition))
    valid = delta.transaction_version(f"{_app(partition)}/ok")
    return decided or 0, valid or 0


def partitions(lake: Lake) -> Iterator[tuple[str, str]]:
    """Table and partition of everything that was ever collected into the lake."""
    return partitions_with(lake, "ledger")


def partitions_with(lake: Lake, kind: str) -> Iterator[tuple[str, str]]:
    """Table and partition of all that have metadata of a kind."""
    root = lake.meta_root / kind
    for table in root.folders():
        for partition in (root / table).folders():
            yield decode_value(table), decode_value(partition)


def undecided(lake: Lake, table: str, partition: str) -> list[int]:
    """Numbers of the intents on which the log says nothing."""
    decided, _ = _decided(open_table(lake.table_root(table)), partition)
    return book.segment_numbers(lake.meta("ledger", table, partition), decided)


def decided_at(delta: DeltaTable, partition: str) -> int:
    """The last valid sequence number of a partition in the version that `delta` stands at."""
    decided, valid = _decided(delta, partition)
    return decided if decided == valid else decided - 1


class Intents:
    """One run's view of a partition's intents; `delta` is the snapshot from which it commits."""

    def __init__(
        self,
        lake: Lake,
        table: str,
        partition: str,
        run: str,
        schema: pa.Schema,
        delta: DeltaTable | None = None,
    ) -> None:
        self.lake, self.table, self.partition, self.run = lake, table, partition, run
        self.root = lake.table_root(table)
        self.directory = lake.meta("ledger", table, partition)
        self._opened = time.monotonic()
        if delta is None and not exists(self.root):
            self._require_beginning()
        self.delta = open_or_create(lake, table, schema) if delta is None else delta

    def _require_beginning(self) -> None:
        """A ledger without a log is not one to go on with: by a new log all that it says would be refused."""
        if book.segment_numbers(self.directory):
            raise LakeError(
                "the table's Delta log is gone, and its ledger is there",
                code="lake.lost-log",
                where=(self.root / LOG).uri,
                hint="nothing was changed; `tailrace doctor` says what can be done",
            )

    def refresh(self) -> None:
        """Move on to the latest snapshot."""
        if self.root.renews_keys and time.monotonic() - self._opened > KEYS_HOLD:
            self._opened = time.monotonic()
            self.delta = open_table(self.root)
            return
        with reading_log(self.root):
            self.delta.update_incremental()

    def fit(self, schema: pa.Schema) -> None:
        """The snapshot at hand has these columns: a table may have got other types while it had no rows."""
        self.delta = widen(self.delta, schema, self.root)

    def decided(self) -> tuple[int, int]:
        """The last number that the log decided, and the last one it made valid."""
        return _decided(self.delta, self.partition)

    def ledger(self) -> Ledger:
        """The fold of everything valid."""
        decided, valid = self.decided()
        return book.load_ledger(self.directory, decided, valid == decided)

    def declare(self, segment: Segment) -> bool:
        """Write an intent; False when the number is taken."""
        name = book.segment_name(segment.sequence)
        return self.directory.put_if_absent(name, book.segment_bytes(segment), self.run)

    def transact(
        self, actions: list[AddAction | RemoveAction], sequence: int, balance: Balance = NOTHING, *, is_ok: bool
    ) -> None:
        """Commit from the snapshot at hand. It fails if anyone has decided on this partition since."""
        from deltalake import CommitProperties
        from deltalake.transaction import Transaction

        app = _app(self.partition)
        apps = [app, f"{app}/ok"] if is_ok else [app]
        metadata = {
            "tailrace.run": self.run,
            "tailrace.partition": self.partition,
            "tailrace.sequence": sequence,
            "tailrace.added": balance.added,
            "tailrace.removed": balance.removed,
            **({} if is_ok else {REFUSED: "true"}),
        }
        properties = CommitProperties(
            custom_metadata=metadata, app_transactions=[Transaction(app, sequence) for app in apps]
        )
        with writing_log(self.root):
            self.delta.create_write_transaction(
                actions,
                "append",
                self.delta.schema(),
                partition_by=list(PARTITION_COLUMNS),
                commit_properties=properties,
            )

    def is_ours(self, sequence: int) -> bool:
        """Has this run's intent become true?"""
        decided, valid = self.decided()
        if decided < sequence or (decided == sequence and valid != sequence):
            return False
        segment = book.read_segment(self.directory, sequence)
        return segment.run == self.run and not segment.is_void

    def settle_all(self) -> int:
        """Refuse every intent that the log has not decided; returns how many there were."""
        self.refresh()
        decided, valid = self.decided()
        if valid != decided:
            self._void(decided)
        undecided = book.segment_numbers(self.directory, decided)
        for sequence in undecided:
            self.settle(sequence)
        return len(undecided)

    def settle(self, sequence: int) -> None:
        """Refuse an intent: in the log first, so that a sleeping writer loses; then delete its files."""
        from deltalake.exceptions import CommitFailedError

        for _ in range(ATTEMPTS):
            if self.decided()[0] >= sequence:
                break
            # Overtaken by the intent's own writer, it has won; by another partition, we try again.
            with suppress(CommitFailedError):
                self.transact([], sequence, is_ok=False)
            self.refresh()
        reached("recovery-decided")
        decided, valid = self.decided()
        if decided < sequence:
            raise self.busy()
        if decided == sequence and valid != sequence:
            self._void(sequence)

    def fence(self) -> int:
        """Take a number, so that no run begun earlier can commit files that are about to be deleted."""
        settled = 0
        while True:
            sequence = self.decided()[0] + 1
            is_taken = not self.declare(Segment(sequence=sequence, run=self.run, kind=VOID))
            reached("recovery-fenced")
            self.settle(sequence)
            if not is_taken:
                return settled
            settled += 1

    def delete_orphans(self, run: str, since: int, *, everywhere: bool = True) -> int:
        """Delete files of a run that no valid intent after `since` names; returns how many."""
        really = whereabouts(self.root)
        found = runs.files_of_run(self.lake, self.table, self.partition, run, everywhere=everywhere)
        files = {really(path): path for path in found}
        quarantine = set(runs.quarantine_of_run(self.lake, self.table, self.partition, run))
        if not files and not quarantine:
            return 0
        decided, valid = self.decided()
        named: set[str] = set()
        for sequence in range(since + 1, decided + (valid == decided)):
            segment = book.read_segment(self.directory, sequence)
            named.update(segment.files)
            quarantine.difference_update(segment.quarantine)
        if files:
            named.update(f.path for f in active_files(self.delta, self.partition))
        left = {files[place] for place in files.keys() - map(really, named)}
        self._delete(left, quarantine)
        return len(left) + len(quarantine)

    def busy(self) -> LakeError:
        return LakeError(
            "others keep changing the table", code="lake.busy", where=str(self.root), hint="try again later"
        )

    def _void(self, sequence: int) -> None:
        segment = book.read_segment(self.directory, sequence)
        if segment.is_void:
            return
        self._delete(set(segment.files), set(segment.quarantine))
        reached("recovery-files-deleted")
        void = Segment(sequence=sequence, run=segment.run, kind=VOID)
        self.directory.put(book.segment_name(sequence), book.segment_bytes(void), self.run)
        reached("recovery-segment-voided")

    def _delete(self, files: set[str], quarantine: set[str]) -> None:
        self.root.delete(files)
        self.lake.meta("quarantine", self.table, self.partition).delete(quarantine)

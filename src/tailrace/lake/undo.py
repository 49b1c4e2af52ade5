"""Taking rows of a partition away, and bringing a partition back to what it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import TimeRange
from tailrace.core.errors import LakeError, UsageError
from tailrace.lake.commit import Change, PartitionWriter
from tailrace.lake.copying import origin
from tailrace.lake.damage import not_mounted, reading_file
from tailrace.lake.deleted import Erasure, after_delete, after_erasure, after_lifting, after_reset, erased
from tailrace.lake.extents import newest_rows
from tailrace.lake.files import DataFile
from tailrace.lake.intents import REFUSED, decided_at
from tailrace.lake.ledger import BEGIN, COMPACT, DELETE, LIFT, MOVE, RESET, RESTORE, RESTORED, VOID
from tailrace.lake.logged_stats import stats_of
from tailrace.lake.paths import Lake
from tailrace.lake.place import Place
from tailrace.lake.predicate import Predicate
from tailrace.lake.rewrite import ActiveFile
from tailrace.lake.runs import new_run_id
from tailrace.lake.segments import read_segment
from tailrace.lake.snapshot import active_files, snapshot, snapshot_at
from tailrace.lake.table import open_table, stored_schema
from tailrace.lake.types import schema_fingerprint
from tailrace.lake.versions import Moment, moment, no_version_so_old, open_at, vacuumed

_INSTANT = timedelta(microseconds=1)
_NO_CHANGES = ("settle", COMPACT, LIFT, MOVE, VOID)
"Kinds of commits after which a partition holds what it held before."


@dataclass(frozen=True, slots=True)
class Commit:
    """One change of a partition, as its history tells it."""

    version: int
    at: datetime
    kind: str
    """`collect`, `delete`, `expire`, `reset`, `restore`, `replay`, `purge`, `compact`, `reindex`, `move`, `push`,
    `pull`, `lift`, `settle`; `void`: recovery refused it."""
    artifacts: int
    files: int
    "Data files that it added."
    added: int | None
    removed: int | None
    "Rows that came and went; None: an earlier version made the commit, and did not note it."


def history(lake: Lake, table: str, partition: str, most: int | None = None) -> list[Commit]:
    """Changes of a partition, newest first, as far back as the log goes, or so many."""
    directory = lake.meta("ledger", table, partition)
    found: list[Commit] = []
    for commit in open_table(lake.table_root(table)).history():
        if len(found) == most:
            break
        if commit.get("tailrace.partition") != partition:
            continue
        segment = read_segment(directory, int(commit["tailrace.sequence"]))
        if segment.kind == BEGIN:
            continue  # an intention: nothing to see, nothing to go back to
        rows = (commit.get(f"tailrace.{name}") for name in ("added", "removed"))
        found.append(
            Commit(
                commit["version"],
                moment(commit["timestamp"]),
                VOID if REFUSED in commit else segment.kind,
                segment.entries.num_rows,
                len(segment.files),
                *(None if number is None else int(number) for number in rows),
            )
        )
    return found


def last_change(lake: Lake, table: str, partition: str) -> Commit:
    """The last one that changed what a partition holds."""
    changes = (commit for commit in history(lake, table, partition) if commit.kind not in _NO_CHANGES)
    found = next(changes, None)
    if found is None:
        hint = "the log goes back as far as `tailrace partition history` shows"
        raise UsageError(f"nothing is known to undo of {table}.{partition}", code="usage.nothing-to-undo", hint=hint)
    return found


@contextmanager
def changing(lake: Lake, table: str, partition: str) -> Iterator[PartitionWriter]:
    """A hand on a partition that needs no configuration; the caller holds its lock."""
    schema = stored_schema(lake, table)
    if schema is None:
        raise LakeError(f"there is no table {table} in the lake", code="lake.no-table", where=str(lake.data_root))
    writer = PartitionWriter(lake, table, partition, new_run_id(), schema)
    writer.recover()
    try:
        yield writer
    finally:
        writer.finish()


def erase(lake: Lake, table: str, partition: str, window: TimeRange, where: Predicate | None = None) -> int:
    """Take away the rows of a range, which stay away until it is overwritten.

    With a condition, those of them for which it holds: they stay away until it is lifted. With neither everything goes,
    and the ledger forgets that it was collected. Returns the table's version before.
    """
    with changing(lake, table, partition) as writer:
        before, known = writer.version, writer.ledger().notes
        if where is not None:
            notes = after_erasure(known, Erasure(where.sql, _until_now(lake, table, partition, window)))
            change = Change([], cut=window, where=where, kind=DELETE, notes=notes)
        elif window != TimeRange():
            stays_away = _closed(lake, table, partition, window)
            notes = {} if stays_away is None else after_delete(known, stays_away)
            change = Change([], cut=window, kind=DELETE, notes=notes)
        else:
            change = Change([], only=frozenset(), kind=RESET, notes=after_reset(known))
        writer.commit(change)
    return before


def lift(lake: Lake, table: str, partition: str, where: str) -> None:
    """Rows that were deleted by a condition may be stored again, when something brings them."""
    with changing(lake, table, partition) as writer:
        known = erased(writer.ledger().notes)
        if where not in {one.where for one in known}:
            told = "; ".join(one.where for one in known) or "there is none"
            message = f"no rows of {table}.{partition} were deleted by that condition"
            raise UsageError(message, code="usage.no-such-condition", hint=f"known: {told}")
        writer.commit(Change([], kind=LIFT, notes=after_lifting(writer.ledger().notes, where)))


def _until_now(lake: Lake, table: str, partition: str, window: TimeRange) -> TimeRange:
    """A range without an end goes up to now, and as far as there are rows: what is written later is wanted."""
    if window.end is not None:
        return window
    now = datetime.now(UTC).replace(tzinfo=None)
    newest = newest_rows(snapshot(lake, table)).get(partition)
    return TimeRange(window.start, now if newest is None else max(now, min(newest, datetime.max - _INSTANT) + _INSTANT))


def _closed(lake: Lake, table: str, partition: str, window: TimeRange) -> TimeRange | None:
    """A range without an end goes as far as there are rows, and not beyond now: what is written later is wanted."""
    if window.end is not None:
        return window
    newest = newest_rows(snapshot(lake, table)).get(partition)
    if newest is None or window.start is None or newest < window.start:
        return None
    now = datetime.now(UTC).replace(tzinfo=None)
    return window.overlap(TimeRange(None, min(newest, now - _INSTANT) + _INSTANT))


def restore(lake: Lake, table: str, partition: str, at: Moment) -> int:
    """Bring a partition back to a version of its table, or to a moment; returns that version."""
    root = lake.table_root(table)
    then = open_at(root, table, at)
    if then is None:
        assert isinstance(at, datetime)
        raise no_version_so_old(table, at)
    wanted = active_files(then, partition)
    notes = {RESTORED: str(decided_at(then, partition))}
    with changing(lake, table, partition) as writer:
        # A file that was only moved since is the same file: where a day rests is not what is to be undone.
        now = {_content(file): file.path for file in writer.active()}
        lost = [file for file in wanted if _content(file) not in now]
        told = _statistics(lake, table, then.version(), lost)
        back = [_data_file(root, file, told[file.path]) for file in lost]
        stays = frozenset(now[_content(file)] for file in wanted if _content(file) in now)
        writer.commit(Change([], brought_back=back, only=stays, kind=RESTORE, notes=notes))
    return then.version()


def _content(file: ActiveFile) -> tuple[str, int, int]:
    """What a file has in common with copies of it in other places."""
    return origin(file.path), file.size, file.rows


def _statistics(lake: Lake, table: str, version: int, files: Sequence[ActiveFile]) -> dict[str, str]:
    """What the log said of files then, by path: their footers know less, nothing of columns that they lack."""
    seen = snapshot_at(lake, table, version) if files else None
    if seen is None:
        return {}
    wanted = pa.array([file.path for file in files], pa.string())
    rows = seen.files.filter(pc.is_in(seen.files.column("path"), wanted)).to_pylist()
    return {row["path"]: stats_of(row) for row in rows}


def _data_file(root: Place, file: ActiveFile, stats: str) -> DataFile:
    try:
        root.size(file.path)
    except (FileNotFoundError, NotADirectoryError):
        raise not_mounted(root, [file.path]) or vacuumed(root.address(file.path)) from None
    with reading_file(root, file.path) as opened:
        stored, rows = opened.schema_arrow, opened.metadata.num_rows
    return DataFile(
        file.path,
        file.size,
        file.partition,
        file.index,
        file.day,
        rows,
        stats,
        schema_fingerprint(stored),
    )

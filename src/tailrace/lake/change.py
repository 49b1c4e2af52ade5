"""What a commit does to a partition, worked out from what is stored before anything is declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tailrace.core import TimeRange
from tailrace.core.ranges import Ranges
from tailrace.lake.deleted import deleted
from tailrace.lake.files import Balance, DataFile
from tailrace.lake.ledger import COMPACT, MOVE, Entry, Ledger
from tailrace.lake.place import Place
from tailrace.lake.predicate import Predicate
from tailrace.lake.removal import Cut, after_cut, limited, revived, taken_away, thinned
from tailrace.lake.rewrite import ActiveFile, Rewritten
from tailrace.lake.steps import reached
from tailrace.lake.unique import Key, Thinned, vanished_days, without_duplicates


@dataclass(frozen=True, slots=True)
class Change:
    """What one commit does to a partition."""

    entries: Sequence[Entry]
    files: Sequence[DataFile] = ()
    quarantine: Sequence[str] = ()
    "Names of quarantine files, which begin with `<run>-`."
    replace: Sequence[str] = ()
    "Keys of artifacts read again: their earlier rows go in the same commit."
    cut: TimeRange | None = None
    "Rows of this range that are stored so far go in the same commit, whatever artifact they are of."
    cut_of: str | None = None
    "The source to whose artifacts that is limited."
    where: Predicate | None = None
    "The condition that rows of the range have to fulfil to go."
    brought_back: Sequence[DataFile] = ()
    "Files of an earlier version that are to be seen again."
    merged: Sequence[ActiveFile] = ()
    "Files that go because `files` hold their rows, be it with another `tp_index` or newer values."
    only: frozenset[str] | None = None
    "Paths of the files that stay; the others go. None = all stay, but for what `replace` and `cut` say."
    lifted: Sequence[str] = ()
    "Names of quarantine files that hold no longer."
    kind: str = "collect"
    notes: Mapping[str, str] = field(default_factory=dict)
    key: Key | None = None
    "Of rows with the same key one is stored."
    notes_if_revived: Mapping[str, str] = field(default_factory=dict)
    "To be kept when artifacts have to be read again, because rows went of which they held duplicates."

    @property
    def takes_rows(self) -> bool:
        """Do rows go that are stored?"""
        return bool(self.replace) or self.cut is not None or self.only is not None

    @property
    def changes_rows(self) -> bool:
        """Does anybody who reads the table see other rows, or other values in them?"""
        return self.kind not in (COMPACT, MOVE)


@dataclass(frozen=True, slots=True)
class Committed:
    """What a change has become."""

    version: int
    "Of the Delta table."
    files: Sequence[DataFile]
    "Those of the change, without duplicates."
    duplicates: Mapping[str, int]
    "By artifact, where there were any."
    revived: int = 0
    "Artifacts that the next run has to read again."
    replaced: int = 0
    "Rows stored before that went with it."


@dataclass(frozen=True, slots=True)
class Effect:
    """A change with all that follows from it."""

    fresh: Sequence[DataFile]
    taken: Rewritten
    entries: Sequence[Entry]
    notes: dict[str, str]
    duplicates: Mapping[str, int] = field(default_factory=dict)
    revived: int = 0
    balance: Balance = field(default_factory=Balance)


def effect_of(change: Change, root: Place, active: Sequence[ActiveFile], ledger: Ledger, label: str) -> Effect:
    """Writes files anew where rows have to go; their names begin with `label`."""
    cut = None
    if change.cut is not None:
        limit = None if change.cut_of is None else limited(ledger, change.cut_of, change.entries)
        cut = Cut(change.cut, limit, change.where)
    taken = _taken(change, root, active, ledger, cut, label)
    fresh = _thinned(change, root, active, taken, label)
    entries, duplicates = thinned(change.entries, fresh.dropped) if fresh.dropped else (list(change.entries), {})
    again = _revived(change, root, ledger, taken, fresh)
    if cut is not None:
        absent = deleted({**ledger.notes, **change.notes})
        entries = _after_cut(change, ledger, taken, cut, entries, absent)
    notes = {**change.notes, **(change.notes_if_revived if again else {})}
    balance = _balance(change, taken, fresh)
    return Effect(fresh.files, taken, [*entries, *again], notes, duplicates, len(again), balance)


def _balance(change: Change, taken: Rewritten, fresh: Thinned) -> Balance:
    if change.merged:
        more = sum(file.rows for file in fresh.files) - sum(file.rows for file in change.merged)
        return Balance(max(more, 0), max(-more, 0))
    if change.only is None:
        return Balance(sum(file.rows for file in fresh.files), taken.gone.total())
    # Files that come back and files that go hold many of the same rows: what is certain is the difference.
    more = sum(file.rows for file in change.brought_back) - sum(file.rows for file in taken.removed)
    return Balance(max(more, 0), max(-more, 0))


def _taken(
    change: Change, root: Place, active: Sequence[ActiveFile], ledger: Ledger, cut: Cut | None, label: str
) -> Rewritten:
    if change.merged:
        return Rewritten([*change.merged])
    if change.only is not None:
        return Rewritten([file for file in active if file.path not in change.only])
    if not change.replace and cut is None:
        return Rewritten()
    return taken_away(root, active, ledger, change.replace, cut, label)


def _thinned(change: Change, root: Place, active: Sequence[ActiveFile], taken: Rewritten, label: str) -> Thinned:
    """The new files without what is stored already, or twice in them."""
    if change.key is None or not change.files:
        return Thinned(list(change.files))
    gone = {file.path for file in taken.removed}
    stored: list[ActiveFile | DataFile] = [file for file in active if file.path not in gone]
    stored += taken.added
    found = without_duplicates(root, change.files, stored, change.key, label)
    reached("duplicates-dropped")
    return found


def _after_cut(
    change: Change, ledger: Ledger, taken: Rewritten, cut: Cut, entries: Sequence[Entry], absent: Ranges
) -> list[Entry]:
    """With what it means for other artifacts that rows go."""
    replaced = set(change.replace)
    others = [entry for entry in entries if entry.key not in replaced]
    whole = [entry for entry in entries if entry.key in replaced]
    kept = [e for e in after_cut(ledger, taken, cut, others, absent) if e.key not in replaced]
    return [*kept, *whole]


def _revived(change: Change, root: Place, ledger: Ledger, taken: Rewritten, fresh: Thinned) -> list[Entry]:
    """Artifacts whose rows lost to rows that go now, and that nothing in this change brings back."""
    if change.key is None or not taken.removed or not ledger.left_out().num_rows:
        return []
    readable = [file for file in taken.removed if file not in taken.unread]
    days = vanished_days(root, readable, [*taken.added, *fresh.files], change.key)
    days += [file.day for file in taken.unread]
    return revived(ledger, change.key, days, (entry.key for entry in change.entries))

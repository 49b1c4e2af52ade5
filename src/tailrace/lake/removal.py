"""What a change takes away: which files go or are written anew, and what the ledger says of artifacts then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, timedelta
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import LakeError, TimeRange
from tailrace.core.ranges import Ranges
from tailrace.lake.ledger import Entry, Ledger, keys, prefixes
from tailrace.lake.place import Place
from tailrace.lake.predicate import Predicate
from tailrace.lake.rewrite import ActiveFile, Doomed, Rewritten, rewrite_without, rows_by_prefix
from tailrace.lake.unique import Key

_INSTANT = timedelta(microseconds=1)
_FIELDS = tuple(f.name for f in fields(Entry))


@dataclass(frozen=True, slots=True)
class Cut:
    """A range of time whose rows go, of all artifacts or of some."""

    window: TimeRange
    limit: pa.Table | None = None
    "Entries of those artifacts."
    where: Predicate | None = None
    "Only rows for which this holds."


def limited(ledger: Ledger, source: str, read_again: Iterable[Entry]) -> pa.Table:
    """Entries of a source's artifacts, as it was called when they were collected or is called now."""
    theirs = keys(ledger.entries.filter(pc.equal(ledger.entries.column("source"), source))).to_pylist()
    return ledger.of({*theirs, *(entry.key for entry in read_again)})


def taken_away(
    root: Place, files: Sequence[ActiveFile], ledger: Ledger, replaced: Sequence[str], cut: Cut | None, label: str
) -> Rewritten:
    """Without the rows of artifacts read again, and without those of a range of time."""
    earlier = ledger.of(replaced)
    days: set[date] = set(chain.from_iterable(earlier.column("dates").to_pylist()))
    candidates = [file for file in files if file.day in days or (cut is not None and cut.window.touches(file.day))]
    if not candidates:
        return Rewritten()
    limit = None if cut is None or cut.limit is None else prefixes(cut.limit)
    window, where = (None, None) if cut is None else (cut.window, cut.where)
    doomed = Doomed(prefixes(earlier), window, limit, where)
    taken = rewrite_without(root, candidates, doomed, label)
    if taken.unread:
        rest = set(files).difference(candidates)
        _infer_gone(root, rest, ledger, taken)
    return taken


def _infer_gone(root: Place, rest: Iterable[ActiveFile], ledger: Ledger, taken: Rewritten) -> None:
    """How many rows of which artifact the unread files held: those that the ledger knows of, and no other file has."""
    unread = {file.day for file in taken.unread}
    found = map(_entry, ledger.of_days(min(unread), max(unread)).select(_FIELDS).to_pylist())
    concerned = [entry for entry in found if unread.intersection(entry.dates)]
    days = {day for entry in concerned for day in entry.dates}
    left: Counter[str] = Counter()
    try:
        for file in rest:
            if file.day in days:
                left.update(rows_by_prefix(root, file.path))
    except LakeError:
        return  # another damaged file: whoever takes that away counts again
    for (head, _), rows in taken.kept.items():
        left[head] += rows
    for entry in concerned:
        heads = heads_of(entry)
        taken.gone[heads[0]] += max(entry.rows - sum(taken.gone[head] + left[head] for head in heads), 0)


def heads_of(entry: Entry) -> list[str]:
    """What the ids of its rows begin with."""
    return prefixes(pa.table({"uri": [entry.uri], "identity": [entry.key], "members": [list(entry.members)]}))


def after_cut(ledger: Ledger, taken: Rewritten, cut: Cut, read_again: Iterable[Entry], absent: Ranges) -> list[Entry]:
    """The entries of all artifacts that lost rows of the range; those read again keep what lies outside it.

    Days of rows that are `absent` since they were deleted stay among `dates`: who overwrites them has to find them.
    """
    again = {entry.key: entry for entry in read_again}
    window = cut.window
    last = None if window.end is None else (window.end - _INSTANT).date()
    touched = set(keys(ledger.of_days(window.start.date() if window.start else None, last)).to_pylist())
    if cut.limit is not None:
        touched &= set(keys(cut.limit).to_pylist())
    entries = []
    for before in entries_of(ledger, {*touched, *again}):
        heads = heads_of(before)
        lost = sum(taken.gone[head] for head in heads)
        missing = {day for day in before.dates if any(gone.touches(day) for gone in absent)}
        # Whoever lifts a condition, and overwrites, has to find them as well.
        stay = before.dates if cut.where is not None else (d for d in before.dates if _stays(d, window, heads, taken))
        dates = missing.union(stay)
        new = again.pop(before.key, None)
        if new is None and not lost and dates == set(before.dates):
            continue
        if new is None:
            entries.append(replace(before, rows=before.rows - lost, dates=tuple(sorted(dates))))
        else:
            dates.update(new.dates)
            rows = before.rows - lost + new.rows
            duplicates = max(before.duplicates, new.duplicates)
            merged = replace(new, rows=rows, duplicates=duplicates, dates=tuple(sorted(dates)))
            entries.append(_since_then(before, merged))
    return [*entries, *again.values()]


def revived(ledger: Ledger, key: Key, days: Iterable[date], besides: Iterable[str]) -> list[Entry]:
    """Artifacts that had rows left out which may be the only ones of their key now: as if they had changed."""
    near = key.reach(days)
    found = map(_entry, ledger.left_out().select(_FIELDS).to_pylist())
    others = set(besides)
    # Without an offset: a file that may grow is not read on, but from its beginning.
    return [replace(e, version="", offset=None) for e in found if e.key not in others and near.intersection(e.dates)]


def thinned(entries: Iterable[Entry], dropped: Counter[str]) -> tuple[list[Entry], dict[str, int]]:
    """Entries without the rows that were duplicates, and how many those are by key."""
    found, left_out = [], {}
    for entry in entries:
        heads = heads_of(entry)
        number = sum(dropped[head] for head in heads)
        if number:
            left_out[entry.key] = number
            entry = replace(entry, rows=entry.rows - number, duplicates=entry.duplicates + number)
        found.append(entry)
    return found, left_out


def _stays(day: date, cut: TimeRange, heads: Sequence[str], taken: Rewritten) -> bool:
    return not cut.touches(day) or any(taken.kept[head, day] for head in heads)


def _since_then(before: Entry, new: Entry) -> Entry:
    """The range that was asked for, then and now."""
    starts = [time for time in (before.taken_from, new.taken_from) if time is not None]
    ends = [time for time in (before.taken_to, new.taken_to) if time is not None]
    return replace(
        new,
        taken_from=min(starts) if len(starts) == len((before, new)) else None,
        taken_to=max(ends) if len(ends) == len((before, new)) else None,
    )


def entries_of(ledger: Ledger, wanted: Iterable[str]) -> Iterator[Entry]:
    """What the ledger knows of the artifacts with those keys, to be written anew."""
    return map(_entry, ledger.of(wanted).select(_FIELDS).to_pylist())


def _entry(row: dict[str, object]) -> Entry:
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    given |= {name: () for name in ("dates", "members") if given[name] is None}
    given["duplicates"] = given["duplicates"] or 0
    return Entry(**given)  # type: ignore[arg-type]

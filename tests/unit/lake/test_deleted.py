"""What was deleted, what was overwritten since, of all sources and of one."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tailrace.core import TimeRange
from tailrace.lake import segments
from tailrace.lake.deleted import after_delete, after_overwrite, deleted
from tailrace.lake.ledger import RESET, RESTORE, RESTORED, Ledger, Segment
from tailrace.lake.place import LocalPlace

START = datetime(2024, 3, 1)
HOURS = 12
SOURCES = ("a", "b")


def hours(first: int, last: int) -> TimeRange:
    return TimeRange(START + timedelta(hours=first), START + timedelta(hours=last))


def held(notes: dict[str, str], source: str) -> set[int]:
    """Hours of a source that are not deleted."""
    ranges = deleted(notes, source)
    return {n for n in range(HOURS) if not any(r.overlap(hours(n, n + 1)) for r in ranges)}


spans = st.tuples(st.integers(0, HOURS - 1), st.integers(1, HOURS)).map(lambda s: (s[0], s[0] + s[1]))
changes = st.tuples(st.sampled_from(["delete", "overwrite", *SOURCES]), spans)


@given(st.lists(changes, max_size=12))
def test_each_source_holds_what_was_not_deleted_or_was_overwritten_since(
    made: list[tuple[str, tuple[int, int]]],
) -> None:
    notes: dict[str, str] = {}
    meant = {source: set(range(HOURS)) for source in SOURCES}
    for what, span in made:
        window, some = hours(*span), set(range(*span)) & set(range(HOURS))
        if what == "delete":
            notes |= after_delete(notes, window)
            meant = {source: left - some for source, left in meant.items()}
        else:
            alone = None if what == "overwrite" else what
            notes |= after_overwrite(notes, window, alone)
            meant = {s: left | some if alone in (None, s) else left for s, left in meant.items()}
        assert {source: held(notes, source) for source in SOURCES} == meant
    anywhere = {n for n in range(HOURS) if any(r.overlap(hours(n, n + 1)) for r in deleted(notes))}
    assert all(anywhere >= set(range(HOURS)) - left for left in meant.values())


def test_it_is_folded_forgotten_and_restored_with_the_ledger(tmp_path: Path) -> None:
    place = LocalPlace(str(tmp_path))
    first = after_delete({}, hours(1, 3))
    second = after_delete(first, hours(3, 5))
    notes = ({}, first, second, {}, {}, {RESTORED: "3"})
    kinds = ("collect", "delete", "delete", "collect", RESET, RESTORE)
    for number, (kind, told) in enumerate(zip(kinds, notes, strict=True), 1):
        segment = Segment(number, "run", kind, notes=told)
        place.put(segments.segment_name(number), segments.segment_bytes(segment), "run")
    for upto, meant in ((1, ()), (2, (hours(1, 3),)), (4, (hours(1, 5),)), (5, ()), (6, (hours(1, 5),))):
        ledger = segments.load_ledger(place, upto, True)
        assert deleted(ledger.notes) == meant
        segments.write_fold(place, ledger, "run")
        assert deleted(segments.load_ledger(place, upto, True).notes) == meant
    assert deleted(Ledger().notes) == ()

"""Which quarantined records are meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import TimeRange
from tailrace.lake.identity import ALPHABET, ID_LENGTH, PREFIX_LENGTH
from tailrace.lake.quarantine import Mask, by_value, record_ids

_WILD = frozenset("*?[")
_LETTERS = frozenset(ALPHABET.decode())


@dataclass(frozen=True, slots=True)
class Sought:
    """Records that fit all that is said; without anything all do."""

    window: TimeRange = field(default_factory=TimeRange)
    "When they were quarantined."
    reasons: Sequence[str] = ()
    "Any of these: a part of the reason, or with wildcards all of it."
    artifacts: Sequence[str] = ()
    "Any of these: a part of the location or URI, or with wildcards all of it."
    ids: Sequence[str] = ()

    def mask(self, rows: pa.Table) -> Mask:
        """Per row of a quarantine file: is it meant?"""
        meant = np.ones(rows.num_rows, bool)
        if self.reasons:
            meant &= _fitting(rows, self.reasons, "reason")
        if self.artifacts:
            meant &= _fitting(rows, self.artifacts, "location", "uri")
        if self.ids:
            wanted = pa.array(list(self.ids), pa.string())
            meant &= pc.is_in(record_ids(rows), value_set=wanted).to_numpy(zero_copy_only=False)
        return meant & self._in_time(rows.column("ingested_at"))

    def _in_time(self, times: pa.ChunkedArray) -> Mask:
        inside = np.ones(len(times), bool)
        for bound, compare in ((self.window.start, pc.greater_equal), (self.window.end, pc.less)):
            if bound is not None:
                inside &= compare(times, pa.scalar(bound, times.type)).fill_null(False).to_numpy()
        return inside


def is_record_id(text: str) -> bool:
    """Does it look like the id of a record, or of an artifact as a whole?"""
    return len(text) in (ID_LENGTH, PREFIX_LENGTH) and _LETTERS.issuperset(text)


def _fitting(rows: pa.Table, patterns: Sequence[str], *columns: str) -> Mask:
    tests = [_test(pattern.lower()) for pattern in patterns]
    values, number = by_value(rows, *columns)
    fits = [any(test(text.lower()) for test in tests for text in texts if text) for texts in values]
    return np.array(fits, bool)[number]


def _test(pattern: str) -> Callable[[str], bool]:
    if _WILD.isdisjoint(pattern):
        return lambda text: pattern in text
    return lambda text: fnmatchcase(text, pattern)

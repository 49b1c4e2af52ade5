"""Where ids are among others: windows ask this for every attribute."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
NOWHERE = -1
_SPARSE, _FEW = 4, 1_024
"A table of all ids between the least and the greatest may have so many times more places than there are ids."


def places(wanted: Ids, known: Ids) -> Ids:
    """The place of each wanted id among the known ones, of equal ones the first; -1 where it is not among them."""
    if not len(known) or not len(wanted):
        return np.full(len(wanted), NOWHERE, np.int64)
    low, high = int(known.min()), int(known.max())
    if high - low > _SPARSE * len(known) + _FEW:
        return _by_order(wanted, known)
    if high - low == len(known) - 1 and known[0] == low and (known[1:] > known[:-1]).all():
        # Every id between the two, in order: an id is its place.
        return np.where((wanted >= low) & (wanted <= high), wanted - low, NOWHERE)
    # Ids of a writer count up: to look one up is to count, too.
    table = np.full(high - low + 1, NOWHERE, np.int64)
    table[(known - low)[::-1]] = np.arange(len(known))[::-1]
    inside = (wanted >= low) & (wanted <= high)
    if inside.all():
        found: Ids = table[wanted - low]
        return found
    return np.where(inside, table[np.where(inside, wanted - low, 0)], NOWHERE)


def distinct(ids: Ids) -> Ids:
    """Those that are not negative, in order, each once."""
    if not len(ids) or (high := int(ids.max())) < 0:
        return np.zeros(0, np.int64)
    if high > _SPARSE * len(ids) + _FEW:
        return np.unique(ids[ids >= 0])
    there = np.zeros(high + 2, bool)
    there[np.maximum(ids, NOWHERE)] = True
    return np.flatnonzero(there[: high + 1])


def _by_order(wanted: Ids, known: Ids) -> Ids:
    order = np.argsort(known, kind="stable")
    ordered = known[order]
    found = np.searchsorted(ordered, wanted)
    inside = found < len(ordered)
    inside[inside] = ordered[found[inside]] == wanted[inside]
    result = np.full(len(wanted), NOWHERE, np.int64)
    result[inside] = order[found[inside]]
    return result

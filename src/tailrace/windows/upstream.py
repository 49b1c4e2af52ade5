"""Files of OpenTelemetry's own exporter: which resource and scope a log has, where the files do not say it.

The exporter adds a batch's offset to the ids of logs and to every `parent_id`, but not to `resource.id` and `scope.id`,
which count from zero in every batch. Where a batch begins has to be found again. Rows of a file are in the order of
writing, and no batch is split between files. A batch begins where either id goes down. It may also begin where both
stay zero: then all batches before it, up to where an id went down, have one resource and one scope, and the offsets
of all of them are parents of attributes.

Logs without attributes have no id, so that offsets behind them cannot be known for certain. Their rows are told apart
as unresolved: no resource is better than another's.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.windows.batches import filled, struct_ids
from tailrace.windows.schema import LOGS, RESOURCE, SCOPE

Ids = npt.NDArray[np.int64]
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Resolved:
    """Logs whose ids of resource and scope are those of attributes, or null."""

    logs: pa.Table
    unresolved: int


class Resolver:
    """Goes through the files of one partition in the order in which they were written."""

    def __init__(self, resource_parents: pa.ChunkedArray, scope_parents: pa.ChunkedArray) -> None:
        self._resources = np.unique(filled(resource_parents))
        self._scopes = np.unique(filled(scope_parents))
        self._reach = UNKNOWN
        "Parents up to here may also be of batches whose offsets are not known."
        self._beyond = 0
        "How far behind their offsets the parents of such batches may lie; they begin before the next id."

    def resolve(self, logs: pa.Table) -> Resolved:
        """The next file."""
        ids, resources, scopes = filled(logs["id"]), struct_ids(logs, "resource"), struct_ids(logs, "scope")
        offsets = self._offsets(ids, resources, scopes)
        known = offsets != UNKNOWN
        columns = {name: logs[name] for name in LOGS.names}
        for name, kind, local in (("resource", RESOURCE, resources), ("scope", SCOPE, scopes)):
            array = columns[name].combine_chunks()
            whole = pa.array(offsets + local, mask=~known | (local < 0)).cast(pa.uint32())
            parts = [whole, *(pc.struct_field(array, [n]) for n in range(1, kind.num_fields))]
            columns[name] = pa.StructArray.from_arrays(parts, fields=list(kind))
        table = pa.table([columns[name] for name in LOGS.names], schema=LOGS)
        return Resolved(table, int((~known).sum()))

    def _offsets(self, ids: Ids, resources: Ids, scopes: Ids) -> Ids:
        """The offset of every row's batch."""
        offsets = np.full(len(ids), UNKNOWN)
        down = np.flatnonzero((np.diff(resources) < 0) | (np.diff(scopes) < 0)) + 1
        bounds = [0, *down.tolist(), len(ids)] if len(ids) else []
        for start, end in pairwise(bounds):
            run = slice(start, end)
            offsets[run] = self._run(ids[run], resources[run], scopes[run])
        return offsets

    def _run(self, ids: Ids, resources: Ids, scopes: Ids) -> Ids:
        """Offsets of rows in which neither id goes down: batches of one resource and scope, then one of any number."""
        nothing = np.full(len(ids), UNKNOWN)
        highest = max(int(resources[-1]), int(scopes[-1]))
        if (ids < 0).any() or resources[0] != 0 or scopes[0] != 0:
            self._beyond = max(self._beyond, highest)
            return nothing
        self._reach = max(self._reach, int(ids[0]) - 1 + self._beyond)
        self._beyond = 0
        last = self._last_batch(ids, resources, scopes)
        if last is None:
            self._beyond = highest
        if last is None or int(ids[0]) <= self._reach:
            return nothing
        # Those before it are told by their parents; each has one, and the first of its ids is that.
        begins = np.isin(ids, self._parents()) & (ids < last)
        begins[0] = True
        begins |= ids == last
        firsts = np.maximum.accumulate(np.where(begins, np.arange(len(ids)), 0))
        return ids[firsts]

    def _parents(self) -> Ids:
        return self._resources if len(self._resources) else self._scopes

    def _last_batch(self, ids: Ids, resources: Ids, scopes: Ids) -> int | None:
        """Where the last batch begins: its last resource is the last parent of the run."""
        local = resources if len(self._resources) else scopes
        parents = self._parents()
        inside = parents[(parents >= ids[0]) & (parents <= ids[-1])]
        if not len(inside):
            return int(ids[0]) if not len(parents) else None
        first = int(inside[-1]) - int(local[-1])
        rows = np.flatnonzero(ids == first)
        several = (resources > 0) | (scopes > 0)
        fits = len(rows) == 1 and not several[: rows[0] + 1].any() and np.isin(ids[0], inside)
        return first if fits and np.isin(first + np.unique(local), inside).all() else None

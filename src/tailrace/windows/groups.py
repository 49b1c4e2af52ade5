"""A batch as OTLP nests it: which rows are a scope's, which scopes a resource's, which attributes whose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.windows.batches import filled, struct_ids
from tailrace.windows.schema import Tables

Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Groups:
    """Offsets lead from the outer to the inner; rows of logs tell what a group says of itself."""

    scopes: Offsets
    "Rows of logs where scopes begin, and the end."
    resources: Offsets
    "Scopes where resources begin, and the end."
    log_attrs: Offsets
    scope_attrs: Offsets
    resource_attrs: Offsets

    @property
    def scope_rows(self) -> pa.Array:
        return pa.array(self.scopes[:-1])

    @property
    def resource_rows(self) -> pa.Array:
        return pa.array(self.scopes[self.resources[:-1]])


def groups(batch: Tables) -> Groups:
    """Groups of a batch whose ids are dense and whose rows are ordered by resource and scope."""
    logs = batch.logs
    of_resource = _changes([pc.struct_field(logs["resource"], n) for n in ("id", "schema_url")])
    of_resource |= _changes([pc.struct_field(logs["resource"], "dropped_attributes_count")])
    told = [pc.struct_field(logs["scope"], n) for n in ("id", "name", "version", "dropped_attributes_count")]
    of_scope = of_resource | _changes([*told, logs["schema_url"]])
    starts = np.flatnonzero(of_scope)
    first_scopes = np.flatnonzero(of_resource[starts])
    rows = starts[first_scopes]
    return Groups(
        scopes=np.append(starts, len(logs)),
        resources=np.append(first_scopes, len(starts)),
        log_attrs=_offsets(batch.log_attrs, filled(logs["id"])),
        scope_attrs=_offsets(batch.scope_attrs, struct_ids(logs, "scope")[starts]),
        resource_attrs=_offsets(batch.resource_attrs, struct_ids(logs, "resource")[rows]),
    )


def _changes(columns: list[pa.ChunkedArray]) -> npt.NDArray[np.bool_]:
    """Where a row says something else than the one before it."""
    changed = np.ones(len(columns[0]), bool)
    if len(changed):
        changed[1:] = False
    for column in columns:
        codes = column.combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        changed[1:] |= codes[1:] != codes[:-1]
    return changed


def _offsets(attributes: pa.Table, ids: Offsets) -> Offsets:
    """Where attributes of each parent begin; they are ordered like the parents, each of which is here once."""
    parents = filled(attributes["parent_id"])
    counts = np.bincount(parents, minlength=int(ids.max(initial=-1)) + 1) if len(parents) else np.zeros(0, np.int64)
    found = np.zeros(len(ids) + 1, np.int64)
    known = (ids >= 0) & (ids < len(counts))
    found[1:][known] = counts[ids[known]]
    offsets: Offsets = np.cumsum(found)
    if offsets[-1] != len(parents):
        raise AssertionError("attributes of a parent that is in two groups, or in none")
    return offsets

"""What became of the records of artifacts, as the ledger tells it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

FATES = ("rows", "quarantined", "filtered", "duplicates", "out_of_range", "deleted")
"Of every record that was received, one. `rows` are those that are stored."


def with_fates(entries: pa.Table) -> pa.Table:
    """Entries of which the fates of all records add up to those received.

    The ledger has what the last reading of an artifact counted, and the rows that are stored of it. Rows that this
    reading passed over, because another part of the artifact was asked for, may be stored since an earlier one; others
    were stored once and have been deleted since, or lie in a range that is kept out.
    """
    number = {
        name: entries.column(name).fill_null(0).to_numpy()
        for name in ("received", "rows", "quarantined", "filtered", "duplicates", "out_of_range")
    }
    left = number["received"] - number["rows"] - number["quarantined"] - number["filtered"]
    duplicates = np.clip(number["duplicates"], 0, np.maximum(left, 0))
    left = left - duplicates
    all_times = pc.and_(pc.is_null(entries.column("taken_from")), pc.is_null(entries.column("taken_to"))).to_numpy()
    passed_over = np.where(all_times, 0, np.clip(number["out_of_range"], 0, np.maximum(left, 0)))
    found = {"duplicates": duplicates, "out_of_range": passed_over, "deleted": np.maximum(left - passed_over, 0)}
    kept = entries.select(["source", "at", "uri", "received", "rows", "quarantined", "filtered"])
    for name, values in found.items():
        kept = kept.append_column(name, pa.array(values, pa.int64()))
    return kept

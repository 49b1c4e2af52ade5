"""What the log says of a file's columns, as a commit writes it: a file that is only moved keeps its statistics."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import msgspec

_KINDS = {"min.": "minValues", "max.": "maxValues", "null_count.": "nullCount"}


def stats_of(row: dict[str, Any]) -> str:
    """Of one row of `Snapshot.files`."""
    stats: dict[str, Any] = {"numRecords": row["rows"], **{kind: {} for kind in _KINDS.values()}}
    for name, value in row.items():
        start = next((start for start in _KINDS if name.startswith(start)), None)
        told = _told(value)
        if start is None or told is None:
            continue
        *outer, leaf = name.removeprefix(start).split(".")
        tree = stats[_KINDS[start]]
        for step in outer:
            tree = tree.setdefault(step, {})
        tree[leaf] = told
    return msgspec.json.encode(stats).decode()


def _told(value: Any) -> Any:
    match value:
        case datetime():
            return value.replace(tzinfo=None).isoformat(timespec="microseconds")
        case date():
            return value.isoformat()
        case Decimal():
            return msgspec.Raw(format(value, "f").encode())
        case float():
            return value if math.isfinite(value) else None
        case str() | int():
            return value
    return None

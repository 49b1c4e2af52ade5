"""Which tables there are. Nothing of them is read, and nothing is imported for it."""

from __future__ import annotations

from contextlib import suppress

from tailrace.lake.paths import Lake, decode_value
from tailrace.lake.place import Place

LOG = "_delta_log"


def tables(lake: Lake) -> list[str]:
    """Tables that exist in the workspace, with or without rows."""
    root = lake.data_root
    found: list[str] = []
    for name in root.folders():
        if not name.startswith("tp_table="):
            continue
        # A directory whose name Tailrace cannot have written holds no table of its own.
        with suppress(UnicodeDecodeError):
            table = decode_value(name.partition("=")[2])
            found += [table] if table and exists(root / name) else []
    return sorted(found)


def exists(root: Place) -> bool:
    """Has the table been created? One whose log may not be looked at has: whoever opens it is told."""
    try:
        return (root / LOG).holds(".json")
    except PermissionError:
        return True

"""Which tables there are. Nothing of them is read, and nothing is imported for it."""

from __future__ import annotations

import json
from contextlib import suppress

from tailrace.lake.paths import Lake, decode_value
from tailrace.lake.place import Place

LOG = "_delta_log"
MANY = 100_000
"Files of a table from which on its log is not unpacked as a whole to read it."


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


def large_checkpoint(root: Place) -> int | None:
    """The version of the last checkpoint of a table on disk, where it is one file that names very many."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        if root.is_local:
            last = json.loads((root / LOG).read("_last_checkpoint"))
            if last.get("numOfAddFiles", last["size"]) > MANY and not last.get("parts"):
                return int(last["version"])
    return None

"""Whose files lie in a tier: several lakes may have moved days of partitions of the same name there.

Each leaves a sign in the directory of the partition before its first file. Whoever finds no sign but its own knows that
every file there is its own, whether its log names it or not.
"""

from __future__ import annotations

import os
import secrets

from tailrace.lake.paths import Lake, Tier, partition_path, table_path
from tailrace.lake.place import Place
from tailrace.lake.stored import LOG
from tailrace.lake.table_place import TablePlace, is_elsewhere

_SIGN = ".tailrace-lake-"
"Engines pass over names that begin with a dot."
_ID = "lake-id"


def sign(lake: Lake, tier: Tier, table: str, partition: str) -> None:
    """From now on files of this lake may lie there."""
    place = tier.place / f"{table_path(table)}/{partition_path(partition)}"
    name = f"{_SIGN}{_identity(lake)}"
    if name not in place.names():
        place.put(name, b"", "sign")


def is_alone(lake: Lake, root: Place, directory: str) -> bool:
    """Are all files in a directory of a partition this lake's own? `root`: of its table, which names it so.

    In the workspace they are unless another lake has taken it for a tier: the lake itself signs tiers only. In a tier
    they are not if it is the workspace of another.
    """
    known = _known_identity(lake)
    place, inner = root.of(directory) if isinstance(root, TablePlace) else (root, directory)
    signs = {name for name in (place / inner).names() if name.startswith(_SIGN)}
    own = set() if known is None else {f"{_SIGN}{known}"}
    if not is_elsewhere(directory):
        return signs <= own
    table = inner.rpartition("/")[0]
    is_workspace = (place / f"{table}/{LOG}".lstrip("/")).exists()
    return known is not None and signs == own and not is_workspace


def _identity(lake: Lake) -> str:
    if (known := _known_identity(lake)) is not None:
        return known
    lake.meta_root.put_if_absent(_ID, secrets.token_hex(8).encode(), "lake")
    made = _known_identity(lake)
    assert made is not None
    return made


def _known_identity(lake: Lake) -> str | None:
    """None: it has never signed anything. A copy of a lake is another one: its file has another number."""
    place = lake.meta_root
    try:
        known = place.read(_ID).decode()
        return f"{known}-{os.stat(place.address(_ID)).st_ino}" if place.is_local else known
    except FileNotFoundError:
        return None

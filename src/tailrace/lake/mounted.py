"""Is a tier on disk there, or only the bare directory on which it would be mounted?

Whoever moves the first day there leaves a mark in the tier, and notes in the lake that it did. Where the lake knows of
the tier and the mark is missing, the disk is not mounted: days that were moved then would lie on another one, and be
gone from sight as soon as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain

from tailrace.core.errors import LakeError
from tailrace.lake.damage import not_mounted
from tailrace.lake.log import logged
from tailrace.lake.paths import Lake, Tier, encode_value, table_path
from tailrace.lake.snapshot import snapshot
from tailrace.lake.stored import tables
from tailrace.lake.table_place import is_elsewhere, link

MARK = ".tailrace-tier"
"Engines pass over names that begin so."
_NOTES = "tiers"
_CONTENT = b"Days of a Tailrace lake rest here. Without this file it takes the disk for not mounted.\n"


def require_mounted(lake: Lake, tier: Tier) -> None:
    """Refuses a tier that has been used and is not there."""
    if not tier.place.is_local or _is_marked(tier):
        return
    # Not every program copies a file whose name begins with a dot, and earlier versions left none; files are there.
    known = _resting(lake, tier)
    one = next(known, None)
    if one is None and not is_noted(lake, tier):
        return
    if one is None or not any(map(os.path.exists, chain([one], known))):
        raise LakeError(
            "the tier is not mounted: days rest there, and its directory does not have them",
            code="lake.tier-not-mounted",
            where=str(tier.place),
            hint=f"mount it; if it was emptied on purpose, `touch {tier.place.address(MARK)}`",
        )


def _resting(lake: Lake, tier: Tier) -> Iterator[str]:
    """Files in a tier, of all tables that are not damaged."""
    for table in tables(lake):
        with suppress(LakeError):
            seen = snapshot(lake, table)
            yield from (seen.root.address(path) for path in seen.files.column("path").to_pylist() if tier.holds(path))


def require_reachable(lake: Lake, table: str) -> None:
    """Refuses where files of a table may lie that cannot be seen now, those of earlier versions included."""
    seen = snapshot(lake, table)
    paths = {*seen.files.column("path").to_pylist(), *(path for each in logged(seen.root) for path, _ in each.removed)}
    moved = [path for path in paths if is_elsewhere(path)]
    seen.root.sizes(path for path in moved if not seen.root.has_near(path))  # raises where no tier is configured
    if (why := not_mounted(seen.root, moved)) is not None:
        raise why


def mark(lake: Lake, tier: Tier) -> None:
    """From now on it is known to be in use."""
    if not tier.place.is_local:
        return
    if not _is_marked(tier):
        tier.place.put(MARK, _CONTENT, "mark")
    if not is_noted(lake, tier):
        (lake.meta_root / _NOTES).put(_note(tier), tier.place.uri.encode(), "mark")


def relink(lake: Lake, table: str) -> None:
    """Makes the links again that a copy of the lake came without: not every program copies links."""
    home = lake.table_home(table)
    for tier in lake.tiers if home.is_local else ():
        directory = tier.place / table_path(table)
        if tier.place.is_local and directory.exists() and not os.path.lexists(home.address(tier.called(table))):
            link(home, tier.called(table), directory)


def is_noted(lake: Lake, tier: Tier) -> bool:
    """Has the lake ever moved days there?"""
    return _note(tier) in (lake.meta_root / _NOTES).names()


def _note(tier: Tier) -> str:
    return encode_value(tier.place.uri)


def _is_marked(tier: Tier) -> bool:
    return os.path.exists(tier.place.address(MARK))

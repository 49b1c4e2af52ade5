"""Directories in which no file is left: their names hold values of `tp_index` that may have to be gone as well."""

from __future__ import annotations

import os
from contextlib import suppress

from tailrace.lake.paths import Lake, partition_path
from tailrace.lake.place import Place
from tailrace.lake.table_place import links
from tailrace.lake.tier_owners import is_alone


def remove_emptied(lake: Lake, root: Place, partition: str) -> None:
    """Those of a partition, at home and in tiers on disk. The caller has made sure that nobody writes there.

    In a tier that another lake uses as well, nobody can be sure of that.
    """
    if not root.is_local:
        return
    below = partition_path(partition)
    for directory in (below, *(f"{link}/{below}" for link in links(root))):
        if is_alone(lake, root, directory):
            _remove_below(root.address(directory))


def _remove_below(directory: str) -> None:
    for inner, _, _ in os.walk(directory, topdown=False):
        if inner != directory:
            with suppress(OSError):  # something is in it
                os.rmdir(inner)

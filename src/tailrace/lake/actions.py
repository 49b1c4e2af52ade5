"""Files as a commit names them. deltalake is imported where it is needed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tailrace.lake.files import DataFile
from tailrace.lake.rewrite import ActiveFile

if TYPE_CHECKING:
    from deltalake.transaction import AddAction, RemoveAction


def add_action(file: DataFile, changes_rows: bool) -> AddAction:
    from deltalake.transaction import AddAction

    modified = file.modified or int(time.time() * 1000)
    return AddAction(file.path, file.size, file.partition_values, modified, changes_rows, file.stats)


def remove_action(file: ActiveFile, changes_rows: bool) -> RemoveAction:
    from deltalake.transaction import RemoveAction

    return RemoveAction(file.path, changes_rows, int(time.time() * 1000), file.size, {**file.partition_values})

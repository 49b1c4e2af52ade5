"""A writer that rotates its files while a reader looks at them."""

from __future__ import annotations

import threading
from pathlib import Path

from otaptables import simple, tables_of

from tailrace.lake.place import LocalPlace
from tailrace.windows.files import list_table
from tailrace.windows.schema import ATTRIBUTES
from tailrace.windows.writer import OtapWriter


def rotated(base: Path, rotations: int) -> int:
    """How often was looked: logs first, and no look finds one without its attributes."""
    tables = tables_of(simple("shop", ["a"]))
    ended = threading.Event()

    def rotate() -> None:
        with OtapWriter(LocalPlace(str(base)), rows_per_file=1) as writer:
            for _ in range(rotations):
                writer.write(tables)
        ended.set()

    writer = threading.Thread(target=rotate)
    writer.start()
    looks = 0
    while not ended.is_set():
        logs = sum(1 for _ in list_table(LocalPlace(str(base)), "logs"))
        for name in ATTRIBUTES:
            assert sum(1 for _ in list_table(LocalPlace(str(base)), name)) >= logs
        looks += 1
    writer.join()
    return looks

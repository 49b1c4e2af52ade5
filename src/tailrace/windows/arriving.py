"""OTLP requests as they arrive → one partition of OTAP tables, whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.formats.base import Bad
from tailrace.lake.place import LocalPlace
from tailrace.windows.files import directory
from tailrace.windows.ingest import read_stream
from tailrace.windows.schema import LARGEST_ID, TABLES
from tailrace.windows.writer import OtapWriter


@dataclass(slots=True)
class Arrived:
    """What came of requests: logs, and by the place of each request what in it is no log."""

    logs: int = 0
    bad: list[tuple[int, Bad]] = field(default_factory=list)


class _Request:
    truncated = False

    def __init__(self, body: bytes) -> None:
        self.body = body

    def __iter__(self) -> Iterator[bytes]:
        return iter((self.body,))


def write_partition(base: Path, part_id: str, compression: str, requests: Iterable[bytes]) -> Arrived:
    """All logs of all requests. The file of logs comes last, and once it is there the partition is done.

    Done again, it changes nothing; what an attempt that was interrupted left behind is cleared away first.
    """
    done = any((base / directory(TABLES[0], part_id)).glob("*.parquet"))
    if not done:
        for table in TABLES:
            shutil.rmtree(base / directory(table, part_id), ignore_errors=True)
    found = Arrived()
    writer = OtapWriter(LocalPlace(str(base)), rows_per_file=LARGEST_ID, part_id=part_id, compression=compression)
    with writer:
        for place, body in enumerate(requests):
            for read in read_stream(_Request(body)):
                found.logs += len(read.tables.logs)
                found.bad += [(place, bad) for bad in read.bad]
                if not done:
                    writer.write(read.tables)
    for name in TABLES:
        if (folder := base / directory(name, part_id)).is_dir():
            _sync(folder)
            _sync(folder.parent)
    return found


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""Which files a sink has, and which of them are past its retention."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime

from tailrace.streams.kinds import KINDS
from tailrace.streams.sink_files import FileKey
from tailrace.streams.sink_options import SinkOptions


def files(options: SinkOptions) -> Iterator[FileKey]:
    """Every file that lies where one of this sink lies."""
    if not options.path.is_dir():
        return
    hourly = options.rotation == "hourly"
    for workspace in sorted(options.path.iterdir()):
        if not workspace.name.isdigit() or not workspace.is_dir():
            continue
        for path in sorted(workspace.glob("*/*/*.parquet" if hourly else "*/*.parquet")):
            words = path.relative_to(workspace).parts[:-1]
            try:
                begin = datetime.strptime(" ".join(words), "%Y-%m-%d %H" if hourly else "%Y-%m-%d")
            except ValueError:
                continue
            if path.stem in KINDS:
                yield FileKey(int(workspace.name), int(begin.replace(tzinfo=UTC).timestamp()) * 1000, path.stem)


def expire(options: SinkOptions, now: int) -> list[FileKey]:
    """Deletes files whose period ended longer ago than the retention; which."""
    if options.retention is None:
        return []
    before = now - int(options.retention.total_seconds() * 1000) - options.period
    gone = [key for key in files(options) if key.period <= before]
    for path in (key.path(options) for key in gone):
        path.unlink(missing_ok=True)
        for directory in path.parents:
            if directory == options.path:
                break
            with contextlib.suppress(OSError):  # something else is in it
                directory.rmdir()
    return gone

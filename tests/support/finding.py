"""What a file source finds."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from tailrace.core import Artifact, TimeRange
from tailrace.sources import Found, Skipped, Unreadable, make_source

EVER = TimeRange()


def write(path: Path, content: bytes = b"x\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def found(*paths: object, window: TimeRange = EVER, **args: object) -> list[Found]:
    return list(make_source("file", {"paths": [str(p) for p in paths], **args}).discover(window))


def opened(artifact: Artifact) -> BinaryIO:
    return make_source("file", {"paths": "/"}).open(artifact)


def names(items: list[Found]) -> list[str]:
    return [Path(a.location).name for a in items if isinstance(a, Artifact)]


def unreadable(items: list[Found]) -> list[Unreadable]:
    return [item for item in items if isinstance(item, Unreadable)]


def skipped(items: list[Found]) -> dict[str, int]:
    return {item.reason: item.count for item in items if isinstance(item, Skipped)}

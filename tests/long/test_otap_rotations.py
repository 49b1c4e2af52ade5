"""A thousand rotations of a writer beside a reader; numbers are those of the list in docs/windows.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from otaprotations import rotated
from otaptables import told_by_tables

Record = Callable[[str, object], None]


def test_a11_whoever_sees_logs_sees_their_attributes(tmp_path: Path, record_property: Record) -> None:
    looks = rotated(tmp_path, rotations=1_000)
    assert looks > 10
    assert list(told_by_tables(tmp_path).values()) == [1_000]
    record_property("rotations", 1_000)
    record_property("looks meanwhile", looks)

"""A file of a gigabyte that got a megabyte more: only that is read, and a fingerprint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hugelog import lines
from lakecheck import check
from world import World

from tailrace.sources.file import _Bytes

Noted = Callable[[str, object], None]


def test_a_gigabyte_and_a_megabyte(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Noted
) -> None:
    counted: Counter[str] = Counter()
    real = _Bytes.read

    def read(self: _Bytes, size: int | None = -1, /) -> bytes:
        data = real(self, size)
        counted["bytes"] += len(data)
        return data

    monkeypatch.setattr(_Bytes, "read", read)
    block = lines(225_000)
    place = tmp_path / "logs" / "access.log"
    place.parent.mkdir()
    with place.open("wb") as file:
        while file.tell() < 1 << 30:
            file.write(block)
    report = world.collect_one("nginx_access_log", str(place.parent))
    assert report.clean
    first, rows = counted["bytes"], report.counts.stored
    more = block[: block.index(b"\n", 1 << 20) + 1]
    with place.open("ab") as file:
        file.write(more)
    counted.clear()
    report = world.collect_one("nginx_access_log", str(place.parent))
    assert report.clean
    assert report.counts.stored == more.count(b"\n")
    assert counted["bytes"] < len(more) + (1 << 20)
    assert world.query("select count(*) from nginx_access_log") == [(rows + more.count(b"\n"),)]
    check(world.home, "nginx_access_log", "p")
    record_property("bytes of the file", place.stat().st_size)
    record_property("bytes read first", first)
    record_property("bytes appended", len(more))
    record_property("bytes read then", counted["bytes"])
    record_property("milliseconds then", int(report.seconds * 1000))

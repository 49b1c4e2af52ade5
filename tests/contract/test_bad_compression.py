"""Compressed files and archives that are cut, corrupt or bombs: what can be read is stored, the rest is named."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable

import pytest
import zstandard
from inboxes import NGINX, Inbox, line, lines


def compressed(kind: str, data: bytes) -> bytes:
    ways: dict[str, Callable[[bytes], bytes]] = {
        "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress,
        "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
    }  # fmt: skip
    return ways[kind](data)


@pytest.mark.parametrize("kind", ["gz", "xz", "zst"])
def test_cut_off(kind: str, inbox: Inbox) -> None:
    """The whole lines before the cut are stored; the torn one is refused."""
    data = b"".join(line(os.urandom(64).hex()) for _ in range(3000))
    inbox.put(f"a.log.{kind}", compressed(kind, data)[:-30_000])
    report = inbox.collect()
    ((where, message, code),) = [(t.where, t.message, t.code) for t in report.troubles]
    assert where.endswith(f"a.log.{kind}")
    assert "ends too early" in message
    assert code == "data.partial-artifact"
    assert 0 < report.counts.stored < 3000
    assert report.counts.quarantined <= 1
    for reason, raw, _ in inbox.refused():
        assert reason == "line: truncated"
        assert raw in data


def test_a_whole_file_replaces_the_one_cut_off(inbox: Inbox) -> None:
    data = gzip.compress(b"".join(line(os.urandom(64).hex()) for _ in range(3000)))
    inbox.put("a.log.gz", data[:-30_000])
    assert inbox.collect().partial == 1
    inbox.put("a.log.gz", data)
    (report,) = inbox.world.collect()
    assert report.clean
    assert inbox.count() == 3003


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
@pytest.mark.parametrize("count", [50, 40_000])
def test_corrupt(kind: str, count: int, inbox: Inbox) -> None:
    """Nothing of it is stored, though most of its rows were read, and some written, before that was known."""
    if kind == "bz2" and count > 50:
        count = 20_000
    data = bytearray(compressed(kind, lines(count)))
    place = -6 if kind == "gz" else -30 if kind == "xz" else -2
    data[place] ^= 0xFF
    inbox.put(f"a.log.{kind}", bytes(data))
    inbox.put("b.log", lines(20_000))
    report = inbox.collect()
    (trouble,) = report.troubles
    assert trouble.where.endswith(f"a.log.{kind}")
    assert trouble.code == "data.failed-artifact"
    assert report.counts.stored == 20_000
    ((reason, raw, length),) = inbox.refused()
    assert reason.startswith("artifact: ")
    assert (raw, length) == (b"", len(data))
    assert (inbox.folder / f"a.log.{kind}").read_bytes() == data
    inbox.put(f"a.log.{kind}", compressed(kind, lines(count)))
    (report,) = inbox.world.collect()
    assert report.clean
    assert inbox.count() == 20_003 + count


def test_nothing_is_left_behind_by_a_corrupt_file(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailrace.pipeline.write.BUFFER_BYTES", 1 << 20)
    data = bytearray(gzip.compress(lines(60_000)))
    data[-6] ^= 0xFF
    inbox.put("a.log.gz", bytes(data))
    inbox.collect()
    root = inbox.world.lake.table_root(NGINX).path
    assert len(list(root.rglob("*.parquet"))) == 1


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
@pytest.mark.parametrize("other", [b"x", b"something else", bytes(5) + b"something else", b"<html>" * 100_000])
def test_other_bytes_after_the_end(kind: str, other: bytes, inbox: Inbox) -> None:
    """What checksums have proved is stored; the bytes behind it are kept, and told."""
    inbox.put(f"a.log.{kind}", compressed(kind, lines(5)) + compressed(kind, line("last").rstrip()) + other)
    report = inbox.collect()
    (trouble,) = report.troubles
    assert trouble.code == "data.partial-artifact"
    assert "other bytes" in trouble.message
    assert (report.partial, report.counts.stored, report.counts.quarantined) == (1, 6, 0)
    ((reason, raw, length),) = inbox.refused()
    left = other.lstrip(b"\0")
    assert reason.startswith("artifact: ")
    assert (raw, length) == (left[:65_536], len(left))


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_a_broken_member_after_a_good_one(kind: str, inbox: Inbox) -> None:
    broken = bytearray(compressed(kind, lines(5)))
    broken[-6 if kind == "gz" else -30 if kind == "xz" else -2] ^= 0xFF
    inbox.put(f"a.log.{kind}", compressed(kind, lines(5)) + bytes(broken))
    report = inbox.collect()
    assert (report.failed, report.counts.stored) == (1, 0)


@pytest.mark.parametrize("count", [5, 40_000])
def test_zip_with_a_broken_member(count: int, inbox: Inbox) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("first.log", lines(count))
        archive.writestr("broken.log", lines(count))
        archive.writestr("last.log", lines(count))
        offset = archive.getinfo("broken.log").header_offset
    data = bytearray(held.getvalue())
    data[offset + 80] ^= 0xFF
    inbox.put("a.zip", bytes(data))
    report = inbox.collect()
    (trouble,) = report.troubles
    assert trouble.where.endswith("a.zip")
    assert trouble.code == "data.partial-artifact"
    assert "member broken.log" in trouble.message
    assert report.counts.stored == 2 * count
    assert inbox.count("tp_source_location like '%a.zip!broken.log'") == 0
    assert inbox.world.query("select member from tp_quarantine") == [("broken.log",)]


def test_tar_cut_off(inbox: Inbox) -> None:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        for name in ("first.log", "second.log"):
            member = tarfile.TarInfo(name)
            data = b"".join(line(os.urandom(16).hex()) for _ in range(1000))
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    inbox.put("a.tar.gz", held.getvalue()[:-5000])
    report = inbox.collect()
    assert report.partial == 1
    assert 1000 <= report.counts.stored < 2000


def test_tar_with_a_wrong_checksum(inbox: Inbox) -> None:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        member = tarfile.TarInfo("first.log")
        member.size = len(lines(100))
        archive.addfile(member, io.BytesIO(lines(100)))
    data = bytearray(held.getvalue())
    data[-6] ^= 0xFF
    inbox.put("a.tar.gz", bytes(data))
    report = inbox.collect()
    assert (report.failed, report.counts.stored) == (1, 0)


def test_bomb(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailrace.formats.compression._BOMB_SIZE", 1 << 20)
    inbox.put("a.log.gz", gzip.compress(b"\n" * (8 << 20)))
    report = inbox.collect()
    assert report.failed == 1
    assert "bomb" in report.troubles[0].message

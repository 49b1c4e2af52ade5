"""Archives that unpack to far more than anybody stored: refused as a whole, soon, in bounded memory and space."""

from __future__ import annotations

import gzip
import io
import resource
import tempfile
import time
import zipfile

import pytest
import zstandard
from inboxes import Inbox, lines

MEGABYTE = 1 << 20
SECONDS = 15


def zipped(members: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return held.getvalue()


def zips_in_zips(depth: int, each: int, leaf: bytes) -> bytes:
    inner = leaf
    for level in range(depth):
        inner = zipped({f"{level}-{n}.{'zip' if level else 'log'}": inner for n in range(each)})
    return inner


def gzips_in_gzips(depth: int, data: bytes) -> bytes:
    for _ in range(depth):
        data = gzip.compress(data, mtime=0)
    return data


BOMBS = {
    "zeros.log.gz": lambda: gzip.compress(b"\0" * (32 * MEGABYTE)),
    "empty lines.log.gz": lambda: gzip.compress(b"\n" * (32 * MEGABYTE)),
    "the same line.log.zst": lambda: zstandard.ZstdCompressor().compress(lines(1) * 400_000),
    "twice.log.gz": lambda: gzips_in_gzips(2, b"\0" * (64 * MEGABYTE)),
    "zips in zips.zip": lambda: zips_in_zips(4, 8, b"\0" * (8 * MEGABYTE)),
    "many members.zip": lambda: zipped({f"{n}.log": b"\n" * MEGABYTE for n in range(60)}),
    "gz in zip.zip": lambda: zipped({"a.gz": gzip.compress(b"\0" * (32 * MEGABYTE))}),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_as_a_whole(name: str, inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailrace.formats.compression._BOMB_SIZE", 16 * MEGABYTE)
    data = BOMBS[name]()
    assert len(data) < MEGABYTE
    inbox.put(name, data)
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    report = inbox.collect()
    assert time.monotonic() - began < SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024
    (trouble,) = report.troubles
    assert trouble.code == "data.failed-artifact"
    assert "bomb: more than 500 bytes for each byte stored" in trouble.message
    assert (report.failed, report.counts.stored) == (1, 0)
    assert [reason for reason, _, _ in inbox.refused() if reason.startswith("artifact: bomb")]
    assert inbox.collect().failed == 1


def test_layers_without_end_are_refused(inbox: Inbox) -> None:
    inbox.put("deep.log.gz", gzips_in_gzips(20, lines(5)))
    report = inbox.collect()
    assert "more than 6 layers of compression" in report.troubles[0].message
    assert (report.failed, report.counts.stored) == (1, 0)


def test_what_compresses_well_is_no_bomb(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailrace.formats.compression._BOMB_SIZE", MEGABYTE)
    inbox.put("a.log.gz", gzip.compress(lines(100_000)))
    inbox.put("b.zip", zipped({"x.log": lines(20_000), "y.log": lines(20_000)}))
    report = inbox.collect()
    assert report.clean
    assert report.counts.stored == 140_000


def test_a_zip_within_takes_space_in_proportion(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zip files cannot be read from a stream: those inside of others are put aside, and that counts too."""
    monkeypatch.setattr("tailrace.formats.compression._BOMB_SIZE", 4 * MEGABYTE)
    written: list[int] = []
    made = tempfile.TemporaryFile

    def counted(*args: object, **more: object) -> object:
        file = made()
        write, number = file.write, len(written)
        written.append(0)

        class Counted:
            def __getattr__(self, name: str) -> object:
                return getattr(file, name)

            def __enter__(self) -> Counted:
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def write(self, data: bytes) -> int:
                written[number] += len(data)
                return write(data)

        return Counted()

    monkeypatch.setattr(tempfile, "TemporaryFile", counted)
    padded = zipped({"a.log": lines(3)}) + b"\0" * (32 * MEGABYTE)
    data = zipped({"inner.zip": padded})
    inbox.put("a.zip", data)
    assert inbox.collect().failed == 1
    assert 0 < max(written) <= 500 * len(data) + 4 * MEGABYTE

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.formats import compression
from tailrace.formats.base import CorruptStream
from tailrace.formats.feed import BLOCK
from tailrace.formats.stream import open_streams

DATA = Path(os.environ.get("TAILRACE_TEST_DATA", Path(__file__).parents[3].parent / "shared" / "data"))
TEXT = b"".join(b"line %d of some log %d\n" % (i, i * 7919) for i in range(20_000))
CODECS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


class Dribble(io.RawIOBase):
    """A file that cannot seek and gives as many bytes at a time as it likes."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._data, self._sizes, self._at, self._turn = data, sizes, 0, 0

    def read(self, size: int | None = -1, /) -> bytes:
        step = self._sizes[self._turn % len(self._sizes)]
        self._turn += 1
        block = self._data[self._at : self._at + min(step, size or step)]
        self._at += len(block)
        return block


def read(data: bytes, name: str = "x", sizes: list[int] | None = None) -> tuple[dict[str | None, bytes], bool]:
    raw = Dribble(data, sizes) if sizes else io.BytesIO(data)
    streams = open_streams(cast(BinaryIO, raw), name)
    found = {}
    for member, stream in streams:
        blocks = list(stream)
        assert all(0 < len(block) <= BLOCK for block in blocks)
        found[member] = b"".join(blocks)
        assert streams.truncated is False
    return found, streams.truncated


def one(data: bytes, name: str = "x", sizes: list[int] | None = None) -> tuple[bytes, bool]:
    found, truncated = read(data, name, sizes)
    assert list(found) == [None]
    return found[None], truncated


@pytest.mark.parametrize("codec", CODECS)
def test_compression_is_known_by_content(codec: str) -> None:
    packed = CODECS[codec](TEXT)
    assert one(packed, "without-suffix") == (TEXT, False)
    assert one(packed + packed, f"x.{codec}") == (TEXT + TEXT, False)
    assert one(packed + b"\0" * 1000, f"x.{codec}") == (TEXT, False)
    assert one(TEXT, f"x.{codec}") == (TEXT, False)
    assert one(CODECS[codec](b""), "empty") == (b"", False)
    with pytest.raises(CorruptStream):
        one(packed + b"garbage that is long enough")


@settings(max_examples=30, deadline=None)
@given(
    codec=st.sampled_from(sorted(CODECS)),
    parts=st.lists(st.binary(max_size=3000), min_size=1, max_size=4),
    sizes=st.lists(st.integers(1, 5000), min_size=1, max_size=4),
    cut=st.integers(1, 10**6),
)
def test_any_split_and_any_cut(codec: str, parts: list[bytes], sizes: list[int], cut: int) -> None:
    members = [CODECS[codec](b"line\n" + part) for part in parts]
    text = b"".join(b"line\n" + part for part in parts)
    packed = b"".join(members)
    assert one(packed, f"x.{codec}", sizes) == (text, False)

    at = cut % len(packed) or 1
    kept, truncated = one(packed[:at], f"x.{codec}", sizes)
    assert text.startswith(kept)
    ends = {sum(map(len, members[:i])) for i in range(len(members) + 1)}
    assert truncated == (at not in ends)
    complete = next(i for i in range(len(members), -1, -1) if sum(map(len, members[:i])) <= at)
    assert len(kept) >= sum(len(part) + 5 for part in parts[:complete])


REFERENCES: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: zlib.decompressobj(31).decompress(data),
    "zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
    "bz2": lambda data: bz2.BZ2Decompressor().decompress(data),
}


@pytest.mark.parametrize("codec", REFERENCES)
def test_a_cut_stream_keeps_what_came_before(codec: str) -> None:
    text = b"".join(b"line %d\n" % (i * 2654435761 % 2**32) for i in range(200_000))
    packed = CODECS[codec](text)
    for part in (0.3, 0.8, 0.999):
        cut = packed[: int(part * len(packed))]
        kept, truncated = one(cut)
        assert truncated
        assert text.startswith(kept)
        # Decoders differ by the last symbol, which may stand for up to 258 bytes.
        assert len(REFERENCES[codec](cut)) - len(kept) <= (258 if codec == "gz" else 0)
        assert len(kept) > (part - 0.3) * len(text)


@pytest.mark.parametrize("codec", CODECS)
def test_damage_is_noticed(codec: str) -> None:
    packed = bytearray(CODECS[codec](TEXT))
    packed[-6 if codec == "gz" else len(packed) // 2] ^= 0x55
    with pytest.raises(CorruptStream, match=r"^(gzip|zstd|bz2|xz): "):
        one(bytes(packed))


def test_zstd_frames_of_every_kind() -> None:
    skippable = b"\x53\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"abcde"
    plain = zstandard.ZstdCompressor(write_checksum=False, write_content_size=False).compress(TEXT)
    noise = os.urandom(300_000)
    data = skippable + plain + CODECS["zst"](noise) + skippable + CODECS["zst"](b"\0" * 500_000)
    text = TEXT + noise + b"\0" * 500_000
    for sizes in ([1 << 20], [1], [3, 70_000]):
        assert one(data, "x", sizes) == (text, False)
    streamed = zstandard.ZstdCompressor(level=1).compressobj()
    assert one(streamed.compress(TEXT) + streamed.flush()) == (TEXT, False)


def test_a_window_beyond_all_measure_is_refused() -> None:
    params = zstandard.ZstdCompressionParameters(window_log=28)
    packer = zstandard.ZstdCompressor(compression_params=params).compressobj()
    with pytest.raises(CorruptStream, match="memory"):
        one(packer.compress(b"x" * 1000) + packer.flush())


def test_unsupported_compression_is_named() -> None:
    for head, name in (
        (b"\x04\x22\x4d\x18abc", "lz4"),
        (b"\x1f\x9dabc", "compress"),
        (b"7z\xbc\xaf\x27\x1c", "7z"),
    ):
        with pytest.raises(CorruptStream, match=name):
            one(head)


def test_plain_files() -> None:
    assert one(b"") == (b"", False)
    assert one(b"", "x.gz") == (b"", False)
    assert one(b"BZh9 is how this text begins\n", "x.bz2") == (b"BZh9 is how this text begins\n", False)
    assert one(TEXT * 10, sizes=[1 << 23]) == (TEXT * 10, False)


def test_gzip_twice_is_gunzipped_twice() -> None:
    assert one(gzip.compress(gzip.compress(TEXT)), "x.gz") == (TEXT, False)


def test_tiny_members_come_in_large_blocks() -> None:
    packed = b"".join(gzip.compress(b"line %d\n" % i) for i in range(2000))
    ((_, stream),) = open_streams(io.BytesIO(packed), "x.gz")
    assert [len(block) for block in stream] == [sum(len(b"line %d\n" % i) for i in range(2000))]


def test_bombs_are_refused_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "_BOMB_SIZE", 16 * 1024 * 1024)
    bomb = zstandard.ZstdCompressor().compress(b"\0" * 64 * 1024 * 1024)
    with pytest.raises(CorruptStream, match="bomb"):
        one(bomb)
    with pytest.raises(CorruptStream, match="bomb"):
        read(zipped({"a": b"\0" * 64 * 1024 * 1024, "b": b""}))
    twice = gzip.compress(gzip.compress(b"\0" * 64 * 1024 * 1024))
    with pytest.raises(CorruptStream, match="bomb"):
        one(twice)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_marks_are_dropped_and_wide_text_recoded(encoding: str) -> None:
    text = "größe 日本 😀\r\n" * 1000
    assert one(text.encode(encoding), sizes=[3, 1000]) == (text.encode(), False)
    assert one(gzip.compress(text.encode(encoding))) == (text.encode(), False)


def test_wide_text_of_either_order_and_with_faults() -> None:
    assert one(b"\xfe\xff" + "añb".encode("utf-16-be")) == ("añb".encode(), False)
    assert one(b"\xff\xfe" + "a".encode("utf-16-le") + b"\x00\xd8" + "b".encode("utf-16-le")) == (
        "a\ufffdb".encode(),
        False,
    )
    assert one(b"\xff\xfea\x00b") == ("a\ufffd".encode(), False)
    assert one(b"\xef\xbb\xbf") == (b"", False)


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def tarred(members: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


MEMBERS = {
    "a.log": TEXT,
    "dir/b.log": b"",
    "dir/c.log.gz": gzip.compress(b"inner\n"),
    "../../etc/passwd": b"x\n",
    "ü.log": b"y",
}
INSIDE: dict[str | None, bytes] = {**MEMBERS, "dir/c.log.gz": b"inner\n"}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_zip(method: int) -> None:
    packed = zipped({"dir/": b"", **MEMBERS, "__MACOSX/._a.log": b"junk"}, method)
    assert read(packed) == (INSIDE, False)
    assert read(packed, "x", [1000]) == (INSIDE, False)
    assert read(zipped({})) == ({}, False)


def test_zip_faults_stay_with_their_member() -> None:
    packed = bytearray(zipped({"a.log": TEXT, "b.log": b"fine\n", "c.log": b"locked\n"}))
    packed[200] ^= 0xFF
    directory = packed.rindex(b"PK\x01\x02")
    packed[directory + 8] |= 1
    results: dict[str | None, object] = {}
    for name, stream in open_streams(io.BytesIO(bytes(packed)), "x.zip"):
        try:
            results[name] = b"".join(stream)
        except CorruptStream as error:
            results[name] = str(error)
    assert results["b.log"] == b"fine\n"
    assert str(results["a.log"]).startswith("zip: ")
    assert results["c.log"] == "zip: the member is encrypted"
    with pytest.raises(CorruptStream, match="zip: "):
        read(zipped(MEMBERS)[:-30])
    with pytest.raises(CorruptStream, match="method 14"):
        read(zipped({"a": TEXT}, zipfile.ZIP_LZMA))


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("codec", [*CODECS, "plain"])
def test_tar(form: int, codec: str) -> None:
    long = "/".join(["directory" * 3] * 4) + "/file.log"
    packed = tarred({**MEMBERS, long: b"z", "._a.log": b"junk"}, form)
    packed = CODECS[codec](packed) if codec in CODECS else packed
    for sizes in ([1 << 20], [700]):
        assert read(packed, "x", sizes) == ({**INSIDE, long: b"z"}, False)


def test_tar_oddities() -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE):
            info = tarfile.TarInfo(f"other-{kind!r}")
            info.type, info.linkname = kind, "a.log"
            archive.addfile(info)
        for text in (b"first", b"second"):
            info = tarfile.TarInfo("a.log")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    twice: dict[str | None, bytes] = {"a.log": b"first", "a.log#2": b"second"}
    assert read(file.getvalue()) == (twice, False)
    assert read(tarred({"a": b"1"}) + tarred({"b": b"2"})) == ({"a": b"1", "b": b"2"}, False)
    assert read(tarred({}), "x.tar") == ({}, False)
    old = tarred({"a.log": b"x"}, tarfile.USTAR_FORMAT)
    assert read(old.rstrip(b"\0").ljust(1024, b"\0")) == ({"a.log": b"x"}, False)
    with pytest.raises(CorruptStream, match="damaged"):
        read(tarred({"a": b"1"})[:1024] + b"junk" * 128)


def test_members_that_nobody_read_are_passed_over() -> None:
    packed = gzip.compress(tarred({"a": TEXT, "b": TEXT}))
    assert [name for name, _ in open_streams(io.BytesIO(packed), "x.tgz")] == ["a", "b"]


@settings(max_examples=40, deadline=None)
@given(cut=st.integers(600, 30_000), packed=st.booleans())
def test_a_cut_tar_keeps_whole_members_and_says_so(cut: int, packed: bool) -> None:
    members: dict[str | None, bytes] = {f"{i}.log": os.urandom(1000 + i) for i in range(8)}
    data = tarred({str(name): body for name, body in members.items()})
    data = gzip.compress(data) if packed else data
    cut = min(cut, len(data) - 1)
    found, truncated = read(data[:cut], "x.tar.gz" if packed else "x.tar")
    names = list(found)
    assert names == list(members)[: len(names)]
    assert all(found[name] == members[name] for name in names[:-1])
    if names:
        assert members[names[-1]].startswith(found[names[-1]])
    if packed:
        assert truncated


def test_archives_within_archives() -> None:
    inner = gzip.compress(tarred({"deep.log": b"deep\n"}))
    packed = zipped({"inner.tgz": inner, "inner.zip": zipped({"z.log": b"z\n"})})
    assert read(tarred({"outer.zip": packed})) == (
        {"outer.zip!inner.tgz!deep.log": b"deep\n", "outer.zip!inner.zip!z.log": b"z\n"},
        False,
    )
    nested = b"x"
    for _ in range(8):
        nested = gzip.compress(nested)
    with pytest.raises(CorruptStream, match="layers"):
        one(nested)


def test_a_damaged_layer_below_an_archive_ends_everything() -> None:
    packed = bytearray(gzip.compress(tarred({"a": os.urandom(50_000), "b": os.urandom(50_000)})))
    packed[-8] ^= 1
    with pytest.raises(CorruptStream, match="gzip"):
        read(bytes(packed))


@pytest.mark.skipif(not DATA.is_dir(), reason="no folder of real logs")
@pytest.mark.parametrize(
    ("path", "members", "truncated"),
    [
        ("zeek-zat/http.log.corrupt.gz", [None], True),
        ("plaso-test-data/syslog.tgz", ["syslog"], False),
        ("alp-nekrassov/sample_s3_all_match.log.zip", ["sample_s3_all_match.log"], False),
    ],
)
def test_real_files(path: str, members: list[str | None], truncated: bool) -> None:
    with open(DATA / path, "rb", buffering=0) as raw:
        streams = open_streams(cast(BinaryIO, raw), path)
        found = {name: b"".join(stream) for name, stream in streams}
    assert list(found) == members
    assert all(b"\n" in text for text in found.values())
    assert streams.truncated == truncated

from __future__ import annotations

import bz2
import gzip
import io
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from streamread import CODECS, TEXT, one, read, zipped

from tailrace.formats import compression
from tailrace.formats.base import CorruptStream
from tailrace.formats.stream import open_streams

DATA = Path(os.environ.get("TAILRACE_TEST_DATA", Path(__file__).parents[3].parent / "shared" / "data"))


@pytest.mark.parametrize("codec", CODECS)
def test_compression_is_known_by_content(codec: str) -> None:
    packed = CODECS[codec](TEXT)
    assert one(packed, "without-suffix") == (TEXT, False)
    assert one(packed + packed, f"x.{codec}") == (TEXT + TEXT, False)
    assert one(packed + b"\0" * 1000, f"x.{codec}") == (TEXT, False)
    assert one(TEXT, f"x.{codec}") == (TEXT, False)
    assert one(CODECS[codec](b""), "empty") == (b"", False)
    garbage = b"garbage that is long enough"
    streams = open_streams(io.BytesIO(packed + bytes(3) + garbage), f"x.{codec}")
    assert [b"".join(stream) for _, stream in streams] == [TEXT]
    assert not streams.truncated
    assert [(bad.raw, bad.length) for bad in streams.surplus] == [(garbage, len(garbage))]


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

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streamread import CODECS, TEXT, one, read, zipped

from tailrace.formats.base import CorruptStream
from tailrace.formats.stream import open_streams


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


@pytest.mark.parametrize("headers", [{"size": "9" * 5000}, {"comment": "x"}])
def test_numbers_in_tar_headers_that_nobody_reads(headers: dict[str, str]) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("a.log")
        info.pax_headers = headers
        archive.addfile(info)
    packed = file.getvalue().replace(b"13 comment=x\n", b"9" * 4999 + b" ")
    with pytest.raises(CorruptStream, match="tar: an extended header is damaged"):
        read(packed)

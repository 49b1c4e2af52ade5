from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tailrace.core.directories import cache_directory
from tailrace.pipeline.archive import Archive
from tailrace.pipeline.java import Java

BIG = b"x" * (11 * 1024**2)


def java(version: int, build: str = "1") -> Java:
    return Java(Path("/java"), Path("/java/bin/java"), version, "PATH", False, build)


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    return Archive.of(java(17), tmp_path, ("-a",))


def make(archive: Archive) -> None:
    with archive.draft() as draft:
        assert draft is not None
        draft.write_bytes(BIG)


def test_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAILRACE_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_directory() == Path("/x/tailrace")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_directory() == Path.home() / ".cache" / "tailrace"


def test_name_holds_what_it_depends_on(tmp_path: Path, archive: Archive) -> None:
    others = [
        Archive.of(java(17, "2"), tmp_path, ("-a",)),
        Archive.of(java(21), tmp_path, ("-a",)),
        Archive.of(java(17), tmp_path, ("-b",)),
        Archive.of(java(17), tmp_path / "other", ("-a",)),
    ]
    assert len({archive.path, *(other.path for other in others)}) == 5
    assert Archive.of(java(17), tmp_path, ("-a",)).path == archive.path
    os.utime(tmp_path, (1, 1))
    assert Archive.of(java(17), tmp_path, ("-a",)).path != archive.path


def test_used_only_once_made(archive: Archive) -> None:
    assert archive.options() == ()
    assert archive.wanted()
    make(archive)
    assert archive.options() == (f"-XX:SharedArchiveFile={archive.path}",)
    assert not archive.wanted()


def test_a_cache_that_cannot_be_written_serves_all_the_same(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    make(archive)
    monkeypatch.setattr(os, "utime", refused)
    assert archive.options() == (f"-XX:SharedArchiveFile={archive.path}",)


def test_newer_javas_have_another_kind(tmp_path: Path, archive: Archive) -> None:
    newer = Archive.of(java(25), tmp_path, ())
    make(newer)
    assert newer.options() == (f"-XX:AOTCache={newer.path}",)
    assert newer.dump_options(Path("/d")) == ("-XX:AOTCacheOutput=/d",)
    assert archive.dump_options(Path("/d")) == ("-XX:ArchiveClassesAtExit=/d",)


@pytest.mark.parametrize("content", [b"", b"cut off"])
def test_half_written_is_not_used_nor_tried_again_at_once(archive: Archive, content: bytes) -> None:
    with archive.draft() as draft:
        assert draft is not None
        draft.write_bytes(content)
    assert archive.options() == ()
    assert not archive.wanted()
    assert not list(archive.path.parent.glob("*.part*"))


def test_failure_leaves_nothing(archive: Archive) -> None:
    def fill_the_disk() -> None:
        with archive.draft() as draft:
            assert draft is not None
            draft.write_bytes(BIG)
            raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        fill_the_disk()
    assert archive.options() == ()
    assert not archive.wanted(), "what failed once would fail after every command"
    assert not list(archive.path.parent.glob("*.part*"))


def test_one_maker_at_a_time(archive: Archive) -> None:
    with archive.draft() as first, archive.draft() as second:
        assert first is not None
        assert second is None
        first.write_bytes(BIG)
    assert archive.options()


def test_discarded_after_a_crash(archive: Archive) -> None:
    make(archive)
    archive.discard()
    assert archive.options() == ()
    assert not archive.wanted()


def test_unwritable_cache_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "file"))
    archive = Archive.of(java(17), tmp_path, ())
    assert archive.options() == ()
    assert not archive.wanted()
    archive.make_in_background()


def test_unused_archives_are_swept(archive: Archive) -> None:
    make(archive)
    gone = archive.path.with_name("spark-java11-0.jsa")
    gone.touch()
    os.utime(gone, (1, 1))
    archive.path.unlink()
    make(archive)
    assert not gone.exists()
    assert archive.path.exists()

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from finding import EVER, found, names, opened, unreadable, write

from tailrace.core import Artifact, SourceError
from tailrace.sources import Found, is_transient, make_source


def test_pipes_sockets_and_broken_links_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        write(tmp_path / "x.log")
        items = found(tmp_path)
        single = found(tmp_path / "pipe")
    assert names(items) == ["x.log"]
    reasons = {Path(u.location).name: (u.reason, u.code) for u in unreadable(items)}
    assert reasons == {
        "pipe": ("is a named pipe", "source.special"),
        "sock": ("is a socket", "source.special"),
        "nowhere": ("symbolic link leads nowhere", "source.gone"),
    }
    assert [u.reason for u in unreadable(single)] == ["is a named pipe"]


def test_a_missing_path_is_reported_and_the_rest_collected(tmp_path: Path) -> None:
    write(tmp_path / "x.log")
    items = found(tmp_path / "nope", tmp_path, tmp_path / "none" / "*.log", tmp_path / "x.log" / "*")
    assert names(items) == ["x.log"]
    assert [u.code for u in unreadable(items)] == ["source.gone"] * 3


@pytest.mark.parametrize(
    ("error", "code", "transient"),
    [
        (PermissionError(13, "Permission denied"), "source.denied", False),
        (OSError(5, "Input/output error"), "source.io", True),
    ],
)
def test_a_directory_that_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, code: str, transient: bool
) -> None:
    write(tmp_path / "shut/a.log")
    write(tmp_path / "open/b.log")
    scandir = os.scandir

    def guarded(path: str) -> Any:
        if path.endswith("shut"):
            raise error
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    items = found(tmp_path)
    assert names(items) == ["b.log"]
    (report,) = unreadable(items)
    assert (report.code, report.transient, report.location) == (code, transient, str(tmp_path / "shut"))


def test_a_directory_that_vanishes_meanwhile(tmp_path: Path) -> None:
    for name in ("a/1.log", "b/2.log", "c/3.log"):
        write(tmp_path / name)
    items: Iterator[Found] = make_source("file", {"paths": str(tmp_path)}).discover(EVER)
    first = next(items)
    assert isinstance(first, Artifact)
    shutil.rmtree(tmp_path / "b")
    shutil.rmtree(tmp_path / "a")
    rest = list(items)
    assert names(rest) == ["3.log"]
    assert [(Path(u.location).name, u.code) for u in unreadable(rest)] == [("b", "source.gone")]
    with pytest.raises(SourceError) as gone:
        opened(first)
    assert (gone.value.code, is_transient(gone.value)) == ("source.gone", False)


def test_errors_of_opening_and_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (artifact,) = found(write(tmp_path / "x.log"))
    assert isinstance(artifact, Artifact)
    with opened(artifact) as raw:
        folder = os.open(tmp_path, os.O_RDONLY)
        os.dup2(folder, raw.fileno())
        os.close(folder)
        with pytest.raises(SourceError, match="cannot be read"):
            raw.read(10)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
        with pytest.raises(SourceError, match="permission denied") as denied:
            opened(artifact)
    assert (denied.value.code, denied.value.where) == ("source.denied", str(tmp_path / "x.log"))
    os.remove(tmp_path / "x.log")
    os.mkfifo(tmp_path / "x.log")
    with pytest.raises(SourceError) as pipe:
        opened(artifact)
    assert pipe.value.code == "source.special"
    os.remove(tmp_path / "x.log")
    (tmp_path / "x.log").mkdir()
    with pytest.raises(SourceError) as folder:
        opened(artifact)
    assert folder.value.code == "source.special"

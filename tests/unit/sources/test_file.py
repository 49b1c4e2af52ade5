from __future__ import annotations

import os
import pickle
import shutil
import socket
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from tailrace.core import Artifact, ConfigError, SourceError, TimeRange
from tailrace.sources import (
    Found,
    Skipped,
    Unreadable,
    is_transient,
    make_source,
    open_artifact,
    source_kinds,
)

EVER = TimeRange()


def write(path: Path, content: bytes = b"x\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def found(*paths: object, window: TimeRange = EVER, **args: object) -> list[Found]:
    return list(make_source("file", {"paths": [str(p) for p in paths], **args}).discover(window))


def names(items: list[Found]) -> list[str]:
    return [Path(a.location).name for a in items if isinstance(a, Artifact)]


def unreadable(items: list[Found]) -> list[Unreadable]:
    return [item for item in items if isinstance(item, Unreadable)]


def skipped(items: list[Found]) -> dict[str, int]:
    return {item.reason: item.count for item in items if isinstance(item, Skipped)}


def test_directories_files_and_globs(tmp_path: Path) -> None:
    for name in ("b.log", "a.log", "sub/c.log", "sub/d.gz", "other/e.log"):
        write(tmp_path / name)
    assert names(found(tmp_path)) == ["a.log", "b.log", "e.log", "c.log", "d.gz"]
    assert names(found(tmp_path / "a.log")) == ["a.log"]
    assert names(found(tmp_path / "**" / "*.log")) == ["a.log", "b.log", "e.log", "c.log"]
    assert names(found(tmp_path / "s*")) == ["c.log", "d.gz"]
    assert names(found(tmp_path / "sub", tmp_path, tmp_path / "*" / "c.log")) == [
        "c.log",
        "d.gz",
        "a.log",
        "b.log",
        "e.log",
    ]


def test_an_artifact_says_all_that_is_needed(tmp_path: Path) -> None:
    file = write(tmp_path / "AWSLogs/12/2024/03/05/a b.json", b"0123")
    layout = "AWSLogs/%{NUMBER:account_id}/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.json"
    (artifact,) = found(tmp_path, file_layout=layout)
    assert isinstance(artifact, Artifact)
    assert artifact.uri == "file://" + str(tmp_path) + "/AWSLogs/12/2024/03/05/a%20b.json"
    assert (artifact.size, artifact.source_type, artifact.location) == (4, "file", str(file))
    assert artifact.version == f"4-{file.stat().st_mtime_ns}"
    assert artifact.day == date(2024, 3, 5)
    assert dict(artifact.fields) == {"account_id": "12", "year": "2024", "month": "03", "day": "05"}
    with open_artifact(pickle.loads(pickle.dumps(artifact))) as raw:
        assert raw.read() == b"0123"


def test_a_file_named_singly_is_matched_by_its_last_segments(tmp_path: Path) -> None:
    file = write(tmp_path / "logs/2024/03/05/.odd.tmp")
    (artifact,) = found(file, file_layout="%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}")
    assert isinstance(artifact, Artifact)
    assert artifact.day == date(2024, 3, 5)


def test_the_window_prunes_directories_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in ("2023/12/31", "2024/03/04", "2024/03/05", "2024/03/06"):
        write(tmp_path / day / "x.log")
    write(tmp_path / "stray.txt")
    opened: list[str] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: opened.append(str(path)) or scandir(path))
    window = TimeRange(datetime(2024, 3, 5, 12), datetime(2024, 3, 6))
    items = found(tmp_path, window=window, file_layout="%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.log")
    assert [a.day for a in items if isinstance(a, Artifact)] == [date(2024, 3, 5)]
    assert skipped(items) == {"layout": 1}
    assert [os.path.relpath(p, tmp_path) for p in opened] == [".", "2024", "2024/03", "2024/03/05"]


def test_hidden_and_unfinished_files_are_counted_not_collected(tmp_path: Path) -> None:
    for name in ("a.log", ".b.log", "c.log~", "d.tmp", "e.swp", ".git/config"):
        write(tmp_path / name)
    items = found(tmp_path)
    assert names(items) == ["a.log"]
    assert skipped(items) == {"name": 5}
    assert skipped(found(tmp_path / "*.log")) == {}
    assert names(found(tmp_path / "*.tmp")) == ["d.tmp"]
    assert names(found(tmp_path / ".*.log")) == [".b.log"]


ODD = [
    "sp ace",
    "quo'te\"",
    "ünïcödé",
    "new\nline",
    "per%20cent",
    "a!b",
    "#?&",
    "-dash",
    "日本",
    "back\\slash",
]


@pytest.mark.parametrize("name", [*map(os.fsencode, ODD), b"not-utf8-\xff\xfe", b"\xc3"])
def test_odd_names(tmp_path: Path, name: bytes) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"dir" + name, name)
    os.mkdir(os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(name)
    (artifact,) = found(tmp_path, file_layout="%{DATA:folder}/%{DATA:file}")
    assert isinstance(artifact, Artifact)
    assert artifact.uri.isascii()
    assert "!" not in artifact.uri
    for text in (artifact.location, *(value for _, value in artifact.fields)):
        text.encode("utf-8")
    with open_artifact(artifact) as raw:
        assert raw.read() == name


def test_a_file_counts_once_by_its_real_path(tmp_path: Path) -> None:
    real = write(tmp_path / "z/2024-01-02.log")
    (tmp_path / "a-link").symlink_to(tmp_path / "z")
    (tmp_path / "current.log").symlink_to(real)
    for path in (tmp_path, tmp_path / "a-link", tmp_path / "current.log"):
        (artifact,) = found(path, path)
        assert isinstance(artifact, Artifact)
        assert artifact.uri == f"file://{real}"
    (by_real_path,) = found(tmp_path)
    assert isinstance(by_real_path, Artifact)
    assert by_real_path.location == str(real)
    dated = found(tmp_path, file_layout="z/%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.log")
    assert names(dated) == ["2024-01-02.log"]


def test_links_out_of_the_tree_are_followed_and_loops_end(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere/e.log")
    root = tmp_path / "root"
    write(root / "a/1.log")
    write(root / "b/2.log")
    (root / "out").symlink_to(tmp_path / "elsewhere")
    (root / "a/up").symlink_to(root)
    (root / "a/other").symlink_to(root / "b")
    (root / "b/other").symlink_to(root / "a")
    (root / "self").symlink_to(root / "self")
    items = found(root)
    assert sorted(names(items)) == ["1.log", "2.log", "e.log"]
    assert [u.reason for u in unreadable(items)] == ["symbolic link leads nowhere"]


def test_many_links_do_not_multiply(tmp_path: Path) -> None:
    for depth in range(24):
        (tmp_path / f"d{depth}").mkdir()
        for side in "lr":
            (tmp_path / f"d{depth}" / side).symlink_to(tmp_path / f"d{depth + 1}")
    write(tmp_path / "d24/x.log")
    assert names(found(tmp_path / "d0")) == ["x.log"]


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
        open_artifact(first)
    assert (gone.value.code, is_transient(gone.value)) == ("source.gone", False)


def test_errors_of_opening_and_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (artifact,) = found(write(tmp_path / "x.log"))
    assert isinstance(artifact, Artifact)
    with open_artifact(artifact) as raw:
        folder = os.open(tmp_path, os.O_RDONLY)
        os.dup2(folder, raw.fileno())
        os.close(folder)
        with pytest.raises(SourceError, match="cannot be read"):
            raw.read(10)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
        with pytest.raises(SourceError, match="permission denied") as denied:
            open_artifact(artifact)
    assert (denied.value.code, denied.value.where) == ("source.denied", str(tmp_path / "x.log"))
    os.remove(tmp_path / "x.log")
    os.mkfifo(tmp_path / "x.log")
    with pytest.raises(SourceError) as pipe:
        open_artifact(artifact)
    assert pipe.value.code == "source.special"
    os.remove(tmp_path / "x.log")
    (tmp_path / "x.log").mkdir()
    with pytest.raises(SourceError) as folder:
        open_artifact(artifact)
    assert folder.value.code == "source.special"


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"paths": []},
        {"paths": [1]},
        {"paths": "x", "file_layout": 3},
        {"paths": "x", "patterns": ["a"]},
        {"paths": "x", "path": "y"},
    ],
)
def test_wrong_arguments(args: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        make_source("file", args)


def test_kinds_are_modules() -> None:
    assert "file" in source_kinds()
    assert not {"base", "layout", "walk"} & set(source_kinds())
    for wrong in ("fil", "layout", "../x"):
        with pytest.raises(ConfigError, match="unknown source"):
            make_source(wrong, {})


def test_a_source_travels(tmp_path: Path) -> None:
    write(tmp_path / "a.log")
    source = pickle.loads(pickle.dumps(make_source("file", {"paths": [str(tmp_path)], "file_layout": "%{DATA}.log"})))
    (artifact,) = source.discover(EVER)
    with source.open(artifact) as raw:
        assert raw.read() == b"x\n"

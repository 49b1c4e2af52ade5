from __future__ import annotations

import os
import pickle
from datetime import date, datetime
from pathlib import Path

import pytest
from finding import EVER, found, names, opened, skipped, unreadable, write

from tailrace.core import Artifact, ConfigError, TimeRange
from tailrace.sources import make_source, source_kinds


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
    with opened(pickle.loads(pickle.dumps(artifact))) as raw:
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
    with opened(artifact) as raw:
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

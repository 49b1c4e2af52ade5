from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.sources.globs import Glob, split_glob


def matches(pattern: str, path: str) -> bool:
    glob = Glob(tuple(pattern.split("/")))
    states = glob.start()
    for name in path.split("/"):
        states = glob.step(states, name)
    return glob.complete(states)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.log", "a.log", True),
        ("*.log", "b/a.log", False),
        ("**/*.log", "a.log", True),
        ("**/*.log", "b/c/a.log", True),
        ("**", "b/c/a.log", True),
        ("b/**/d/*.gz", "b/d/x.gz", True),
        ("b/**/d/*.gz", "b/c/d/e/d/x.gz", True),
        ("b/**/d/*.gz", "b/c/d/e/x.gz", False),
        ("*", "dir/below/x", True),
        ("*.log", ".hidden.log", False),
        ("**", "a/.git/x", False),
        ("*/.pm2/*.log", "joe/.pm2/x.log", True),
        ("a?[bc].log", "axb.log", True),
        ("a?[!bc].log", "axb.log", False),
        ("a\n*", "a\nb", True),
    ],
)
def test_matching(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, path) is expected


def test_an_existing_path_is_no_glob(tmp_path: Path) -> None:
    odd = tmp_path / "a[1].log"
    odd.touch()
    assert split_glob(str(odd)) == (str(odd), Glob())
    assert split_glob(str(tmp_path / "b[1]" / "*.log")) == (str(tmp_path), Glob(("b[1]", "*.log")))


def test_home_and_relative_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert split_glob("~/logs/*.gz") == (str(tmp_path / "logs"), Glob(("*.gz",)))
    assert split_glob("logs/../x") == (str(tmp_path / "x"), Glob())
    assert split_glob("/*/x") == ("/", Glob(("*", "x")))

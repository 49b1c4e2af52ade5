"""What commands write to standard output: where it takes no more, and where its encoding lacks characters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import Home

ARROW = "select 'ü → 日' as x"


def run(home: Path, *args: str, stdout: int = subprocess.PIPE, **env: str) -> tuple[int, bytes, list[str]]:
    program, environment = [sys.executable, "-m", "tailrace", *args], Home(home).environment(**env)
    done = subprocess.run(program, env=environment, stdout=stdout, stderr=subprocess.PIPE, timeout=240)
    return done.returncode, done.stdout or b"", done.stderr.decode().splitlines()


@pytest.mark.parametrize(
    "command",
    [
        ("query", "from range(1)", "--output", "csv"),
        ("query", "from range(50_000)", "--output", "csv"),
        ("query", "from range(50_000)"),
        ("partition", "list", "--output", "json"),
        ("table", "list"),
        ("doctor",),
        ("connect",),
        ("collect", "--dry-run", "--output", "json"),
        ("--help",),
    ],
    ids=" ".join,
)
def test_a_place_that_takes_no_more(tmp_path: Path, command: tuple[str, ...]) -> None:
    """A short text fails when it is flushed, a long one before."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "x.tpc").write_text(
        f'partition "syslog" "x" {{\n  source "file" {{ paths = ["{tmp_path}"] }}\n}}\n'
    )
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        code, _, told = run(tmp_path, *command, stdout=full)
    finally:
        os.close(full)
    errors = [line for line in told if line.startswith("error")]
    assert errors == ["error[usage.cannot-write]: cannot write standard output: No space left on device"]
    assert "  hint: make room there, or write elsewhere" in told
    assert code == 2


@pytest.mark.parametrize("form", ["table", "csv", "json", "line"])
def test_ascii_is_not_taken_at_its_word(tmp_path: Path, form: str) -> None:
    code, out, told = run(tmp_path, "query", ARROW, "--output", form, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert (code, told) == (0, [])
    assert "ü → 日" in out.decode()


def test_what_an_encoding_lacks_has_backslashes(tmp_path: Path) -> None:
    code, out, told = run(tmp_path, "query", ARROW, "--output", "csv", PYTHONIOENCODING="latin-1")
    assert (code, told) == (0, [])
    assert out == b"x\n\xfc \\u2192 \\u65e5\n"


def test_names_of_any_bytes(tmp_path: Path) -> None:
    """They are no text in any encoding."""
    (tmp_path / "config").mkdir()
    name = os.fsdecode(b"a\xffb")
    (tmp_path / name).mkdir()
    config = f'partition "syslog" "x" {{\n  source "file" {{ paths = ["{tmp_path}/a*b/*"] }}\n}}\n'
    (tmp_path / name / "x.tpc").write_text(config)
    code, out, told = run(tmp_path, "config", "show", "--config-path", str(tmp_path / name), PYTHONIOENCODING="utf-8")
    assert (code, told) == (0, [])
    assert b"a\\udcffb" in out

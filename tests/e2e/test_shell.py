"""The shell on a terminal that can do nothing, and on a pipe; `tests/long/test_shell.py` has a terminal that can."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest
from commandline import Home, heeds_interrupts
from smalllake import made_in


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(made_in(tmp_path_factory.mktemp("shell")).home)


def test_a_terminal_that_can_do_nothing(filled: Home) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tailrace.cli.main", "query"]
    env = filled.environment(TERM="dumb")
    with subprocess.Popen(
        command, env=env, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=heeds_interrupts
    ) as process:
        os.close(theirs)
        os.write(ours, b"select count(*) as n\nfrom hits;\n.tables\nselect nonsense;\n\x04")
        told = b""
        while True:
            try:
                block = os.read(ours, 65536)
            except OSError:
                break
            if not block:
                break
            told += block
    os.close(ours)
    text = told.decode()
    assert process.returncode == 0, text
    assert "\x1b" not in text
    assert "│ 72 │" in text
    assert "│ calls │" in text
    assert "error[query]" in text
    assert text.endswith("tailrace> \r\n"), "whoever leaves with Ctrl-D finds an empty line"


def test_a_pipe_that_closes_early(filled: Home) -> None:
    with filled.start("query") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(".output csv\nselect i from range(100000000) t(i);\n")
        process.stdin.close()
        assert process.stdout.readline() == "i\n"
        process.stdout.close()
        assert process.wait(120) == 141
        assert process.stderr.read() == ""

"""Progress on a terminal, as a person sees it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from datetime import date

from commandline import Home, heeds_interrupts
from logfiles import access_lines, write

ROWS, REPEATED = 1_200_000, 60
CONFIG = """
partition "nginx_access_log" "web" {
  source "file" { paths = ["LOGS/web"] }
}
partition "nginx_access_log" "small" {
  source "file" { paths = ["LOGS/small"] }
}
"""


def on_a_terminal(home: Home, *args: str) -> tuple[int, str, str]:
    """Exit code, stdout, and everything that the terminal was told."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 160, 0, 0))
    command = [sys.executable, "-m", "tailrace.cli.main", *args]
    env = home.environment(TERM="xterm-256color", COLUMNS="160")
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=theirs, stdin=theirs, preexec_fn=heeds_interrupts
    ) as process:
        os.close(theirs)
        told = b""
        while True:
            try:
                block = os.read(ours, 65536)
            except OSError:  # the terminal's other side has gone
                break
            if not block:
                break
            told += block
        assert process.stdout is not None
        out = process.stdout.read().decode()
    os.close(ours)
    return process.returncode, out, told.decode(errors="replace")


def test_progress_is_shown_while_a_task_works(home: Home, tmp_path) -> None:
    write(tmp_path / "logs" / "web" / "a.log", access_lines(date(2024, 5, 1), ROWS // REPEATED) * REPEATED)
    write(tmp_path / "logs" / "small" / "a.log", access_lines(date(2024, 5, 1), 10) + "no access line\n")
    home.configure(CONFIG.replace("LOGS", str(tmp_path / "logs")))
    code, out, told = on_a_terminal(home, "collect")
    assert code == 0, told
    assert f"{ROWS:,} stored" in out
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", told)
    lines = [line for line in re.split(r"[\r\n]+", plain) if "nginx_access_log." in line]
    large = [line for line in lines if ".web" in line]
    seen = [int(found[1].replace(",", "")) for line in large if (found := re.search(r"([\d,]+) rows(?!/)", line))]
    assert [rows for rows in seen if 0 < rows < ROWS], "rows are counted within a file, before its commit"
    assert seen == sorted(seen)
    assert any(re.search(r"[\d,]+ rows/s +[\d.]+ s left", line) for line in large), "\n".join(large)
    assert any(re.search(r"\d/1 artifacts +[\d.]+ MB/[\d.]+ MB", line) for line in large), large
    assert any("1 quarantined" in line for line in lines if ".small" in line)
    first_done = next(n for n, line in enumerate(lines) if "✓" in line or "!" in line)
    assert ".small" in lines[first_done], "the small one does not wait for the large one"
    assert told.rstrip().endswith("\x1b[?25h") or "\x1b[?25h" in told, "the cursor is back"

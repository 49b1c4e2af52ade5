"""`collect --watch` as people run it: a warm JVM, a line a round, and a clean end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from datetime import date
from typing import Any

from commandline import Home, ended, killed_afterwards
from lakecheck import check, stored
from logfiles import access_lines, write

DAY = date(2024, 5, 1)
WEB = """
partition "nginx_access_log" "web" {
  source "file" { paths = ["LOGS/*.log"] }
}
"""


class Rounds:
    """The documents that a watching collect prints."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def next(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()
        document: dict[str, Any] = json.loads(line)
        return document

    def until_stored(self, rows: int) -> dict[str, Any]:
        while True:
            told = self.next()
            if told["partitions"] and told["partitions"][0]["rows"]["stored"] == rows:
                return told


def test_a_day_of_watching(home: Home, tmp_path) -> None:
    logs = tmp_path / "logs"
    write(logs / "a.log", access_lines(DAY, 40))
    home.configure(WEB.replace("LOGS", str(logs)))
    with killed_afterwards(home.start("collect", "--watch", "1s", "--output", "json")) as process:
        rounds = Rounds(process)
        assert rounds.until_stored(40)["round"] == 1
        jvm = home.jvm()
        idle = [rounds.next()["seconds"] for _ in range(3)]
        assert min(idle) < 1, idle
        write(logs / "b.log", access_lines(DAY, 10))
        warm = rounds.until_stored(10)
        assert warm["exit_code"] == 0
        assert home.jvm() == jvm, "no other JVM was started"

        os.kill(jvm, signal.SIGKILL)
        write(logs / "c.log", access_lines(DAY, 5))
        rounds.until_stored(5)
        assert home.jvm() != jvm

        process.send_signal(signal.SIGTERM)
        done = ended(process)
    assert done.code == 130, done
    assert done.err == "interrupted\n"
    home.assert_no_process_is_left()
    rows = stored(home.path)
    assert rows.total() == len(rows) == 55
    check(home.path, "nginx_access_log", "web")

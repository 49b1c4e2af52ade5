"""`collect --watch` as people run it: a warm JVM, a line a round, and a clean end."""

from __future__ import annotations

import os
import signal
from datetime import date

from commandline import Home, ended, killed_afterwards
from lakecheck import check, stored
from logfiles import access_lines, write
from rounds import Rounds

DAY = date(2024, 5, 1)
WEB = """
partition "nginx_access_log" "web" {
  source "file" { paths = ["LOGS/*.log"] }
}
"""


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

"""`collect --watch` for hundreds of rounds: what it takes at the end is what it took near the beginning."""

from __future__ import annotations

import signal
from collections.abc import Callable
from datetime import date
from pathlib import Path

from commandline import Home, ended, killed_afterwards
from lakecheck import check, stored
from logfiles import access_lines, write
from rounds import Rounds

Noted = Callable[[str, object], None]
DAY = date(2024, 5, 1)
ROUNDS, SETTLED, EVERY = 300, 60, 5
"How many, after how many everything is loaded, and how often a file joins."
MORE = 24 << 20
"What the command itself may grow by meanwhile: a leak of a tenth of a megabyte a round would be found."
PARTITIONS = [
    f'partition "nginx_access_log" "{name}" {{\n source "file" {{ paths = ["LOGS/{name}/*.log"] }}\n}}\n'
    for name in ("web", "idle")
]


def held(pid: int) -> dict[str, int]:
    """Resident bytes, threads and open files."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    told = {name: value.split()[0] for name, _, value in (line.partition(":") for line in status) if value.split()}
    files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return {"bytes": int(told["VmRSS"]) << 10, "threads": int(told["Threads"]), "files": files}


def test_hundreds_of_rounds(home: Home, tmp_path: Path, record_property: Noted) -> None:
    logs = tmp_path / "logs"
    write(logs / "idle" / "a.log", access_lines(DAY, 100))
    (logs / "web").mkdir()
    home.configure("".join(PARTITIONS).replace("LOGS", str(logs)))
    with killed_afterwards(home.start("collect", "--watch", "1s", "--output", "json")) as process:
        rounds, seen = Rounds(process), {}
        for number in range(1, ROUNDS + 1):
            if number % EVERY == 0:
                write(logs / "web" / f"{number}.log", access_lines(DAY, 20))
            told = rounds.next()
            assert (told["exit_code"], told["error"]) == (0, None), told
            if number in (SETTLED, ROUNDS):
                seen[number] = {name: held(pid) for name, pid in (("own", process.pid), ("java", home.jvm()))}
        process.send_signal(signal.SIGTERM)
        assert ended(process).code == 130
    home.assert_no_process_is_left()
    before, after = seen[SETTLED], seen[ROUNDS]
    record_property("rounds", ROUNDS)
    for name in ("own", "java"):
        record_property(f"MB of {name} process at first", before[name]["bytes"] >> 20)
        record_property(f"MB of {name} process in the end", after[name]["bytes"] >> 20)
    assert after["own"]["bytes"] - before["own"]["bytes"] < MORE
    for name in ("own", "java"):
        assert after[name]["files"] <= before[name]["files"] + ROUNDS // 20, name
        assert after[name]["threads"] <= before[name]["threads"] + ROUNDS // 20, name
    # The last file may have come too late for the last round.
    files = len(list((logs / "web").iterdir()))
    assert stored(home.path).total() - 100 in (20 * files, 20 * (files - 1))
    for partition in ("web", "idle"):
        check(home.path, "nginx_access_log", partition)

"""Two hundred windows, killed at twenty moments: what comes out is what comes out of an undisturbed run (A13)."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from otaptables import START, simple, write
from otlprequests import told_by_request
from windowruns import MARGIN, MINUTE, places, results, run, started, told

from tailrace.lake.place import LocalPlace
from tailrace.windows.state import State

COUNT, KILLS = 200, 20


def test_killed_at_any_moment(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    requests = [simple("shop", ["a", "b"], attributes=n % 2 > 0, time=START + n * MINUTE) for n in range(COUNT)]
    write(tmp_path / "in", *requests, rows_per_file=10)
    dice = random.Random(13)
    killed = 0
    for attempt in range(KILLS):
        until = START + COUNT * (attempt + 1) // KILLS * MINUTE + MARGIN
        with started(tmp_path, until) as process:
            time.sleep(dice.uniform(0, 3))
            process.send_signal(signal.SIGKILL)
            killed += process.wait(60) == -signal.SIGKILL
    run(tmp_path, START + COUNT * MINUTE + MARGIN)
    assert len(results(tmp_path)) == COUNT
    assert told(tmp_path) == sum(map(told_by_request, requests), Counter())
    state = State.read(places(tmp_path).segments, LocalPlace(str(tmp_path / "out")))
    assert (state.windows, state.through) == (COUNT, START + COUNT * MINUTE)
    record_property("windows", COUNT)
    record_property("kills", killed)

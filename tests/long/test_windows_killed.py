"""Two hundred windows, killed at twenty moments: what comes out is what comes out of an undisturbed run (A13)."""

from __future__ import annotations

import random
import signal
import statistics
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


def untils() -> list[int]:
    """Every run has ten windows more than the one before."""
    return [START + COUNT * (attempt + 1) // KILLS * MINUTE + MARGIN for attempt in range(KILLS)]


def seconds_undisturbed(root: Path) -> list[float]:
    """How long each run takes in a process of its own."""
    found = []
    for until in untils():
        began = time.perf_counter()
        with started(root, until) as process:
            assert process.wait(120) == 0
        found.append(time.perf_counter() - began)
    return found


def test_killed_at_any_moment(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    requests = [simple("shop", ["a", "b"], attributes=n % 2 > 0, time=START + n * MINUTE) for n in range(COUNT)]
    write(tmp_path / "in", *requests, rows_per_file=10)
    calm, root = tmp_path / "calm", tmp_path / "killed"
    for one in (calm, root):
        one.mkdir()
        (one / "in").symlink_to(tmp_path / "in")
    usual = statistics.median(seconds_undisturbed(calm))
    dice = random.Random(13)
    killed = at_work = 0
    for until in untils():
        before = _traces(root)
        with started(root, until) as process:
            time.sleep(dice.uniform(usual / 4, usual))
            process.send_signal(signal.SIGKILL)
            killed += process.wait(60) == -signal.SIGKILL
        at_work += _traces(root) != before
    run(root, START + COUNT * MINUTE + MARGIN)
    assert len(results(root)) == COUNT
    assert results(root) == results(calm)
    assert told(root) == sum(map(told_by_request, requests), Counter())
    state = State.read(places(root).segments, LocalPlace(str(root / "out")))
    assert (state.windows, state.through) == (COUNT, START + COUNT * MINUTE)
    assert killed >= KILLS // 2
    assert at_work
    record_property("windows", COUNT)
    record_property("kills", killed)
    record_property("runs that had written something by then", at_work)


def _traces(root: Path) -> list[str]:
    """Everything that a run writes, by name."""
    return sorted(str(path) for folder in ("out", "state") for path in (root / folder).rglob("*"))

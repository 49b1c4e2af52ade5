"""`collect --watch`: what rounds see, what they survive, when they begin. In one process, without a JVM."""

from __future__ import annotations

import gc
import json
import os
import re
import threading
from contextlib import nullcontext
from datetime import date
from pathlib import Path
from typing import Any

import owntime
import pytest
from lakecheck import check, stored
from logfiles import access_lines, write
from world import World

from tailrace.cli.choice import Choice
from tailrace.cli.collecting import Order
from tailrace.cli.interrupts import Interrupts
from tailrace.cli.options import Context
from tailrace.cli.round_summary import RoundSummary
from tailrace.cli.watching import Pace, Round, Watch, go_on, seconds_of
from tailrace.core import TailraceError, UsageError
from tailrace.lake.lock import partition_lock
from tailrace.pipeline import collect as collecting
from tailrace.pipeline.hands import Hands
from tailrace.pipeline.job import Job, Unit, UnitResult
from tailrace.pipeline.report import Silent
from tailrace.pipeline.unit import run_unit

DAY = date(2024, 5, 1)
ROUNDS = 120
PARTITION = 'partition "nginx_access_log" "NAME" {\n source "file" { paths = ["LOGS/NAME/*.log"] }\n}\n'


class NoSpark:
    """Stands in for a session: tasks run in this process."""

    def __init__(self) -> None:
        self.hands = Hands()
        self.broken: TailraceError | None = None

    def get(self) -> None:
        if self.broken is not None:
            raise self.broken

    def cores(self) -> int:
        return 2

    def share(self) -> None: ...

    def revive(self) -> None: ...

    def stop(self, patience: float | None = None) -> None: ...


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> NoSpark:
    def run(_: Any, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
        return [run_unit(job, unit) for unit in units]

    monkeypatch.setattr(collecting, "run_units", run)
    return NoSpark()


@pytest.fixture
def logs(tmp_path: Path, world: World) -> Path:
    logs = tmp_path / "logs"
    write(logs / "web" / "a.log", access_lines(DAY, 20))
    configure(world, logs, "web")
    return logs


def configure(world: World, logs: Path, *names: str) -> None:
    world.write_config("".join(PARTITION.replace("NAME", name).replace("LOGS", str(logs)) for name in names))


@pytest.fixture
def watch(world: World, logs: Path, spark: NoSpark) -> Watch:
    order = Order(Choice((), (), None, None))
    return Watch(order, Context(home=str(world.home)), spark, Interrupts())  # type: ignore[arg-type]


def rows(done: Round) -> dict[str, int]:
    return {r.name.partition(".")[2]: r.counts.stored for r in done.collected.reports}


def test_rounds_see_new_files_and_new_configuration(watch: Watch, world: World, logs: Path) -> None:
    assert rows(watch.round(Silent())) == {"web": 20}
    assert rows(watch.round(Silent())) == {"web": 0}
    write(logs / "web" / "b.log", access_lines(DAY, 5))
    assert rows(watch.round(Silent())) == {"web": 5}
    write(logs / "shop" / "a.log", access_lines(DAY, 7))
    configure(world, logs, "web", "shop")
    assert rows(watch.round(Silent())) == {"web": 0, "shop": 7}
    configure(world, logs, "shop")
    assert rows(watch.round(Silent())) == {"shop": 0}
    assert stored(world.home).total() == 32
    check(world.home, "nginx_access_log", "web")


def test_a_broken_configuration_leaves_the_last_good_one(watch: Watch, world: World, logs: Path, capsys: Any) -> None:
    summary = RoundSummary(watch.context, "table", None)
    watch.round(Silent())
    write(logs / "web" / "b.log", access_lines(DAY, 5))
    world.write_config('partition "nginx_access_log" "web" {')
    for expected in ({"web": 5}, {"web": 0}):
        done = watch.round(Silent())
        assert rows(done) == expected
        assert done.config_error is not None
        assert done.config_error.exit_code == 3
        assert not done.failed
        summary.tell(done)
    assert capsys.readouterr().err.count("the last good one is used") == 1, "said once, not every few minutes"
    configure(world, logs, "web")
    for _ in range(2):
        done = watch.round(Silent())
        assert done.config_error is None
        summary.tell(done)
    assert capsys.readouterr().err.splitlines() == ["the configuration can be read again, and is used from now on"]


def test_without_any_good_configuration_there_is_no_round(watch: Watch, world: World) -> None:
    world.write_config('partition "nginx_access_log" "web" {')
    with pytest.raises(TailraceError) as caught:
        watch.round(Silent())
    assert caught.value.exit_code == 3


def test_a_partition_that_others_hold_waits_for_the_next_round(watch: Watch, world: World, capsys: Any) -> None:
    with partition_lock(world.lake, "nginx_access_log", "web", "tailrace collect web"):
        done = watch.round(Silent())
    assert not done.failed
    RoundSummary(watch.context, "table", None).tell(done)
    told = capsys.readouterr()
    assert "(`tailrace collect web`)" in told.err
    assert "the next round tries again" in told.err
    assert "nothing new in 0 partitions" in told.out
    assert rows(watch.round(Silent())) == {"web": 20}


def test_a_failing_round_does_not_end_it(watch: Watch, world: World, spark: NoSpark, capsys: Any) -> None:
    spark.broken = TailraceError("no Spark today", code="spark.session")
    done = watch.round(Silent())
    assert done.failed
    for output in ("json", "table"):
        RoundSummary(watch.context, output, None).tell(done)
    told = capsys.readouterr()
    document, _ = told.out.splitlines()
    assert json.loads(document)["error"] == {"code": "spark.session", "message": "no Spark today"}
    assert "round 1 failed; later ones go on" in told.err
    spark.broken = None
    assert rows(watch.round(Silent())) == {"web": 20}
    check(world.home, "nginx_access_log", "web")


def test_what_is_printed(watch: Watch, logs: Path, capsys: Any) -> None:
    watch.context = Context(home=watch.context.home)
    summary = RoundSummary(watch.context, "table", None)
    for _ in range(2):
        summary.tell(watch.round(Silent()))
    first, quiet = capsys.readouterr().out.split("round 2: ")
    assert "20 received, 20 stored" in first
    assert len(re.findall(r"\d s\b", first)) == 1, "its time is told once"
    assert quiet.startswith("nothing new in 1 partition, ")
    write(logs / "web" / "b.log", access_lines(DAY, 5) + "no access line\n")
    RoundSummary(watch.context, "json", 0).tell(watch.round(Silent()))
    (line,) = capsys.readouterr().out.splitlines()
    told = json.loads(line)
    assert (told["round"], told["exit_code"], told["interrupted"]) == (3, 4, False)
    assert told["partitions"][0]["rows"]["quarantined"] == 1


def test_the_code_of_a_round_that_was_interrupted(watch: Watch, capsys: Any) -> None:
    done = watch.round(Silent())
    done.collected.interrupted = True
    RoundSummary(watch.context, "json", None).tell(done)
    told = json.loads(capsys.readouterr().out)
    assert (told["exit_code"], told["interrupted"]) == (130, True), "as the process will exit"


def test_a_signal_ends_it_between_rounds(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise KeyboardInterrupt

    owntime.give(monkeypatch, "tailrace.cli.watching", sleep=sleep)
    told: list[Round] = []
    with pytest.raises(KeyboardInterrupt):
        go_on(watch, Pace(60), told.append, lambda: nullcontext(Silent()))
    assert [done.number for done in told] == [1, 2, 3]
    assert all(0 < wait <= 60 for wait in waits)


@pytest.mark.slow
def test_many_rounds_need_no_more_memory(watch: Watch, logs: Path) -> None:
    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for _ in range(30):
        watch.round(Silent())
    before, own, threads = resident(), threading.active_count(), len(os.listdir("/proc/self/task"))
    for _ in range(ROUNDS):
        watch.round(Silent())
    assert resident() - before < 4 << 20
    assert threading.active_count() <= own
    # Engines start threads when they need them and let idle ones go: some more or less, but not with every round.
    assert len(os.listdir("/proc/self/task")) <= threads + ROUNDS // 10


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_rounds_begin_at_a_fixed_rate() -> None:
    clock = Clock()
    pace = Pace(60, clock)
    starts = []
    for took in (1, 30, 59.9, 61, 200, 0.1):
        pace.begin()
        starts.append(clock.now)
        clock.now += took
        clock.now += pace.wait(0)
    assert starts == [1000, 1060, 1120, 1180, 1300, 1540]
    assert clock.now == 1600


def test_rounds_that_fail_are_spaced_out() -> None:
    clock = Clock()
    pace = Pace(60, clock)
    waits = []
    for failures in (1, 2, 3, 4, 5, 20, 0):
        pace.begin()
        clock.now += 1
        waits.append(pace.wait(failures) + 1)
        clock.now += waits[-1] - 1
    assert waits == [60, 120, 240, 480, 900, 900, 60]
    hourly = Pace(3600, clock)
    assert hourly.wait(20) == 3600


def test_intervals() -> None:
    assert [seconds_of(text) for text in ("30s", "5m", "1h30m", "1d")] == [30, 300, 5400, 86400]
    for text in ("web", "0s", "-5m", ""):
        with pytest.raises(UsageError) as caught:
            seconds_of(text)
        assert "5m" in (caught.value.hint or "")

"""Several collectors on one partition without a lock: steps in random order, some killed, some asleep."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailrace.core.errors import LakeError
from tailrace.lake import commit, intents, place
from tailrace.lake.commit import Change, PartitionWriter
from tailrace.lake.files import DataFile
from tailrace.lake.intents import read_ledger
from tailrace.lake.ledger import Entry
from tailrace.lake.paths import Lake
from tailrace.lake.snapshot import snapshot

URIS = ["a", "b"]
DAYS = [date(2024, 1, 1), date(2024, 1, 2)]
Collect = Callable[[Lake, str], None]


class Killed(BaseException):
    """Ends a collector where it stands, without any cleaning up."""


class Collector(threading.Thread):
    """Runs until its next step, then waits to be told to go on or to die."""

    current = threading.local()

    def __init__(self, collect: Collect, lake: Lake, run: str) -> None:
        super().__init__(daemon=True)
        self._collect, self._lake, self._name = collect, lake, run
        self._go, self._parked = threading.Semaphore(0), threading.Semaphore(0)
        self._is_killed = False
        self.is_done = False
        self.failure: BaseException | None = None

    def run(self) -> None:
        Collector.current.me = self
        try:
            self._wait()
            self._collect(self._lake, self._name)
        except Killed:
            pass
        except BaseException as error:
            self.failure = error
        finally:
            self.is_done = True
            self._parked.release()

    def _wait(self) -> None:
        self._go.acquire()
        if self._is_killed:
            raise Killed

    def advance(self, *, kill: bool = False) -> None:
        """Let it run to its next step, or die there."""
        if not self.is_done:
            self._is_killed = self._is_killed or kill
            self._go.release()
            self._parked.acquire()

    @classmethod
    def reached(cls, _: str) -> None:
        me = getattr(cls.current, "me", None)
        if me is not None:
            me._parked.release()
            me._wait()


@pytest.fixture
def collect(schema: pa.Schema, write_file: Callable[..., DataFile], make_entry: Callable[..., Entry]) -> Collect:
    def run_once(lake: Lake, run: str) -> None:
        writer = PartitionWriter(lake, "t", "p", run, schema)
        writer.recover()
        known = writer.ledger().known()
        try:
            for uri, day in zip(URIS, DAYS, strict=True):
                if uri in known:
                    continue
                file = write_file(lake, run, [uri], day=day, name=uri)
                write_file(lake, run, [uri], day=day, name=f"failed-{uri}")
                Collector.reached("files-written")
                writer.commit(Change([make_entry(uri, day=day)], [file]))
        except LakeError as error:
            if error.code != "lake.lost-race":
                raise
        writer.finish()

    return run_once


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12)), max_size=60))
def test_every_row_once_whatever_happens(collect: Collect, plan: list[tuple[int, int]]) -> None:
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        for module in (commit, intents, place):
            patch.setattr(module, "reached", Collector.reached)
        lake = Lake(Path(home))
        collectors = [Collector(collect, lake, f"run{n}") for n in range(3)]
        for collector in collectors:
            collector.start()
        for number, luck in plan:
            collectors[number].advance(kill=luck == 0)
        # Two of them go to their end one after the other; the last sleeps on and wakes after the check.
        for collector in collectors[:2]:
            while not collector.is_done:
                collector.advance()
        collect(lake, "last")
        check(lake)
        while not collectors[2].is_done:
            collectors[2].advance()
        collect(lake, "afterwards")
        check(lake)
        check_no_orphans(lake)
        for collector in collectors:
            assert collector.failure is None


def check_no_orphans(lake: Lake) -> None:
    root = lake.table_root("t").path
    log = "".join(p.read_text() for p in (root / "_delta_log").glob("*.json"))
    assert all(str(p.relative_to(root)) in log for p in root.glob("tp_partition=*/**/*.parquet"))


def check(lake: Lake) -> None:
    seen = snapshot(lake, "t")
    paths = seen.files.column("path").to_pylist()
    ids = [i for p in paths for i in pq.ParquetFile(seen.root.path / p).read(columns=["tp_id"]).column(0).to_pylist()]
    assert len(ids) == 10
    assert set(Counter(ids).values()) == {1}
    assert set(read_ledger(lake, "t", "p").known()) == set(URIS)

"""Listeners, driver and workers killed at random under load, beside readers: all that was acknowledged is stored once.

Statements 2, 16 and 17 of the sink.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from livesink import engine_over
from servedprocess import MARKS, REQUEST, end, home_with, kill_at_random, sending, served

from tailrace.streams.sink_options import SinkOptions

SENDERS = 2
KILLS = int(os.environ.get("TAILRACE_LONG_KILLS", "20"))
SECONDS = float(os.environ.get("TAILRACE_LONG_SECONDS", "200"))
ROWS = int(os.environ.get("TAILRACE_LONG_LIVE_ROWS", "1000000"))
ENGINES = ("local", "spark")
PAUSE = 0.75 * SENDERS * REQUEST * SECONDS / ROWS
"Seconds between requests: the load lasts as long as the kills do."
CONFIG = """
listener "http" "h" {{
  port = {port}
  api_keys_file = "{root}/keys"
}}
sink "parquet" "p" {{
  path = "{root}/parquet"
  flush_interval = "500ms"
}}
"""


class Reader(threading.Thread):
    """Reads all files, by turns with three engines, and asks Tailrace; whatever goes wrong is kept."""

    def __init__(self, root: Path, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.root, self.stop = root, stop
        self.looks = 0
        self.in_files = 0
        "Rows that were in files at the last look."
        self.seen = 0
        "Rows that Tailrace has shown, with those that wait to be published."
        self.replaced = 0
        "Readings that failed because the file was replaced in the middle."
        self.errors: list[str] = []
        self._engine = engine_over(SinkOptions("p", root), root.parent)

    def run(self) -> None:
        engines = [self._arrow, self._duckdb, self._polars, self._tailrace]
        while not self.stop.is_set():
            if not list(self.root.rglob("*.parquet")):
                time.sleep(0.1)
                continue
            engine = engines[self.looks % len(engines)]
            try:
                rows, distinct = self._read(engine)
            except Exception as error:
                self.errors.append(repr(error))
                continue
            least = max(self.seen, self.in_files) if engine == self._tailrace else self.in_files
            if rows != distinct or rows < least:
                self.errors.append(f"{engine.__name__}: {rows} rows, {distinct} of them distinct, {least} before")
            if engine == self._tailrace:
                self.seen = rows
            else:
                self.in_files = rows
            self.looks += 1
            time.sleep(0.1)

    def _tailrace(self) -> tuple[int, int]:
        (answer,) = self._engine.run("SELECT count(*), count(DISTINCT event_name) FROM sink_p.events")
        ((rows, distinct),) = answer.rows
        return rows, distinct

    def _arrow(self) -> tuple[int, int]:
        tables = [pq.ParquetFile(path).read(["event_name"])["event_name"] for path in self.root.rglob("*.parquet")]
        names = pa.chunked_array([chunk for table in tables for chunk in table.chunks])
        return len(names), pc.count_distinct(names).as_py()

    def _duckdb(self) -> tuple[int, int]:
        with duckdb.connect() as engine:
            sql = f"SELECT count(*), count(DISTINCT event_name) FROM '{self.root}/**/*.parquet'"
            ((rows, distinct),) = engine.execute(sql).fetchall()
            return rows, distinct

    def _polars(self) -> tuple[int, int]:
        names = pl.scan_parquet(f"{self.root}/**/*.parquet").select("event_name").collect()["event_name"]
        return len(names), names.n_unique()

    def _read(self, engine: Callable[[], tuple[int, int]]) -> tuple[int, int]:
        """DuckDB and Polars open a file for its footer and again for rows: one replaced in between is read again."""
        while True:
            before = self._files()
            try:
                return engine()
            except (duckdb.Error, pl.exceptions.PolarsError):
                if engine == self._tailrace or self._files() == before:
                    raise
                self.replaced += 1

    def _files(self) -> dict[Path, int]:
        return {path: path.stat().st_ino for path in self.root.rglob("*.parquet")}


def stored(root: Path) -> Counter[str]:
    """How often each event is in the files."""
    files = (pq.ParquetFile(path).read()["event_name"] for path in (root / "parquet").rglob("events.parquet"))
    return Counter(name for names in files for name in names.to_pylist())


@pytest.mark.parametrize("engine", ENGINES)
def test_16_killed_under_load(engine: str, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    home, port = home_with(tmp_path, CONFIG)
    done = threading.Event()
    reader = Reader(tmp_path / "parquet", done)
    try:
        with served(home, tmp_path, "--engine", engine) as process:
            with sending(f"http://127.0.0.1:{port}", SENDERS, PAUSE) as senders:
                reader.start()
                kills = kill_at_random(process.pid, KILLS, SECONDS, random.Random(7))
                deadline = time.monotonic() + 900
                while reader.looks < 20 or sum(s.acknowledged for s in senders) < ROWS:
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
            stopping = end(process)
            done.set()
            reader.join(60)
    finally:
        done.set()
    found = stored(tmp_path)
    wanted = set().union(*(sender.names for sender in senders))
    assert set(found) == wanted
    assert set(found.values()) == {1}
    assert set(kills) == ({"driver", "listeners"} if engine == "local" else set(MARKS))
    assert not reader.errors
    assert reader.replaced < reader.looks / 10
    assert len(wanted) >= ROWS
    record_property("rows acknowledged and stored once", len(wanted))
    for name, count in sorted(kills.items()):
        record_property(f"kills of {name}", count)
    record_property("requests sent again", sum(sender.again for sender in senders))
    record_property("readings of all files meanwhile", reader.looks)
    record_property("readings of a file that was replaced between two openings", reader.replaced)
    record_property("largest seconds to stop", round(stopping))


def test_16_workers_killed_again_and_again(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Nothing but workers of Spark: each takes the stream with it, and the driver that is begun again goes on."""
    home, port = home_with(tmp_path, CONFIG)
    with served(home, tmp_path, "--engine", "spark") as process:
        with sending(f"http://127.0.0.1:{port}", 1, PAUSE) as senders:
            kills = kill_at_random(process.pid, KILLS, SECONDS, random.Random(3), wanted=["worker"])
        stopping = end(process)
    found = stored(tmp_path)
    assert set(found) == senders[0].names
    assert set(found.values()) == {1}
    record_property("rows acknowledged and stored once", len(found))
    record_property("kills of workers", kills["worker"])
    record_property("largest seconds to stop", round(stopping))

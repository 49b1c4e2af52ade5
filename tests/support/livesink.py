"""A sink fed with records at hand, and its files read back."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import flatwrite as fw
import pyarrow.parquet as pq

from tailrace.cli.sink_tables import PREFIX, readable_of, tables_of
from tailrace.config.load import load_texts
from tailrace.config.model import Config
from tailrace.config.places import Text
from tailrace.lake.paths import Lake
from tailrace.query.beside import Beside
from tailrace.query.engine import Engine
from tailrace.query.limits import Limits
from tailrace.streams import records
from tailrace.streams.batches import conclude, prepare
from tailrace.streams.publish import Publisher
from tailrace.streams.records import Record, address
from tailrace.streams.settings import sinks
from tailrace.streams.sink_options import SinkOptions
from tailrace.streams.transforms import Transform

NOW = 1_700_000_000_000
"2023-11-14T22:13:20Z"
HOUR, DAY = 3_600_000, 86_400_000
IP = address("192.168.1.1")


def frames(*messages: bytes, workspace: int = 42, at: int = NOW) -> Record:
    return Record(records.FRAMES, workspace, at, IP, "tcp.x", fw.framed(*messages))


def lines(body: bytes, kind: int = records.EVENT_LINES, workspace: int = 42, at: int = NOW) -> Record:
    return Record(kind, workspace, at, IP, "http.x", body)


class Sink:
    """Commits records as if they were segments, and publishes them."""

    def __init__(self, root: Path, **options: Any) -> None:
        self.options = SinkOptions("parquet", root / "parquet", **options)
        self.publisher = Publisher(self.options)

    def send(self, *given: Record, publish: bool = True) -> None:
        """A segment of its own."""
        number = self.publisher.last + 1
        part = prepare(self.options, number, given)
        self.publisher.add(conclude(self.options, number, number, [part]))
        if publish:
            self.publisher.publish(10, everything=True)

    def events(self, *rows: fw.Fields, workspace: int = 42, at: int = NOW) -> None:
        self.send(frames(fw.events(rows), workspace=workspace, at=at))

    def restart(self) -> None:
        self.publisher = Publisher(self.options)

    def tree(self) -> list[str]:
        return sorted(str(p.relative_to(self.options.path)) for p in self.options.path.rglob("*") if p.is_file())

    def rows(self, name: str) -> list[dict[str, Any]]:
        return pq.ParquetFile(self.options.path / name).read().to_pylist()

    def quarantined(self) -> list[dict[str, Any]]:
        paths = sorted((self.options.state / "quarantine").iterdir())
        return [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]


def day(stamp: int) -> str:
    return f"{datetime.fromtimestamp(stamp / 1000, UTC):%Y-%m-%d}"


LATE = timedelta(days=7)
TODAY = f"42/{day(NOW)}"
MIXED = (fw.events([fw.event(n) for n in range(30)]), fw.logs([fw.log(n) for n in range(20)]),
         fw.snapshots([fw.snapshot(n) for n in range(10)]))  # fmt: skip


def configured(text: str = "", path: str = "p") -> Config:
    """A sink in TOML, as the document has it."""
    given = Text("x.toml", f'[sinks.x]\ntype = "parquet"\npath = "{path}"\n{text}'.encode(), "/")
    return load_texts([given], now=datetime(2024, 1, 1), environ={})


def chain(text: str) -> tuple[Transform, ...]:
    """`transform` blocks of a sink."""
    given = Text("x.tpc", f'sink "parquet" "x" {{\n path = "p"\n{text}\n}}'.encode(), "/")
    (options,) = sinks(load_texts([given], now=datetime(2024, 1, 1), environ={}), Path("/"))
    return options.transforms


def engine_over(options: SinkOptions, home: Path, limits: Limits | None = None) -> Engine:
    """`tailrace query` over an empty lake and the sink."""
    sinks = Beside(PREFIX, lambda: tables_of(options), lambda: readable_of([options]))
    return Engine(Lake(home / "lake"), limits=limits, beside=sinks)


def asked(sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as engine:
        found: list[tuple[object, ...]] = engine.execute(sql).fetchall()
        return found


def chdb(sql: str) -> str:
    """In a process of its own: its threads do not end with a connection."""
    program = "import sys, chdb; print(chdb.query(sys.argv[1], 'CSV'))"
    run = subprocess.run([sys.executable, "-c", program, sql], stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.strip()

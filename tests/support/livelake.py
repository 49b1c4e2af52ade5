"""A sink of the lake, fed through a spool, in one process."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
from world import World

from tailrace.lake.intents import read_ledger
from tailrace.lake.quarantine import QUARANTINE_SCHEMA, pages
from tailrace.pipeline.arriving import LivePartition
from tailrace.streams.driver import Driver
from tailrace.streams.lake_sink import LakeOptions
from tailrace.streams.records import Record, address
from tailrace.streams.settings import lake_sinks
from tailrace.streams.spool import Spool, SpoolLimits

NOW = 1_700_000_000_000
"2023-11-14T22:13:20Z"
IP = address("192.168.1.1")


def record(kind: int, body: bytes, listener: str, workspace: int = 42, at: int = NOW) -> Record:
    return Record(kind, workspace, at, IP, listener, body)


def message(text: bytes, sender: str = "10.0.0.7") -> bytes:
    """As the syslog listener keeps it."""
    return address(sender) + len(text).to_bytes(4) + text


class LiveLake:
    """A home with a spool and the sinks of its configuration."""

    def __init__(self, root: Path, config: str) -> None:
        self.world = World(root / "home")
        self.world.write_config(config)
        self.spool = root / "home" / "spool" / "default"

    def sinks(self) -> list[LakeOptions]:
        return lake_sinks(self.world.config(), self.spool.with_name("default.lake"))

    def fill(self, given: Iterable[Record], segment_bytes: int = 32 << 20) -> None:
        """What a listener acknowledges."""
        spool = Spool(self.spool, SpoolLimits(segment_bytes=segment_bytes, reserve=0))
        for one in given:
            spool.append(one).result(10)
        spool.close()

    def stores(self) -> list[tuple[LakeOptions, LivePartition]]:
        config, lake = self.world.config(), self.world.lake
        sinks = self.sinks()
        return [(one, LivePartition(lake, config, one.partition, one.format, one.max_lateness)) for one in sinks]

    def drive(self) -> Driver:
        """Everything that is closed, and then the end."""
        stop = threading.Event()
        stop.set()
        driver = Driver(self.spool, [], lakes=self.stores())
        driver.run(stop)
        return driver

    def quarantined(self, table: str, partition: str = "live") -> list[dict[str, Any]]:
        """Records that hold in the lake's quarantine."""
        lake, columns = self.world.lake, tuple(QUARANTINE_SCHEMA.names)
        found = pages(lake, table, partition, read_ledger(lake, table, partition), columns)
        return [row for page in found for row in page.rows.filter(pa.array(page.holds)).to_pylist()]

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        return self.world.query(sql)

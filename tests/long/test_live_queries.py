"""Queries over a day of a sink beside the same rows as they came, without order and bloom filters (statement 39)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from livesink import DAY, NOW

from tailrace.streams.kinds import EVENTS, schema
from tailrace.streams.sink_files import FileKey, FileState, FileWriter, state_of
from tailrace.streams.sink_options import SinkOptions

ROWS = int(float(os.environ.get("TAILRACE_LONG_ROWS", "20e6")))
CHUNK = 500_000
START = NOW // DAY * DAY


def rows(dice: np.random.Generator, count: int) -> pa.Table:
    """A day's events in the order in which anyone sends them."""
    stamps = START + dice.integers(0, DAY, count)
    devices = dice.integers(0, ROWS // 10, count).astype(">u8").view("V8")
    ids = pa.array([bytes(8) + bytes(device) for device in devices], pa.binary())
    same = {name: pa.array([b"\0" * 16] * count, pa.binary()) for name in ("session_id", "source_ip")}
    numbers = dice.integers(0, 10**9, count).tolist()
    columns = {
        "timestamp": pa.array(stamps), "batch_timestamp": pa.array(stamps),
        "workspace_id": pa.array(np.full(count, 42, np.uint64)), "event_type": pa.array(["track"] * count),
        "event_name": pa.array(["page_view"] * count), "device_id": ids, **same,
        "payload": pa.array([b'{"page":"/products/%d","price":%d}' % (n, n) for n in numbers], pa.binary()),
    }  # fmt: skip
    wanted = schema(EVENTS)
    return pa.table([columns[name] for name in wanted.names], schema=wanted)


def seconds(path: Path, condition: str) -> float:
    """The best of five, on one thread."""
    with duckdb.connect() as engine:
        engine.execute("SET threads = 1")
        taken = []
        for _ in range(5):
            before = time.perf_counter()
            engine.execute(f"SELECT count(*), max(payload) FROM '{path}' WHERE {condition}").fetchall()
            taken.append(time.perf_counter() - before)
    return min(taken)


def test_39_order_and_bloom_filters_pay(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    options = SinkOptions("s", tmp_path / "parquet")
    key, writer = FileKey(42, START, EVENTS), FileWriter(options)
    path, plain, staged = key.path(options), tmp_path / "plain.parquet", tmp_path / "staged"
    path.parent.mkdir(parents=True)
    dice, wanted = np.random.default_rng(3), b""
    with pq.ParquetWriter(plain, schema(EVENTS), compression="snappy") as arrival:
        for turn in range(ROWS // CHUNK):
            table = rows(dice, CHUNK)
            wanted = wanted or table["device_id"][0].as_py()
            arrival.write_table(table, row_group_size=options.row_group_size)
            writer.renew(key, state_of(path) if turn else FileState(), table, turn + 1, staged)
            staged.rename(path)
    with duckdb.connect() as engine:
        writer.seal(key, state_of(path), staged, engine)
    staged.rename(path)
    assert pq.read_metadata(path).num_rows == pq.read_metadata(plain).num_rows
    begin = START + DAY // 2
    for what, condition in (
        ("time range", f"timestamp >= {begin} AND timestamp < {begin + 60_000}"),
        ("device", f"device_id = unhex('{wanted.hex()}')"),
    ):
        ratio = seconds(plain, condition) / seconds(path, condition)
        record_property(f"percent of speed of {what} beside arrival order", round(100 * ratio))
        assert ratio >= 5, what

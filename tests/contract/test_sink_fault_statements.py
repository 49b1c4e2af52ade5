"""What the Parquet sink promises, by number: those that other places show at length, in short; docs/statements.md."""

from __future__ import annotations

import hashlib
from pathlib import Path

import flatwrite as fw
import numpy as np
import pyarrow.parquet as pq
from livesink import NOW, TODAY, Sink, asked, frames

from tailrace.streams import records
from tailrace.streams.batches import conclude, prepare
from tailrace.streams.driver import Driver
from tailrace.streams.records import Record, address
from tailrace.streams.spool import Spool, SpoolLimits


def content(sink: Sink) -> list[tuple[str, str]]:
    """Every file with a digest of its bytes."""
    return [(name, hashlib.sha256((sink.options.path / name).read_bytes()).hexdigest()) for name in sink.tree()]


def test_20_the_same_batch_again_changes_nothing(tmp_path: Path) -> None:
    """Done again before its manifest was taken in, after it was published, and by another process."""
    sink = Sink(tmp_path)
    spool = Spool(tmp_path / "spool", SpoolLimits(segment_bytes=400, reserve=0))
    body = fw.framed(fw.events([fw.event(n) for n in range(50)]), b"no batch, but long enough")
    given = Record(records.FRAMES, 42, NOW, address("::1"), "tcp.x", body)
    spool.append(given).result(10)
    spool.close()
    (closed,) = (tmp_path / "spool").glob("*.segment")
    kept = closed.read_bytes()
    prepare(sink.options, 1, [given])  # a task that was killed, or done twice: its runs are named by no manifest
    for _ in range(3):
        closed.write_bytes(kept)
        driver = Driver(tmp_path / "spool", [sink.options])
        driver.step(last=True)
        driver._held.close()
        found = content(sink)
        assert len(sink.rows(f"{TODAY}/events.parquet")) == 50
        assert len(sink.quarantined()) == 1
    sink.restart()
    number = sink.publisher.last
    sink.publisher.add(conclude(sink.options, number, number, [prepare(sink.options, number, [given])]))
    sink.publisher.publish(10, everything=True)
    assert content(sink) == found


def groups_to_read(path: Path, low: int, high: int) -> int:
    """Row groups whose statistics do not tell that no row lies in the range."""
    found = pq.read_metadata(path)
    told = [found.row_group(n).column(0).statistics for n in range(found.num_row_groups)]
    return sum(one.min < high and one.max >= low for one in told)


def test_39_time_ranges_and_devices_need_few_row_groups(tmp_path: Path) -> None:
    """By row groups, which no clock blurs; tests/long/test_live_queries.py measures seconds over a day."""
    dice = np.random.default_rng(5)
    stamps = NOW + dice.permutation(10_000)
    devices = [hashlib.md5(b"%d" % (n % 1000)).digest() for n in range(10_000)]
    rows = [fw.event(timestamp=int(at), device=device) for at, device in zip(stamps, devices, strict=True)]
    sink = Sink(tmp_path, row_group_size=1000)
    sink.send(*(frames(fw.events(rows[at : at + 100])) for at in range(0, 10_000, 100)))
    path, plain = sink.options.path / TODAY / "events.parquet", tmp_path / "plain.parquet"
    order = np.argsort(np.argsort(stamps))
    pq.write_table(pq.ParquetFile(path).read().take(order), plain, row_group_size=1000)
    low, high = NOW + 5000, NOW + 5100
    assert (groups_to_read(plain, low, high), groups_to_read(path, low, high)) == (10, 1)
    absent = hashlib.md5(b"nobody").hexdigest()
    probe = "SELECT count(*) FROM parquet_bloom_probe('{}', 'device_id', unhex('{}')) WHERE NOT bloom_filter_excludes"
    assert asked(probe.format(plain, absent)) == [(10,)]
    ((left,),) = asked(probe.format(path, absent))
    assert isinstance(left, int)
    assert left <= 2

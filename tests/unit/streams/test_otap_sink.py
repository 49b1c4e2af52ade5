"""OTLP logs into the tables that windows read: every request once, whatever is killed."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from otlpwrite import resource_logs

from tailrace.config.load import load_texts
from tailrace.config.places import Text
from tailrace.core.errors import ConfigError
from tailrace.lake.place import LocalPlace
from tailrace.lake.steps import TABLING
from tailrace.streams import records, segments
from tailrace.streams.driver import Driver
from tailrace.streams.otap_sink import OtapOptions
from tailrace.streams.records import Record
from tailrace.streams.settings import otap_sinks
from tailrace.streams.spool import Spool, SpoolLimits
from tailrace.windows.arriving import write_partition
from tailrace.windows.files import list_table


class Killed(BaseException):
    """Nothing behind it is done."""


def fill(root: Path, first: int, count: int = 10) -> None:
    spool = Spool(root, SpoolLimits(segment_bytes=400, reserve=0))
    for number in range(first, first + count):
        body = resource_logs({"service.name": "shop"}, "s", [{"body": f"m{number}", "attributes": {"n": number}}])
        for kind, listener, data in (
            (records.OTLP_PROTO, "otlp.x", body), (records.OTLP_PROTO, "otlp.other", body),
            (records.LOG_LINES, "otlp.x", b'{"message":"no request"}'),
        ):  # fmt: skip
            spool.append(Record(kind, 1, 1_700_000_000_000, bytes(16), listener, data)).result(10)
    spool.close()


def drive(spool: Path, options: OtapOptions) -> None:
    stop = threading.Event()
    stop.set()
    Driver(spool, [], tables={options: write_partition}).run(stop)


def stored(options: OtapOptions) -> list[str]:
    """Bodies of all logs; each has its attributes in the same partition."""
    base, found = LocalPlace(str(options.path)), []
    attributes = {file.part_id: file for file in list_table(base, "log_attrs")}
    for file in list_table(base, "logs"):
        logs = pq.ParquetFile(options.path / file.name).read()
        owned = pq.ParquetFile(options.path / attributes[file.part_id].name).read()
        assert owned.num_rows == logs.num_rows
        found += [body["str"] for body in logs["body"].to_pylist()]
    return found


def options_of(root: Path) -> OtapOptions:
    return OtapOptions("o", root / "otap", listeners=frozenset({"otlp.x"}))


def test_requests_become_partitions(tmp_path: Path) -> None:
    options, spool = options_of(tmp_path), tmp_path / "spool"
    for turn in range(2):
        fill(spool, turn * 10)
        drive(spool, options)
    assert sorted(stored(options)) == sorted(f"m{n}" for n in range(20))
    assert len(list(list_table(LocalPlace(str(options.path)), "logs"))) == 2
    assert not segments.numbers(spool, segments.CLOSED)


@pytest.mark.parametrize("step", TABLING)
def test_killed_at_every_step_each_log_is_stored_once(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, spool = options_of(tmp_path), tmp_path / "spool"

    def die(at: str) -> None:
        if at == step:
            raise Killed

    for turn in range(2):
        fill(spool, turn * 10)
        with monkeypatch.context() as dying:
            dying.setattr("tailrace.streams.otap_sink.reached", die)
            dying.setattr("tailrace.streams.segments.reached", die)
            with pytest.raises(Killed):
                drive(spool, options)
        # More has come before it goes on: what was planned stays as it was.
        fill(spool, 100 + turn * 10)
        drive(spool, options)
    wanted = [*range(20), *range(100, 120)]
    assert sorted(stored(options)) == sorted(f"m{n}" for n in wanted)
    assert not segments.numbers(spool, segments.CLOSED)


def test_what_is_no_request_is_quarantined(tmp_path: Path) -> None:
    options, root = options_of(tmp_path), tmp_path / "spool"
    spool = Spool(root, SpoolLimits(reserve=0))
    spool.append(Record(records.OTLP_JSON, 1, 5, bytes(16), "otlp.x", b'{"resourceLogs": 7}')).result(10)
    spool.close()
    drive(root, options)
    (path,) = (options.state / "quarantine").iterdir()
    (row,) = pq.ParquetFile(path).read().to_pylist()
    assert (row["kind"], row["received_at"], row["listener"]) == ("otlp", 5, "otlp.x")


def configured(text: str) -> list[OtapOptions]:
    given = Text("x.tpc", text.encode(), "/")
    return otap_sinks(load_texts([given], now=datetime(2024, 1, 1), environ={}), Path("/"))


def test_the_block(tmp_path: Path) -> None:
    (found,) = configured('sink "otap" "o" {\n path = "/x/otap"\n compression = "gzip"\n flush_interval = "3s"\n}')
    assert (str(found.path), found.compression, found.flush_interval.total_seconds()) == ("/x/otap", "gzip", 3)
    with pytest.raises(ConfigError, match="between 0 and 1"):
        configured('sink "otap" "o" {\n path = "x"\n transform "sample" {\n rate = 2\n }\n}')
    with pytest.raises(ConfigError, match="max_lateness"):
        configured('sink "otap" "o" {\n path = "x"\n max_lateness = "1d"\n}')


def test_partitions_past_their_retention_are_deleted(tmp_path: Path) -> None:
    options, spool = replace(options_of(tmp_path), retention=timedelta(days=1)), tmp_path / "spool"
    for turn in range(2):
        fill(spool, turn * 10)
        drive(spool, options)
    old, young = sorted((options.path / "logs").iterdir(), key=lambda folder: folder.stat().st_mtime)
    # Not all of it is old: none of it goes.
    _age(options.path / "logs" / old.name)
    drive(spool, options)
    assert len(stored(options)) == 20
    for table in options.path.iterdir():
        _age(table / old.name)
    fill(spool, 20)
    drive(spool, options)
    assert not list(options.path.glob(f"*/{old.name}"))
    assert (options.path / "logs" / young.name).is_dir()
    assert sorted(stored(options)) == sorted(f"m{n}" for n in range(10, 30))


def _age(folder: Path) -> None:
    for path in (*folder.iterdir(), folder):
        os.utime(path, (0, 0))

"""Inputs far larger than memory should hold: read in bounded memory, every row there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from commandline import Home, killed_afterwards
from hugelog import lines

if TYPE_CHECKING:
    from tests.conftest import World

Noted = Callable[[str, object], None]
MOST_MEMORY = 600 << 20
"What a Python process may take, worker or driver."


def events(count: int) -> bytes:
    """CloudTrail events of one day, one after another with commas between."""
    return b",".join(
        json.dumps({
            "eventVersion": "1.08",
            "userIdentity": {"type": "AssumedRole", "arn": f"arn:aws:sts::111122223333:assumed-role/app/i-{n:08x}"},
            "eventTime": f"2026-10-17T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}Z",
            "eventSource": "s3.amazonaws.com", "eventName": "GetObject", "awsRegion": "eu-west-1",
            "sourceIPAddress": f"10.0.{n % 250}.{n % 199}", "eventID": f"{n:032x}", "readOnly": True,
            "requestParameters": {"bucketName": f"bucket-{n % 40}", "key": f"path/{n}/" + "x" * (n % 900)},
        }).encode()
        for n in range(count)
    )  # fmt: skip


def collected(home: Home, table: str, place: Path) -> tuple[dict[str, Any], int]:
    """The summary of a collect by the real command, and the most memory that one of its Python processes took."""
    home.configure(f'partition "{table}" "huge" {{\n source "file" {{\n paths = ["{place}"]\n}}\n}}')
    most = 0
    with killed_afterwards(home.start("collect", "--output", "json")) as process:
        while process.poll() is None:
            python = [pid for pid, command in home.processes().items() if "java" not in command.split(" ")[0]]
            most = max(most, *(_memory(pid) for pid in python), 0)
            time.sleep(0.25)
        out, err = process.communicate()
    assert process.returncode == 0, err
    (partition,) = json.loads(out)["partitions"]
    return partition, most


def _memory(pid: int) -> int:
    """The most that a process has held so far."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = [line for line in text.splitlines() if line.startswith("VmHWM:")]
    return int(found[0].split()[1]) << 10 if found else 0


def test_a_text_file_of_5_gigabytes(home: Home, tmp_path: Path, record_property: Noted) -> None:
    block = lines(225_000)
    repeats = (5 << 30) // len(block) + 1
    place = tmp_path / "access.log"
    with place.open("wb") as file:
        for _ in range(repeats):
            file.write(block)
    partition, most = collected(home, "nginx_access_log", place)
    record_property("largest Python process, MB (5 GB of lines)", most >> 20)
    record_property("rows", partition["rows"]["stored"])
    assert most < MOST_MEMORY
    assert partition["rows"]["received"] == partition["rows"]["stored"] == 225_000 * repeats
    (row,) = home.query(
        "select count(*) as n, sum(body_bytes_sent)::bigint as bytes, count(distinct request_uri) as targets "
        "from nginx_access_log"
    )
    assert row == {
        "n": 225_000 * repeats, "bytes": repeats * sum(n % 90_000 for n in range(225_000)), "targets": 225_000
    }  # fmt: skip


def test_a_document_of_1_gigabyte(home: Home, tmp_path: Path, record_property: Noted) -> None:
    block = events(10_000)
    repeats = (1 << 30) // len(block) + 1
    place = tmp_path / "trail.json"
    with place.open("wb") as file:
        file.write(b'{"Records":[' + block)
        for _ in range(repeats - 1):
            file.write(b"," + block)
        file.write(b"]}")
    partition, most = collected(home, "aws_cloudtrail_log", place)
    record_property("largest Python process, MB (1 GB of JSON)", most >> 20)
    record_property("rows", partition["rows"]["stored"])
    assert most < MOST_MEMORY
    assert partition["rows"]["received"] == partition["rows"]["stored"] == 10_000 * repeats
    (row,) = home.query("select count(*) as n, count(distinct event_id) as ids from aws_cloudtrail_log")
    assert row == {"n": 10_000 * repeats, "ids": 10_000}


def test_ten_thousand_days_in_one_file(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as pq

    most = 0
    made = pq.ParquetWriter

    def counted(*args: Any, **more: Any) -> Any:
        nonlocal most
        most = max(most, sum(1 for _ in Path("/proc/self/fd").iterdir()))
        return made(*args, **more)

    monkeypatch.setattr(pq, "ParquetWriter", counted)
    days = [date(1990, 1, 1) + timedelta(days=n) for n in range(10_000)]
    place = tmp_path / "access.log"
    place.write_text(
        "".join(f'10.0.0.1 - - [{day:%d/%b/%Y}:12:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n' for day in days)
    )
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    report = world.collect_one("nginx_access_log", str(place))
    assert report.clean
    assert (report.counts.stored, report.days) == (10_000, 10_000)
    assert most - before < 100
    assert world.query("select count(*), count(distinct tp_date) from nginx_access_log") == [(10_000, 10_000)]

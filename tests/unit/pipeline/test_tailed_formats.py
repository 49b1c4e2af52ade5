"""A file that comes bit by bit gives the rows of one that is read as a whole, in every format that can be read on."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lakecheck import check, stored
from world import World

from tailrace.core import Delimited, Format, Grok, Jsonl, Layout, Parquet, Regex, Syslog
from tailrace.core.registry import find_table
from tailrace.formats.continuing import continues, goes_on
from tailrace.pipeline import tailing

GOLDEN = Path(__file__).parents[2] / "golden"
ENGINES = (
    "nginx_access_log",
    "apache_error_log",
    "aws_cost_and_usage_report",
    "aws_s3_server_access_log",
    "cef",
    "iis_access_log",
    "mysql_slow_log",
    "postgres_log",
    "snowplow_event",
    "suricata_eve",
    "syslog",
    "traefik_access_log",
    "zeek_conn",
    "zeek_log",
)


def rows(world: World, table: str) -> tuple[Counter[str], Counter[Any], Counter[Any]]:
    ids = Counter(key for _, key in stored(world.home).elements())
    told = world.query(f"select * exclude (tp_ingest_timestamp) from {table}") if ids else []
    refused = world.query("select position, raw, reason from tp_quarantine")
    return ids, Counter(map(str, told)), Counter(refused)


def collect(world: World, table: str, folder: Path) -> None:
    report = world.collect_one(table, str(folder))
    assert report.clean, (report.error, report.troubles)


@pytest.mark.parametrize("table", ENGINES)
def test_bit_by_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    monkeypatch.setattr(tailing, "QUIET", 0.0)
    (given,) = (path for path in (GOLDEN / table).iterdir() if path.stem == "in")
    data = given.read_bytes()
    found = find_table(table)
    assert found is not None
    assert continues(found.format)
    path = tmp_path / "logs" / "a.log"
    path.parent.mkdir()
    grown, whole = World(tmp_path / "grown"), World(tmp_path / "whole")
    moment = time.time() - 3600
    for part in (1, 2, 3):
        path.write_bytes(data[: len(data) * part // 3])
        os.utime(path, (moment + part, moment + part) if part == 3 else None)
        collect(grown, table, path.parent)
    collect(whole, table, path.parent)
    assert rows(grown, table) == rows(whole, table)
    check(grown.home, table, "p")


BEGINS = Regex(r"(?<at>\S+) (?<text>.*)", start=r"^\d{4}-")


@pytest.mark.parametrize(
    ("fmt", "before", "after", "expected"),
    [
        (Jsonl(), b"{}\n", b"{}", True),
        (Jsonl(), b"{}", b"\n{}", True),
        (Jsonl(), b"{}", b"\r\n{}", True),
        (Jsonl(), b"{", b"}\n", False),
        (Grok("%{WORD:a}"), b"a", b"b\n", False),
        (BEGINS, b"2024-01 a\n", b"2024-02 b\n", True),
        (BEGINS, b"2024-01 a\n", b" more of a\n", False),
        (BEGINS, b"2024-01 a\n", b"20", None),
        (BEGINS, b"2024-01 a", b"\n\n2024-02 b\n", True),
        (Syslog(), b"x\n", b"Mar  7 04:02:16 host a: b\n", True),
        (Syslog(), b"x\n", b"\tat b\n", False),
    ],
)
def test_where_a_record_begins(fmt: Format, before: bytes, after: bytes, expected: bool | None) -> None:
    assert goes_on(fmt, before, after, final=False) is expected


def test_formats_that_are_read_as_a_whole() -> None:
    assert not continues(Parquet())
    assert not continues(Layout("version account-id", "vpc"))
    assert not continues(Delimited(new_line="\r"))

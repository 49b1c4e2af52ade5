"""Mistakes that are known of Tailpipe's collection, one test each, named after what goes wrong there."""

from __future__ import annotations

import json
import socket
import zipfile
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from bucketserver import BucketServer, serving
from click.testing import CliRunner
from lakecheck import check, stored
from logfiles import access_lines, write
from objectsources import TRAILS, days, keys, s3_source
from world import World

from tailrace.cli.main import cli
from tailrace.core import TimeRange
from tailrace.lake.intents import Intents
from tailrace.lake.undo import erase

LINE = '192.0.2.7 - - [01/May/2024:10:00:00 +0000] "GET /{} HTTP/1.1" 200 {} "-" "x"\n'
EVENTS = """
table "event" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "at" }
  {more}
}
partition "event" "p" {
  {index}
  source "file" { paths = ["{path}"] }
}
"""


def events(world: World, path: Path, more: str = "", index: str = "") -> None:
    text = EVENTS.replace("{path}", str(path)).replace("{more}", more).replace("{index}", index)
    world.write_config(text)


def web(world: World, *paths: object) -> None:
    listed = ", ".join(f'"{path}"' for path in paths)
    world.write_config(f'partition "apache_access_log" "p" {{\n source "file" {{ paths = [{listed}] }}\n}}')


def test_one_value_that_does_not_fit_loses_its_batch_and_the_state_has_advanced(world: World, tmp_path: Path) -> None:
    lines = [LINE.format(n, 2**40 if n == 700 else n) for n in range(1000)]
    write(tmp_path / "a.log", "".join(lines))
    web(world, tmp_path / "a.log")
    (report,) = world.collect()
    assert (report.counts.stored, report.counts.filtered) == (1000, 0)
    assert world.query("select count(*) from apache_access_log") == [(1000,)]


def test_the_count_of_failed_rows_is_reset(world: World, tmp_path: Path) -> None:
    for name in "abc":
        write(tmp_path / "logs" / f"{name}.log", LINE.format(name, 1) + "bad\n" * 2)
    web(world, tmp_path / "logs")
    (report,) = world.collect()
    assert (report.counts.received, report.counts.stored, report.counts.quarantined) == (9, 3, 6)
    assert world.query("select count(*) from tp_quarantine") == [(6,)]


@pytest.mark.parametrize("name", ["a.log", "a.log.gz", "a.zip"])
def test_a_line_over_64_kb_silently_ends_the_file(world: World, tmp_path: Path, name: str) -> None:
    text = LINE.format("a", 1) + LINE.format("b" * 300_000, 2) + LINE.format("c", 3)
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("inner.log", text)
    else:
        write(tmp_path / name, text)
    web(world, tmp_path / name)
    (report,) = world.collect()
    assert (report.clean, report.counts.stored) == (True, 3)


def test_overwriting_loses_rows_at_midnight_and_leaves_a_hole_when_it_fails(world: World, tmp_path: Path) -> None:
    for day in (1, 2, 3):
        write(tmp_path / "logs" / f"{day}.log", access_lines(date(2024, 5, day), 24))
    web(world, tmp_path / "logs")
    world.collect()
    before = stored(world.home)
    window = TimeRange(datetime(2024, 5, 1), datetime(2024, 5, 2))
    assert all(report.clean for report in world.collect(window=window, overwrite=True))
    assert stored(world.home) == before, "the row of midnight belongs to the next day"
    (tmp_path / "logs" / "1.log").write_bytes(b"\x1f\x8b\x08\x00 not gzip")
    (report,) = world.collect(window=window, overwrite=True)
    assert not report.clean
    assert stored(world.home) == before


def test_what_was_collected_is_noted_before_the_data_are_stored(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a.log", LINE.format("a", 1))
    web(world, tmp_path / "a.log")
    monkeypatch.setattr(Intents, "transact", lambda *_, **__: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    (report,) = world.collect()
    assert not report.clean
    monkeypatch.undo()
    (report,) = world.collect()
    assert (report.clean, report.counts.stored) == (True, 1)
    check(world.home, "apache_access_log", "p")


def test_a_table_never_gets_another_column(world: World, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "1.jsonl", '{"at": "2024-05-01T10:00:00Z"}\n')
    events(world, tmp_path / "logs")
    world.collect()
    write(tmp_path / "logs" / "2.jsonl", '{"at": "2024-05-02T10:00:00Z", "amount": 5, "new": "x"}\n')
    events(world, tmp_path / "logs", 'column "amount" { type = "integer" }')
    (report,) = world.collect()
    assert report.clean
    assert world.query('select amount, "new" from event order by tp_timestamp') == [(None, None), (5, "x")]


def test_the_same_data_are_stored_again(world: World, tmp_path: Path) -> None:
    """A file that two paths and a link lead to, a second run, an object that is delivered again: one row each."""
    file = write(tmp_path / "logs" / "a.log", access_lines(date(2024, 5, 1), 10))
    (tmp_path / "link.log").symlink_to(file)
    web(world, tmp_path / "logs", file, tmp_path / "link.log", f"{tmp_path}/logs/*.log")
    world.collect()
    before = stored(world.home)
    assert before.total() == len(before) == 10
    file.write_bytes(file.read_bytes())
    for _ in range(2):
        assert all(report.clean for report in world.collect())
    assert stored(world.home) == before, "ids are made of the place, not of chance"


def test_row_counts_ignore_deletes_and_count_an_index_as_a_partition(world: World, tmp_path: Path) -> None:
    rows = [{"at": f"2024-05-0{1 + n % 2}T10:00:00Z", "host": "p" if n % 2 else "q"} for n in range(10)]
    write(tmp_path / "a.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    events(world, tmp_path / "a.jsonl", index='tp_index = "host"')
    world.collect()

    def counted() -> int:
        done = CliRunner().invoke(cli, ["--home", str(world.home), "partition", "list", "--output", "json"])
        (row,) = json.loads(done.stdout)
        return int(row["rows"])

    assert counted() == 10
    erase(world.lake, "event", "p", TimeRange(None, datetime(2024, 5, 2)))
    assert counted() == 5


def test_a_bucket_is_walked_directory_by_directory_from_its_root() -> None:
    """20 accounts, 3 regions, 30 days: a day costs as many requests as there are names to find out, and no more."""
    start = date(2024, 5, 1)
    held = {
        f"AWSLogs/{100000000000 + account}/CloudTrail/{region}/{start + timedelta(days=day):%Y/%m/%d}/a.json.gz": b""
        for account in range(20)
        for region in ("eu-west-1", "us-east-1", "us-west-2")
        for day in range(30)
    }
    with serving(BucketServer(held)) as server:
        found = keys(s3_source(server.url, layout=TRAILS).discover(days("2024-05-07")))
        assert len(found) == 60
        assert len(server.lists()) <= 2 + 2 * 20 + 20 * 3 + 2
        assert not [q for q in server.lists() if "/2024/05/0" in q.get("prefix", "") and "/07" not in q["prefix"]]


def test_paths_are_directories_only(world: World, tmp_path: Path) -> None:
    for name in ("one/a.log", "two/b.log", "two/c.txt", "single.log"):
        write(tmp_path / name, LINE.format(name, 1))
    web(world, tmp_path / "one", f"{tmp_path}/t*/*.log", tmp_path / "single.log")
    (report,) = world.collect()
    assert (report.clean, report.counts.stored) == (True, 3)


def test_every_run_needs_the_network(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("somebody wants to use the network")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    write(tmp_path / "a.log", LINE.format("a", 1))
    web(world, tmp_path / "a.log")
    assert all(report.clean for report in world.collect())
    assert world.query("select count(*), any_value(tp_ips) from apache_access_log") == [(1, ["192.0.2.7"])]

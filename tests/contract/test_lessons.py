"""What users of log collectors have had to learn, one test each, named after the lesson."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from bucketserver import BucketServer, serving
from click.testing import CliRunner, Result
from lakecheck import check, stored
from logfiles import access_lines, today, write
from world import World

from tailrace.cli.main import cli
from tailrace.core import ConfigError, TimeRange
from tailrace.lake import commit
from tailrace.lake.place import LocalPlace
from tailrace.lake.undo import erase
from tailrace.pipeline import write as writing

EVENTS = """
table "event" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "at" }
  column "n" { type = "bigint" }
}
partition "event" "p" {
  source "file" { paths = ["PATH"] }
}
"""
BUCKET = """
connection "aws" "stand_in" {
  endpoint_url        = "{url}"
  access_key          = "AKIDTEST"
  secret_key          = "hidden"
  region              = "us-east-1"
  s3_force_path_style = true
}
partition "nginx_access_log" "web" {
  source "aws_s3_bucket" {
    connection  = connection.aws.stand_in
    bucket      = "logs"
    prefix      = "web/"
    file_layout = `%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.log`
  }
}
"""


def run(world: World, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(world.home), *words])


def jsonl(path: Path, *records: object) -> Path:
    return write(path, "".join(f"{json.dumps(record)}\n" for record in records))


def configure(world: World, path: Path) -> None:
    world.write_config(EVENTS.replace("PATH", str(path)))


def test_time_means_event_time(world: World, tmp_path: Path) -> None:
    """Of any age: rows lie on the day of the event; when they came is a column of its own."""
    moments = ("1970-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "2024-02-29T12:00:00+05:30", "2090-01-01T00:00:00Z")
    jsonl(tmp_path / "a.jsonl", *({"at": at, "n": n} for n, at in enumerate(moments)))
    configure(world, tmp_path / "a.jsonl")
    assert all(report.clean for report in world.collect())
    sql = "select tp_date, tp_ingest_timestamp::date from event order by n"
    days = [date(1970, 1, 1), date(1999, 12, 31), date(2024, 2, 29), date(2090, 1, 1)]
    assert [day for day, _ in world.query(sql)] == days
    assert {came for _, came in world.query(sql)} == {datetime.now(UTC).date()}
    assert len(list(world.lake.table_root("event").path.rglob("tp_date=*"))) == 4


def test_state_is_ranges_committed_with_the_data(world: World, tmp_path: Path) -> None:
    """Ranges in any order leave no hole and no double; one that is overwritten is replaced, exactly it."""
    logs = tmp_path / "logs"
    for day in range(1, 6):
        write(logs / f"{day}.log", access_lines(date(2024, 5, day), 24))
    world.write_config(f'partition "nginx_access_log" "web" {{\n source "file" {{ paths = ["{logs}"] }}\n}}')
    for first, last in ((3, 4), (1, 2), (2, 5), (1, 6)):
        world.collect(window=TimeRange(datetime(2024, 5, first, 6), datetime(2024, 5, last, 6)))
    assert world.query("select count(*), count(distinct tp_id) from nginx_access_log") == [(114, 114)]
    before = stored(world.home)
    window = TimeRange(datetime(2024, 5, 2, 12), datetime(2024, 5, 4))
    erase(world.lake, "nginx_access_log", "web", window)
    assert (before - stored(world.home)).total() == 36
    world.collect(window=window, overwrite=True)
    assert stored(world.home) == before
    check(world.home, "nginx_access_log", "web")


def test_a_bucket_is_listed_by_its_layout_and_late_keys_are_found(world: World) -> None:
    def key(day: date, name: str) -> str:
        return f"web/{day:%Y/%m/%d}/{name}.log"

    days = [today() - timedelta(days=n) for n in range(1, 21)]
    held = {key(day, "b"): access_lines(day, 2).encode() for day in days}
    with serving(BucketServer(held)) as server:
        world.write_config(BUCKET.replace("{url}", server.url))
        assert all(report.clean for report in world.collect())
        server.requests.clear()
        server.objects |= {key(days[0], "a"): access_lines(days[0], 3).encode()}
        server.objects[key(days[1], "b")] = access_lines(days[1], 5).encode()
        assert all(report.clean for report in world.collect())
        asked = [query.get("prefix", "") for query in server.lists()]
        assert sorted(server.gets()) == sorted([key(days[0], "a"), key(days[1], "b")]), "late, and changed"
        assert len(asked) < len(days), "old days are not listed for ever"
    assert world.query("select count(*), count(distinct tp_id) from nginx_access_log") == [(46, 46)]


def test_a_type_that_does_not_fit_drops_no_row(world: World, tmp_path: Path) -> None:
    values = [1, "two", 2**80, None, [3], {"n": 4}, 5.5]
    jsonl(tmp_path / "a.jsonl", *({"at": "2024-05-01T10:00:00Z", "n": value} for value in values))
    configure(world, tmp_path / "a.jsonl")
    (report,) = world.collect()
    assert (report.counts.stored, report.counts.flagged, report.counts.quarantined) == (7, 5, 0)
    sql = "select n, tp_extra -> '$.tp_misfit.n' from event order by tp_id"
    kept = [value if value is not None else json.loads(text or "null") for value, text in world.query(sql)]
    assert [json.loads(k) if isinstance(k, str) and k[0] in "[{" else k for k in kept] == values


def test_a_bad_row_is_kept_with_reason_place_and_offset_and_replayed(world: World, tmp_path: Path) -> None:
    good = '{"at": "2024-05-01T10:00:00Z", "n": 1}\n'
    write(tmp_path / "a.jsonl", f'{good}{{"moment": "2024-05-01T11:00:00Z", "n": 2}}\n{good}')
    configure(world, tmp_path / "a.jsonl")
    (report,) = world.collect()
    assert (report.counts.stored, report.counts.quarantined) == (2, 1)
    ((place, position, raw, reason),) = world.query("select location, position, raw, reason from tp_quarantine")
    assert (place, position) == (str(tmp_path / "a.jsonl"), len(good))
    assert b'"moment"' in raw
    assert "tp_timestamp" in reason
    world.write_config((world.home / "config" / "test.tpc").read_text().replace('source = "at"', COALESCED))
    world.replay("event.p")
    assert world.query("select n from event order by n") == [(1,), (1,), (2,)]
    assert world.query("select count(*) from tp_quarantine") == [(0,)]


COALESCED = r'transform = "coalesce(\"at\", moment)::timestamp"'


def test_files_are_written_before_they_are_published(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data, then the intent under another name, then the commit: at no step can half a file be read."""
    order: list[str] = []
    closing, staging = writing.LakeWriter._close, LocalPlace._stage
    publishing = commit.PartitionWriter._publish

    def close(self: object, key: object) -> None:
        closing(self, key)  # type: ignore[arg-type]
        order.append("data")

    def stage(self: LocalPlace, name: str, data: bytes, owner: str, *, lasting: bool = False) -> str:
        path = self.path / name
        assert not path.exists() or path.suffix == ".json"
        order.append(f"staged {path.suffix}")
        return staging(self, name, data, owner, lasting=lasting)

    def publish(*args: object, **more: object) -> None:
        order.append("commit")
        publishing(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(writing.LakeWriter, "_close", close)
    monkeypatch.setattr(LocalPlace, "_stage", stage)
    monkeypatch.setattr(commit.PartitionWriter, "_publish", publish)
    jsonl(tmp_path / "a.jsonl", {"at": "2024-05-01T10:00:00Z", "n": 1})
    configure(world, tmp_path / "a.jsonl")
    assert all(report.clean for report in world.collect())
    data = order.index("data")
    assert order[0] == "staged .json", "what is about to be written is announced"
    assert order[data : data + 3] == ["data", "staged .parquet", "commit"]


GREATEST = """
import sys
from pathlib import Path
from world import World
(report,) = World(Path(sys.argv[1])).collect()
assert report.clean, report
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def test_memory_is_bounded_whatever_the_input(tmp_path: Path) -> None:
    """64 and 256 MB, in files of some hundred kilobytes: the difference is not the size."""
    used = []
    for blocks in (16, 64):
        world = World(tmp_path / f"home{blocks}")
        line = json.dumps({"at": "2024-05-01T10:00:00Z", "n": 1, "pad": "x" * 4_000}).encode() + b"\n"
        (tmp_path / f"{blocks}.jsonl.gz").write_bytes(gzip.compress(line * 1024 * blocks, 1))
        configure(world, tmp_path / f"{blocks}.jsonl.gz")
        done = subprocess.run(
            [sys.executable, "-c", GREATEST, str(world.home)], capture_output=True, text=True, check=True,
            env={"PYTHONPATH": ":".join(sys.path)},
        )  # fmt: skip
        used.append(int(done.stdout) // 1024)
    assert used[1] - used[0] < 100, used


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ('filter = "nothing_like_it = 1"', "nothing_like_it"),
        ('filter = "n ="', "filter"),
        ('fliter = "n = 1"', "fliter"),
        ('tp_index = "no_such_column"', "no_such_column"),
    ],
)
def test_a_setting_that_cannot_work_is_an_error(world: World, tmp_path: Path, wrong: str, says: str) -> None:
    jsonl(tmp_path / "a.jsonl", {"at": "2024-05-01T10:00:00Z", "n": 1})
    text = EVENTS.replace("PATH", f"{tmp_path}/a.jsonl").replace('"event" "p" {', f'"event" "p" {{\n  {wrong}')
    world.write_config(text)
    try:
        (report,) = world.collect()
        told = report.error
    except ConfigError as error:
        told = error
    assert isinstance(told, ConfigError), told
    assert says in str(told)


def test_own_metadata_lies_outside_the_data(world: World, tmp_path: Path) -> None:
    """Whoever lets old data expire by their prefix does not delete what is known of it."""
    jsonl(tmp_path / "a.jsonl", {"at": "2024-05-01T10:00:00Z", "n": 1}, {"n": 2})
    configure(world, tmp_path / "a.jsonl")
    world.collect()
    data, meta = world.lake.data_root.path, world.lake.meta_root.path
    assert not meta.is_relative_to(data)
    assert not data.is_relative_to(meta)
    kinds = {path.suffix for path in world.lake.table_root("event").path.glob("tp_partition=*/**/*") if path.is_file()}
    assert kinds == {".parquet"}
    assert {path.name for path in meta.iterdir()} >= {"ledger", "quarantine"}


def test_export_has_no_limit_and_other_engines_open_the_files(world: World, tmp_path: Path) -> None:
    count = 120_000
    write(tmp_path / "a.jsonl", "".join(f'{{"at": "2024-05-01T10:00:00Z", "n": {n}}}\n' for n in range(count)))
    configure(world, tmp_path / "a.jsonl")
    world.collect()
    shown = run(world, "query", "select n from event", "--output", "csv")
    assert sum(int(row["n"]) for row in csv.DictReader(io.StringIO(shown.stdout))) == count * (count - 1) // 2
    files = str(world.lake.table_root("event").path / "tp_partition=p" / "**" / "*.parquet")
    assert duckdb.sql(f"select count(*), sum(n) from '{files}'").fetchall() == [(count, count * (count - 1) // 2)]


def test_errors_name_table_source_line_and_remedy(world: World, tmp_path: Path) -> None:
    world.write_config(EVENTS.replace("PATH", f"{tmp_path}/nowhere").replace('"bigint"', '"bigger"'))
    done = run(world, "config", "validate")
    told = done.output
    assert (done.exit_code, "test.tpc:5:" in told, "bigger" in told) == (3, True, True)
    assert "hint: " in told
    configure(world, tmp_path / "nowhere")
    (report,) = world.collect()
    (trouble,) = report.troubles
    assert report.name == "event.p"
    assert f"{tmp_path}/nowhere" in trouble.where + trouble.message


def test_everything_is_in_files_and_told_to_programs(world: World, tmp_path: Path) -> None:
    """What is configured is text in a directory; what is there, every list and every detail, is JSON."""
    jsonl(tmp_path / "a.jsonl", {"at": "2024-05-01T10:00:00Z", "n": 1})
    configure(world, tmp_path / "a.jsonl")
    world.collect()
    for kind in ("table", "partition", "source", "format", "connection", "schema", "store", "plugin"):
        assert isinstance(json.loads(run(world, kind, "list", "--output", "json").stdout), list), kind
    shown = json.loads(run(world, "partition", "show", "event.p", "--output", "json").stdout)
    assert "event.p" in json.dumps(shown)
    assert json.loads(run(world, "query", "select n from event", "--output", "json").stdout) == [{"n": 1}]
    assert json.loads(run(world, "config", "show", "--output", "json").stdout)

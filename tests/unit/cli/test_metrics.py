"""Metrics: read by an independent parser, from a file and over HTTP, and true across runs."""

from __future__ import annotations

import os
import threading
import time
import urllib.error
import urllib.request
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logfiles import access_lines, write
from prometheus_client.parser import text_string_to_metric_families
from world import World

from tailrace import __version__
from tailrace.cli.collecting import Collected
from tailrace.cli.metric_text import METRICS, Samples, added, read_back, rendered
from tailrace.cli.metrics import Metrics
from tailrace.cli.metrics_file import MetricsFile
from tailrace.cli.metrics_server import metrics_server
from tailrace.core import UsageError
from tailrace.lake.lock import partition_lock

DAY = date(2024, 5, 1)
NEWEST = datetime(2024, 5, 1, 23, 0, tzinfo=UTC).timestamp()
WEB = """
partition "nginx_access_log" "web" {
  filter = "status < 500"
  source "file" { paths = ["LOGS/*"] }
}
"""


def parsed(text: str) -> Samples:
    """As prometheus-client reads it; families are told with their kind."""
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = sample.name.removeprefix("tailrace_")
            assert METRICS[name].kind == family.type
            assert METRICS[name].help == family.documentation
            assert (name, tuple(sorted(sample.labels.items()))) not in found, "given twice"
            found[name, tuple(sorted(sample.labels.items()))] = sample.value
    return found


def of_web(samples: Samples, name: str, **more: str) -> float | None:
    labels = {"table": "nginx_access_log", "partition": "web", **more}
    return samples.get((name, tuple(sorted(labels.items()))))


@pytest.fixture
def logs(world: World, tmp_path: Path) -> Path:
    logs = tmp_path / "logs"
    write(logs / "a.log", access_lines(DAY, 24) + "no access line\n")
    world.write_config(WEB.replace("LOGS", str(logs)))
    return logs


def collect(world: World, metrics: Metrics) -> None:
    metrics.over(Collected(world.collect(), 1.5), world.lake)


def test_what_a_collection_counts(world: World, logs: Path) -> None:
    (logs / "b.log").write_bytes(b"\x1f\x8b\x08\x00rubbish that is no deflate stream")
    metrics = Metrics()
    began = time.time()
    collect(world, metrics)
    told = parsed(metrics.text())
    rows = {
        n: of_web(told, f"rows_{n}_total") for n in ("received", "stored", "filtered", "out_of_range", "quarantined")
    }
    assert rows == {"received": 25, "stored": 21, "filtered": 3, "out_of_range": 0, "quarantined": 1}
    assert [of_web(told, "artifacts_total", result=r) for r in ("whole", "partial", "failed")] == [1, 0, 1]
    assert of_web(told, "artifact_bytes_total") == sum(p.stat().st_size for p in logs.iterdir())
    assert of_web(told, "written_files_total") == 1
    (size,) = [p.stat().st_size for p in world.lake.data_root.path.rglob("tp_date=*/*.parquet")]
    assert of_web(told, "written_bytes_total") == size
    assert (of_web(told, "failures_total"), of_web(told, "locked_total")) == (1, 0)
    assert of_web(told, "last_success_timestamp_seconds") is None
    assert began <= (of_web(told, "last_run_timestamp_seconds") or 0) <= time.time()
    assert of_web(told, "newest_row_timestamp_seconds") == NEWEST
    assert of_web(told, "lag_seconds") == pytest.approx(time.time() - NEWEST, abs=5)
    assert (told["rounds_total", (("result", "failed"),)], told["round_duration_seconds", ()]) == (1, 1.5)

    (logs / "b.log").unlink()
    collect(world, metrics)
    told = parsed(metrics.text())
    assert (of_web(told, "rows_received_total"), of_web(told, "failures_total")) == (25, 1)
    assert (of_web(told, "last_success_timestamp_seconds") or 0) >= began
    assert told["rounds_total", (("result", "ok"),)] == 1


def test_a_locked_partition_is_no_failure(world: World, logs: Path) -> None:
    metrics = Metrics()
    with partition_lock(world.lake, "nginx_access_log", "web", "test"):
        collect(world, metrics)
    told = parsed(metrics.text())
    assert (of_web(told, "locked_total"), of_web(told, "failures_total")) == (1, 0)
    assert of_web(told, "last_run_timestamp_seconds") is None


def test_counters_in_a_file_go_on_from_run_to_run(world: World, logs: Path, tmp_path: Path) -> None:
    path = tmp_path / "textfile" / "tailrace.prom"
    path.parent.mkdir()
    for number in (1, 2, 3):
        write(logs / f"{number}.log", access_lines(DAY, 24))
        collect(world, Metrics(MetricsFile(path)))
        told = parsed(path.read_text())
        assert of_web(told, "rows_stored_total") == 21 * (number + 1)
        assert told["rounds_total", (("result", "ok"),)] == number
        assert of_web(told, "newest_row_timestamp_seconds") == NEWEST
    assert [p.name for p in path.parent.iterdir()] == ["tailrace.prom"], "nothing is left beside it"


def test_the_file_says_what_the_port_says(world: World, logs: Path, tmp_path: Path) -> None:
    path = tmp_path / "tailrace.prom"
    path.write_text(rendered({("build_info", (("version", "0.0.1"),)): 1.0}))
    metrics = Metrics(MetricsFile(path))
    with metrics_server("127.0.0.1", 0, metrics.text) as address:
        for number in (1, 2, 3):  # rounds of --watch
            write(logs / f"{number}.log", access_lines(DAY, 24))
            collect(world, metrics)
            with urllib.request.urlopen(address) as answer:
                served = parsed(answer.read().decode())
            written = parsed(path.read_text())
            assert written["build_info", (("version", __version__),)] == 1
            lag = {key for key in served if key[0] == "lag_seconds"}
            assert lag
            assert {key: value for key, value in written.items() if key not in lag} == {
                key: value for key, value in served.items() if key not in lag
            }
            assert all(written[key] == pytest.approx(served[key], abs=60) for key in lag)


def test_a_file_is_replaced_whole_while_several_write(tmp_path: Path) -> None:
    path = tmp_path / "tailrace.prom"
    key = ("rounds_total", (("result", "ok"),))
    seen: list[float] = []

    def count() -> None:
        file = MetricsFile(path)
        for _ in range(25):
            assert file.add({key: 1.0})

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if path.exists():
            seen.append(parsed(path.read_text())[key])
    assert seen == sorted(seen)
    assert parsed(path.read_text()) == {key: 100.0}


def test_a_file_behind_a_link_and_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    link, pipe = tmp_path / "link.prom", tmp_path / "pipe.prom"
    link.symlink_to(tmp_path / "far" / "real.prom")
    key = ("rounds_total", (("result", "ok"),))
    for number in (1.0, 2.0):
        assert MetricsFile(link).add({key: 1.0})
        assert parsed((tmp_path / "far" / "real.prom").read_text()) == {key: number}
    assert link.is_symlink()
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert MetricsFile(pipe).add({key: 1.0})
        assert parsed(os.read(reader, 65536).decode()) == {key: 1.0}
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_files_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.prom"
    other.write_text("node_load1 0.5\n")
    for path in (other, tmp_path / "missing" / "x.prom", tmp_path):
        with pytest.raises(UsageError) as caught:
            MetricsFile(path)
        assert caught.value.code == "usage.metrics-file"
    assert other.read_text() == "node_load1 0.5\n"
    file = MetricsFile(tmp_path / "sub.prom")
    file.path.mkdir()
    metrics = Metrics(file)
    for _ in range(2):
        metrics.save()
    assert capsys.readouterr().err.count("cannot be written") == 1
    file.path.rmdir()
    metrics.save()
    assert "tailrace_build_info" in file.path.read_text(), "what was not written comes later"


def test_over_http(world: World, logs: Path) -> None:
    metrics = Metrics()
    with metrics_server("127.0.0.1", 0, metrics.text) as address:
        collect(world, metrics)
        with urllib.request.urlopen(address) as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            told = parsed(answer.read().decode())
        assert of_web(told, "rows_stored_total") == 21
        with pytest.raises(urllib.error.HTTPError, match="404") as missing:
            urllib.request.urlopen(address.replace("/metrics", "/other"))
        missing.value.close()
        taken = int(address.rpartition(":")[2].partition("/")[0])
        with pytest.raises(UsageError), metrics_server("127.0.0.1", taken, metrics.text):
            pass
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x85\u2028\u2029\x0b\x0c\x1c\x1d\x1e"))


@given(st.dictionaries(st.tuples(texts, texts), st.floats(0, 1e15) | st.integers(0, 10**15).map(float)))
def test_any_names_and_values(values: dict[tuple[str, str], float]) -> None:
    """Quotes, backslashes and line ends in names come back as they were, with our parser and with another."""
    samples: Samples = {
        ("rows_stored_total", (("partition", partition), ("table", table))): value
        for (table, partition), value in values.items()
    }
    assert parsed(rendered(samples)) == samples
    assert read_back(rendered(samples)) == samples
    assert added(samples, samples) == {key: 2 * value for key, value in samples.items()}

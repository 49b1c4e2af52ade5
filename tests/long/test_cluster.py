"""The CloudTrail of the benchmarks at 4× on a standalone cluster: what one machine stores, whatever dies.

Executors have Tailrace from the packed environment alone. TAILRACE_CLUSTER_SCALE changes the scale.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from commandline import Home, ended, killed_afterwards
from lakecheck import check
from sparkcluster import Cluster, free_port, watched

from tailrace.lake.paths import Lake
from tailrace.lake.snapshot import snapshot

Noted = Callable[[str, object], None]
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SCALE = int(os.environ.get("TAILRACE_CLUSTER_SCALE", "4"))
TABLE = "aws_cloudtrail_log"
DAY = "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}"
LAYOUT = f"AWSLogs/%{{NUMBER:account_id}}/CloudTrail/%{{DATA:region}}/{DAY}/%{{DATA}}.json.gz"
ASKED = ("collect", "--from", "2026-01-01", "--output", "json")
OF_THE_RUN = {"tp_ingest_timestamp", "tp_index"}
"Columns that differ: when rows were stored, and where they were put."


@pytest.fixture(scope="module")
def logs() -> Path:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        from generate import dataset  # type: ignore[import-not-found,unused-ignore]
    finally:
        sys.path.remove(str(BENCHMARKS))
    found: Path = dataset("cloudtrail", SCALE) / "logs"
    return found


def configure(home: Home, logs: Path, index: str = "") -> None:
    source = f'source "file" {{\n paths = ["{logs}"]\n file_layout = `{LAYOUT}`\n}}'
    home.configure(f'partition "{TABLE}" "trail" {{\n{index}\n{source}\n}}')


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, logs: Path) -> Home:
    """What one machine collects."""
    home = Home(tmp_path_factory.mktemp("local"))
    configure(home, logs)
    run(home, *ASKED)
    return home


@pytest.fixture
def at(tmp_path: Path, logs: Path) -> Home:
    home = Home(tmp_path / "home", {"SPARK_LOCAL_IP": "127.0.0.1"})
    configure(home, logs)
    return home


def files(home: Home) -> list[str]:
    seen = snapshot(Lake(home.path), TABLE)
    return [seen.root.address(path) for path in seen.files["path"].to_pylist()]


def values(home: Home) -> tuple[list[str], tuple[int, int]]:
    """Names of columns; rows, and the sum of their hashes."""
    rows = "read_parquet(?, union_by_name = true, hive_partitioning = false)"
    described = duckdb.execute(f"describe select * from {rows}", [files(home)]).fetchall()
    names = sorted(f'"{name}"' for name, *_ in described if name not in OF_THE_RUN)
    sums = f"select count(*), sum(hash(t)::hugeint) from (select {', '.join(names)} from {rows}) t"
    ((count, sum_),) = duckdb.execute(sums, [files(home)]).fetchall()
    return names, (count, sum_)


def check_same(home: Home, local: Home, note: Noted) -> None:
    """The multisets of ids are equal, and so are all other values."""
    ids = "select tp_id from read_parquet(?)"
    sides = (files(home), files(local))
    for one, other in (sides, sides[::-1]):
        (more,) = duckdb.execute(f"select count(*) from ({ids} except all {ids})", [one, other]).fetchall()
        assert more == (0,)
    assert values(home) == values(local)
    check(home.path, TABLE, "trail")
    note("rows compared", values(local)[1][0])


def whole(process: subprocess.Popen[str]) -> None:
    """Waits until all is stored; 1.6 million rows take minutes where others are at work."""
    done = ended(process, seconds=1200)
    assert done.code == 0, done.err + done.out


def run(home: Home, *command: str) -> None:
    with killed_afterwards(home.start(*command)) as process:
        whole(process)


def test_the_same_rows_and_jobs_say_what_they_are(
    at: Home, local: Home, cluster: Cluster, environment: Path, logs: Path, record_property: Noted
) -> None:
    """Collected, and then written anew with another `tp_index` by the cluster as well; `maintain` leaves it so."""
    port = free_port()
    where = ("--master", cluster.master, "--spark-env", str(environment), "--spark-conf", f"spark.ui.port={port}")
    began = time.monotonic()
    with killed_afterwards(at.start(*ASKED, *where)) as process:
        names = watched(process, port)
        whole(process)
    record_property("seconds on the cluster", round(time.monotonic() - began))
    assert all(name.startswith("tailrace") for name in names), names
    collecting = [name for name in names if name.startswith(f"tailrace {TABLE}.trail 2026-")]
    assert collecting
    check_same(at, local, record_property)
    configure(at, logs, 'tp_index = "recipient_account_id"')
    with killed_afterwards(at.start("compact", "--reindex", "--output", "json", *where)) as process:
        names = watched(process, port)
        whole(process)
    compacting = [name for name in names if name.startswith(f"tailrace compact {TABLE}.trail: ")]
    assert compacting, names
    assert all(name.startswith("tailrace") for name in names), names
    record_property("jobs named in Spark's pages", len(collecting) + len(compacting))
    assert len(files(at)) > len(files(local))
    check_same(at, local, record_property)
    run(at, "maintain")
    check_same(at, local, record_property)


def test_an_executor_is_killed_in_the_middle(
    at: Home, local: Home, cluster: Cluster, environment: Path, record_property: Noted
) -> None:
    """Spark begins its tasks again elsewhere, and the lake cannot tell."""
    command = (*ASKED, "--master", cluster.master, "--spark-env", str(environment))
    with killed_afterwards(at.start(*command)) as process:
        executor = None
        while executor is None:
            assert process.poll() is None, process.communicate()
            executor = next(filter(None, map(cluster.executor_of, cluster.reading(".json.gz"))), None)
            time.sleep(0.1)
        # Long enough that its tasks have written something.
        time.sleep(3)
        os.kill(executor, signal.SIGKILL)
        whole(process)
    record_property("executors killed", 1)
    # What lost tasks have left behind goes with the next run.
    run(at, *ASKED)
    check_same(at, local, record_property)

"""Ways to a cluster, with little data: by `spark-submit`, over Spark Connect, with an environment or without."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from commandline import Home, ended, killed_afterwards, wait_for
from lakecheck import Rows, check, stored
from logfiles import access_lines, write
from sparkcluster import Cluster, free_port, jobs, unpacked
from world import World

from tailrace.lake.paths import Lake
from tailrace.lake.snapshot import snapshot

Noted = Callable[[str, object], None]
PLACES = [("nginx_access_log", "a"), ("nginx_access_log", "b")]
DAYS = [date(2024, 5, n) for n in (1, 2, 3)]
LAYOUT = "%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.log"
LINES = 500
MANY = 150_000
ASKED = ("--output", "json", "--from", "2024-05-01")
SAID = [f"tailrace nginx_access_log.{name} 2024-05-01 to 2024-05-03: 3 artifacts" for name in "ab"]
SUBMITTED = "from tailrace.cli.main import main\n\nmain()\n"
# What is little is merged without Spark: here nothing is.
ALL_IN_SPARK = f"from tailrace.pipeline import compact\n\ncompact.FEW = 0\n{SUBMITTED}"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two partitions of three days, with a bad line each; one day is large enough to be interrupted in the middle."""
    folder = tmp_path_factory.mktemp("logs")
    for name in "ab":
        for day in DAYS:
            lines = access_lines(day, MANY if (name, day) == ("a", DAYS[0]) else LINES)
            write(folder / name / f"{day}.log", lines + "bad line\n")
    return folder


def configuration(logs: Path) -> str:
    return "\n".join(
        f'partition "nginx_access_log" "{name}" {{\n lookback = "9999d"\n source "file" {{\n'
        f' paths = ["{logs}/{name}"]\n file_layout = `{LAYOUT}`\n}}\n}}'
        for name in "ab"
    )


@pytest.fixture(scope="module")
def expected(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """What one process collects without Spark."""
    world = World(tmp_path_factory.mktemp("local"))
    world.write_config(configuration(logs))
    assert all(report.clean for report in world.collect())
    assert stored(world.home).total() == MANY + 5 * LINES
    return stored(world.home)


@pytest.fixture(scope="module")
def python(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"spark.pyspark.python={unpacked(environment, tmp_path_factory.mktemp('unpacked'))}"


@pytest.fixture
def at(tmp_path: Path, logs: Path) -> Home:
    home = Home(tmp_path / "home", {"SPARK_LOCAL_IP": "127.0.0.1"})
    home.configure(configuration(logs))
    return home


def checked(home: Home, expected: Rows, note: Noted) -> None:
    assert stored(home.path) == expected
    for place in PLACES:
        check(home.path, *place)
    note("rows compared", expected.total())


def test_by_spark_submit(
    at: Home, cluster: Cluster, python: str, expected: Rows, tmp_path: Path, record_property: Noted
) -> None:
    """Its master and settings hold."""
    program = write(tmp_path / "submitted.py", SUBMITTED)
    submit = f"{cluster.env['SPARK_HOME']}/bin/spark-submit"
    here = f"spark.pyspark.driver.python={sys.executable}"
    command = (submit, "--master", cluster.master, "--conf", python, "--conf", here, str(program), "collect", *ASKED)
    env = at.environment(JAVA_HOME=cluster.env["JAVA_HOME"])
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with killed_afterwards(process):
        done = ended(process)
    assert done.code == 0, done.err
    assert len([*cluster.folder.glob("work-*/app-*/*/stderr")]) >= 2, "executors of both workers"
    checked(at, expected, record_property)


def test_over_spark_connect(
    at: Home, cluster: Cluster, python: str, logs: Path, expected: Rows, record_property: Noted
) -> None:
    """First without the environment: the server's Python has no Tailrace, which is said, and nothing is stored.

    Then Ctrl-C, which gives the cores back to others; and the next run stores all.
    """
    port = free_port()
    large = str(logs / "a" / f"{DAYS[0]}.log")
    with cluster.connect_server(port) as address:
        done = at.run("collect", *ASKED, "--remote", address)
        assert done.code == 5, done.err
        troubles = [trouble for p in done.json()["partitions"] for trouble in p["troubles"]]
        assert {trouble["code"] for trouble in troubles} == {"spark.environment"}, troubles
        assert stored(at.path).total() == 0
        command = ("collect", *ASKED, "--remote", address, "--spark-conf", python)
        with killed_afterwards(at.start(*command)) as process:
            while not cluster.reading(large):
                assert process.poll() is None, process.communicate()
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            done = ended(process)
        assert done.code == 130, done.err
        wait_for(lambda: not cluster.reading(large), 60, "tasks go on")
        done = at.run(*command)
        said = {job["description"].partition(" (run ")[0] for job in jobs(port)}
    assert done.code == 0, done.err
    assert set(SAID) <= said
    assert all(text.startswith("tailrace") for text in said), said
    checked(at, expected, record_property)


def test_compaction_over_spark_connect(
    at: Home, cluster: Cluster, python: str, tmp_path: Path, record_property: Noted
) -> None:
    source = f'source "file" {{ paths = ["{tmp_path}/logs"] }}'
    at.configure(f'partition "nginx_access_log" "a" {{\n lookback = "9999d"\n{source}\n}}')
    world = World(at.path)
    for number in range(3):
        for day in DAYS:
            write(tmp_path / "logs" / f"{day}-{number}.log", access_lines(day, LINES + number))
        assert all(report.clean for report in world.collect())
    before = stored(at.path)
    program = write(tmp_path / "compact_in_spark.py", ALL_IN_SPARK)
    port = free_port()
    with cluster.connect_server(port) as address:
        command = (sys.executable, str(program), "compact", "--remote", address, "--spark-conf", python)
        done = subprocess.run(command, env=at.environment(), capture_output=True, text=True, timeout=240)
        said = {job["description"] for job in jobs(port)}
    assert done.returncode == 0, done.stderr
    assert "tailrace compact nginx_access_log.a: 9 files" in said
    assert snapshot(Lake(at.path), "nginx_access_log").files.num_rows == len(DAYS)
    assert stored(at.path) == before
    check(at.path, *PLACES[0])
    record_property("rows compared", before.total())

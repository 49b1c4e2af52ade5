"""A Java that does not start, or does not live: exit 5, what Java said, where the log is; the next run collects all."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from commandline import Finished, Home, ended, killed_afterwards, wait_for
from logfiles import access_lines, today, write

WEB = 'partition "nginx_access_log" "web" {\n source "file" { paths = ["LOGS"] }\n}\n'


@pytest.fixture
def home(home: Home, tmp_path: Path) -> Home:
    write(tmp_path / "logs" / "a.log", access_lines(today(), 3))
    home.configure(WEB.replace("LOGS", f"{tmp_path}/logs"))
    return home


def java(folder: Path, script: str) -> str:
    """A Java that calls itself 17, whatever it does."""
    write(folder / "release", 'JAVA_VERSION="17.0.1"\nMODULES="java.base"\n')
    write(folder / "bin" / "java", f"#!/bin/bash\n{script}\n").chmod(0o755)
    return str(folder)


def assert_told(home: Home, done: Finished, *words: str) -> None:
    assert done.code == 5, done
    assert "error[spark.start]" in done.err
    assert all(word in done.err for word in words), done.err
    assert "hint: " in done.err
    assert "Traceback" not in done.err
    assert not (home.path / "data").exists() or not list((home.path / "data").rglob("*.parquet"))
    home.assert_no_process_is_left()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'Unrecognized option: --add-opens' >&2; exit 1", "ended with status 1 before it was ready: Unrecog"),
        ("echo 'Error: LinkageError: UnsupportedClassVersionError: class file version 61.0' >&2; exit 1", "61.0"),
        ("kill -9 $$", "was killed by SIGKILL"),
    ],
    ids=["another version", "an older one", "killed"],
)
def test_java_that_does_not_start(home: Home, tmp_path: Path, script: str, words: str) -> None:
    done = home.run("collect", "--output", "json", JAVA_HOME=java(tmp_path / "java", script))
    assert_told(home, done, words, str(home.path / "logs" / "spark.log"))
    told = done.json()
    assert (told["error"]["code"], told["interrupted"], told["partitions"]) == ("spark.start", False, [])
    assert words in told["error"]["message"]


def test_no_memory_for_the_heap(home: Home) -> None:
    done = home.run("collect", "--spark-conf", "spark.driver.memory=900t")
    assert_told(home, done, "heap", "spark.driver.memory=512m", str(home.path / "logs" / "spark.log"))


def test_java_home_that_is_nonsense(home: Home, tmp_path: Path) -> None:
    done = home.run("collect", "--java-home", str(tmp_path))
    assert (done.code, "error[usage.java-home]" in done.err) == (2, True), done
    assert "bin/java is not a program" in done.err
    told = home.run("doctor", JAVA_HOME=str(tmp_path / "nowhere"))
    assert "JAVA_HOME: " in told.out + told.err, "it is passed over, and the doctor says so"
    assert "nowhere/bin/java is not a program" in told.out + told.err


def test_the_jvm_is_killed_while_it_starts(home: Home, tmp_path: Path) -> None:
    empty = str(tmp_path / "no-archive")
    with killed_afterwards(home.start("collect", TAILRACE_CACHE_DIR=empty)) as process:
        wait_for(lambda: _jvm(home) or process.poll() is not None)
        os.kill(_jvm(home), signal.SIGKILL)
        done = ended(process)
    assert_told(home, done, "was killed by SIGKILL", "memory")
    # JAVA_HOME names nothing: another Java is found, and nothing was lost.
    report = home.collect(JAVA_HOME=str(tmp_path / "nowhere"))["nginx_access_log.web"]
    assert report["rows"]["stored"] == 3


def _jvm(home: Home) -> int:
    return next((p for p, c in home.processes().items() if "org.apache.spark.deploy.SparkSubmit" in c), 0)

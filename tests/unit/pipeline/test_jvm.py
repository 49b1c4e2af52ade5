"""The driver's life, with a shell script in the place of Java."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tailrace.core.errors import SparkError
from tailrace.pipeline.jvm import Driver
from tailrace.pipeline.jvm_log import rotated_log
from tailrace.pipeline.options import SessionOptions, settle

# Writes port 258 and secret "abc" as Spark does, then waits for its stdin to close.
ANSWERS = """
printf '\\000\\000\\001\\002\\000\\000\\000\\003abc' > "$_PYSPARK_DRIVER_CONN_INFO_PATH.tmp"
mv "$_PYSPARK_DRIVER_CONN_INFO_PATH.tmp" "$_PYSPARK_DRIVER_CONN_INFO_PATH"
cat > /dev/null
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE", "MASTER", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)


def options(tmp_path: Path, script: str) -> SessionOptions:
    home = tmp_path / "java"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    (home / "release").write_text('JAVA_VERSION="17.0.1"\nMODULES="java.base"\n')
    program = home / "bin" / "java"
    program.write_text(f'#!/bin/bash\nprintf "%s\\n" "$@" > {tmp_path}/arguments\n{script}')
    program.chmod(0o755)
    return SessionOptions(master="local[2]", java_home=str(home), home=tmp_path / "home")


def arguments(tmp_path: Path) -> list[str]:
    return (tmp_path / "arguments").read_text().splitlines()


def test_join_gives_port_and_secret_and_close_ends_it(tmp_path: Path) -> None:
    driver = Driver.launch(settle(options(tmp_path, ANSWERS)))
    gateway = driver.join()
    assert (gateway.port, gateway.secret) == (258, "abc")
    assert driver.join() is gateway
    assert driver.alive
    assert driver.close(10) == 0
    assert not driver.alive


def test_command(tmp_path: Path) -> None:
    conf = {
        "spark.driver.memory": "700m",
        "spark.driver.extraJavaOptions": "-Da=1 '-Db=x y'",
        "spark.jars": "/a.jar",
        "spark.hadoop.fs.secret": "hidden",
    }
    settings = settle(SessionOptions(**{**_fields(options(tmp_path, ANSWERS)), "conf": conf}))
    driver = Driver.launch(settings)
    driver.join()
    driver.close(10)
    told = arguments(tmp_path)
    assert {"-Xmx700m", "-Da=1", "-Db=x y", "spark.jars=/a.jar"} <= set(told)
    assert told[-1] == "pyspark-shell"
    assert not any("vector" in argument for argument in told)
    assert not any("hidden" in argument for argument in told), "secrets do not belong in a process list"


def _fields(given: SessionOptions) -> dict[str, object]:
    return {name: getattr(given, name) for name in SessionOptions.__slots__}


def test_dead_jvm_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    driver = Driver.launch(settle(options(tmp_path, "echo 'Unrecognized option: -Xyz' >&2\nexit 1\n")))
    with pytest.raises(SparkError) as caught:
        driver.join()
    assert (caught.value.code, caught.value.exit_code) == ("spark.start", 5)
    log = tmp_path / "home" / "logs" / "spark.log"
    assert str(caught.value) == f"{log}: Spark's JVM ended with status 1 before it was ready: Unrecognized option: -Xyz"
    assert "tailrace doctor" in (caught.value.hint or "")
    driver.close()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("kill -9 $$", "was killed by SIGKILL"),
        ("echo 'Could not reserve enough space for 1048576KB object heap'; exit 1", "Could not reserve enough space"),
        ("echo 'java.lang.OutOfMemoryError: unable to create native thread' >&2; exit 3", "OutOfMemoryError"),
    ],
)
def test_jvm_without_memory(tmp_path: Path, script: str, words: str) -> None:
    driver = Driver.launch(settle(options(tmp_path, script)))
    with pytest.raises(SparkError, match=words) as caught:
        driver.join()
    assert "spark.driver.memory" in (caught.value.hint or "")
    driver.close()


def test_java_that_cannot_be_run(tmp_path: Path) -> None:
    given = options(tmp_path, "")
    program = tmp_path / "java" / "bin" / "java"
    program.write_bytes(b"\x7fELF of another machine")
    with pytest.raises(SparkError, match=r"bin/java cannot be started: Exec format error") as caught:
        Driver.launch(settle(given))
    assert (caught.value.code, caught.value.exit_code) == ("spark.start", 5)


def test_what_java_said_is_told_where_no_log_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    driver = Driver.launch(settle(options(tmp_path, "echo 'Unrecognized option: -Xyz' >&2\nexit 1\n")))
    with pytest.raises(SparkError, match=r"before it was ready: Unrecognized option: -Xyz") as caught:
        driver.join()
    assert caught.value.where is None, "a place that is gone a moment later"
    driver.close()


def test_archive_survives_a_jvm_that_is_killed(tmp_path: Path) -> None:
    settings = settle(options(tmp_path, f'case "$*" in *SharedArchiveFile*) kill -9 $$;; esac\n{ANSWERS}'))
    probe = Driver.launch(settings)
    probe.join()
    probe.close(10)
    probe.archive.path.parent.mkdir(parents=True, exist_ok=True)
    probe.archive.path.write_bytes(b"good")
    driver = Driver.launch(settings)
    assert driver.join().port == 258
    assert probe.archive.path.exists()
    driver.close(10)


def test_jvm_that_dies_of_its_archive_starts_again_without(tmp_path: Path) -> None:
    script = f'case "$*" in *SharedArchiveFile*) exit 134;; esac\n{ANSWERS}'
    settings = settle(options(tmp_path, script))
    probe = Driver.launch(settings)
    archive = probe.archive
    probe.join()
    probe.close(10)
    archive.path.parent.mkdir(parents=True, exist_ok=True)
    archive.path.write_bytes(b"nonsense")
    driver = Driver.launch(settings)
    assert driver.join().port == 258
    assert not archive.path.exists()
    driver.close(10)


def test_archive_survives_a_jvm_that_dies_of_something_else(tmp_path: Path) -> None:
    settings = settle(options(tmp_path, "exit 1\n"))
    driver = Driver.launch(settings)
    driver.close()
    driver.archive.path.parent.mkdir(parents=True, exist_ok=True)
    driver.archive.path.write_bytes(b"good")
    driver = Driver.launch(settings)
    with pytest.raises(SparkError):
        driver.join()
    driver.close()
    assert driver.archive.path.exists()


def test_unjoined_jvm_is_killed_at_once(tmp_path: Path) -> None:
    driver = Driver.launch(settle(options(tmp_path, "exec sleep 60\n")))
    begun = time.monotonic()
    driver.close()
    assert time.monotonic() - begun < 5
    assert not driver.alive


def test_environment_of_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://elsewhere")
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    driver = Driver.launch(settle(options(tmp_path, f"env > {tmp_path}/env\n{ANSWERS}")))
    driver.join()
    driver.close(10)
    seen = (tmp_path / "env").read_text().splitlines()
    assert f"PYSPARK_PYTHON={sys.executable}" in seen
    assert not any(line.startswith(("SPARK_REMOTE=", "PYSPARK_GATEWAY_PORT=")) for line in seen)
    assert "_PYSPARK_DRIVER_CONN_INFO_PATH" not in os.environ


def test_kill_9_of_the_parent_ends_the_jvm(tmp_path: Path) -> None:
    given = options(tmp_path, ANSWERS + f"touch {tmp_path}/ended\n")
    program = f"""
import os, signal
from pathlib import Path
from tailrace.pipeline.jvm import Driver
from tailrace.pipeline.options import SessionOptions, settle
options = SessionOptions("local", java_home={given.java_home!r}, home=Path({str(given.home)!r}))
Driver.launch(settle(options)).join()
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 10
    while not (tmp_path / "ended").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_log_keeps_the_last_one(tmp_path: Path) -> None:
    for text in ("first", "second", "third"):
        rotated_log(tmp_path).write_text(text)
    assert (tmp_path / "logs" / "spark.log").read_text() == "third"
    assert (tmp_path / "logs" / "spark.log.1").read_text() == "second"
    assert len(list((tmp_path / "logs").iterdir())) == 2


def test_log_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    driver = Driver.launch(settle(options(tmp_path, ANSWERS)))
    assert driver.join().port == 258
    driver.close(10)

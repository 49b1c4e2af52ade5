from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tailrace.core.errors import SourceError
from tailrace.lake.place import LocalPlace
from tailrace.pipeline.failure import partition_failure, spark_failure

WORKER_TRACE = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "a.py", line 1, in f
    raise ValueError("bad day")
ValueError: bad day
"""


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (
            "x\norg.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
            "worker-died",
            "worker",
        ),
        ("Answer from Java side is empty", "jvm-died", "JVM"),
        (WORKER_TRACE, "failed", "ValueError: bad day"),
        (
            "An error occurred\n: java.lang.IllegalStateException: no\n\tat a.b",
            "failed",
            "IllegalStateException: no",
        ),
        ("", "failed", "RuntimeError"),
    ],
)
def test_said_in_one_line(text: str, code: str, message: str) -> None:
    error = spark_failure(RuntimeError(text), Path("/h"))
    assert error.code == f"spark.{code}"
    assert message in error.message
    assert "\n" not in error.message
    assert error.where == "/h/logs/spark.log"
    assert error.hint


def test_a_call_that_was_cut_off() -> None:
    """py4j tells no more when the JVM dies in the middle of a call; Java's own errors come with a stack."""
    from py4j.protocol import Py4JError

    assert spark_failure(Py4JError("An error occurred while calling o99.getResult")).code == "spark.jvm-died"
    told = "An error occurred while calling o99.getResult.\n: java.lang.IllegalStateException: no"
    assert spark_failure(Py4JError(told)).code == "spark.failed"


def test_our_own_errors_pass() -> None:
    own = SourceError("x")
    assert spark_failure(own) is own


@pytest.mark.parametrize(("file", "place"), [(None, "t.p"), ("/lake/x.tmp", "t.p: /lake/x.tmp")])
def test_a_full_disk_is_told_with_the_partition(file: str | None, place: str) -> None:
    """A call that writes knows no names."""
    error = OSError(errno.ENOSPC, "No space left on device", *([file] if file else []))
    told = partition_failure(error, "t.p")
    assert (told.code, told.exit_code, str(told)) == ("lake.io", 5, f"{place}: No space left on device")


def test_a_small_file_that_finds_no_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as told:
        LocalPlace(str(tmp_path)).put("a.json", b"{}", "run")
    assert told.value.filename == f"{tmp_path}/a.json.run.tmp"

"""What went wrong inside Spark, said in one line."""

from __future__ import annotations

import re
from pathlib import Path

from tailrace.core.errors import LakeError, SparkError, TailraceError, one_line

JVM_DIED = "spark.jvm-died"
_WORKER_DIED = ("Python worker exited unexpectedly", "Python worker process terminated")
_JVM_DIED = (
    "Py4JNetworkError",
    "Answer from Java side is empty",
    "ConnectionRefusedError",
    "ConnectionResetError",
)
_CUT_OFF = re.compile(r"Py4JError: An error occurred while calling [\w.]+")
"What py4j says of a call whose connection broke: Java itself would have told what went wrong."


def spark_failure(failure: Exception, home: Path | None = None) -> TailraceError:
    """The error to show for an exception that a Spark call raised; its own kind passes through."""
    if isinstance(failure, TailraceError):
        return failure
    text = f"{type(failure).__name__}: {failure}"
    where = str(home / "logs" / "spark.log") if home else None
    if any(sign in text for sign in _WORKER_DIED):
        return SparkError(
            "a worker process was killed or crashed",
            code="spark.worker-died",
            where=where,
            hint="most often memory ran out: free some, or use fewer workers with --master 'local[1]'",
        )
    if any(sign in text for sign in _JVM_DIED) or _CUT_OFF.fullmatch(text):
        return SparkError(
            "Spark's JVM was killed or crashed",
            code=JVM_DIED,
            where=where,
            hint="if memory ran out: --spark-conf spark.driver.memory=2g; the log says more",
        )
    return SparkError(_gist(failure), code="spark.failed", where=where, hint="the log holds the whole story")


def _gist(failure: Exception) -> str:
    """The exception of the Python worker, or Java's own message, without the stacks around it."""
    lines = [line for line in str(failure).splitlines() if line.strip()]
    if any(line.startswith("Traceback") for line in lines):
        raised = [line for line in lines if line[0].isalpha() and not line.startswith("Traceback")]
        return raised[-1] if raised else lines[-1]
    java = [line.strip(": ") for line in lines if "Exception: " in line]
    return (java or lines or [repr(failure)])[0].strip()


def partition_failure(error: Exception) -> TailraceError:
    """What ends one partition and lets the others go on."""
    if isinstance(error, TailraceError):
        return error
    if isinstance(error, OSError):
        return LakeError(error.strerror or one_line(error), code="lake.io", where=error.filename)
    message = f"{type(error).__name__}: {one_line(error)}".split(": 0: ")[0]
    unexpected = TailraceError(
        message, code="collect.unexpected", hint="this should not happen; -vv shows where it did"
    )
    unexpected.__cause__ = error
    return unexpected

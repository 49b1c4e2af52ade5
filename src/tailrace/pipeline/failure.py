"""What went wrong inside Spark, said in one line."""

from __future__ import annotations

import re
from pathlib import Path

from tailrace.core.errors import LakeError, SparkError, TailraceError, one_line

JVM_DIED = "spark.jvm-died"
ENVIRONMENT = "spark.environment"
NOT_SHARED = "lake.not-shared"
HOPELESS = frozenset({JVM_DIED, ENVIRONMENT, NOT_SHARED})
"What the next job would meet as well."
_WORKER_DIED = ("Python worker exited unexpectedly", "Python worker process terminated")
_JVM_DIED = (
    "Py4JNetworkError",
    "Answer from Java side is empty",
    "ConnectionRefusedError",
    "ConnectionResetError",
)
_PACK = "give them an environment: `tailrace spark pack --out env.tar.gz`, then --spark-env env.tar.gz"
_ENVIRONMENT = (
    (r"No module named '?([\w.]+)", "executors have no Python module {}"),
    (r'Cannot run program "([^"]+)"', "executors have no Python at {}"),
    (r"Python in worker has different version: (\S+) than that in driver: (\S+?),", "executors run Python {}, not {}"),
    (r"Astray: (\S+ has Tailrace \S+, the driver \S+)", "{}"),
)
_ASTRAY = re.compile(r"Astray: (.+)")
_CUT_OFF = re.compile(r"Py4JError: An error occurred while calling [\w.]+")
"What py4j says of a call whose connection broke: Java itself would have told what went wrong."


def spark_failure(failure: Exception, home: Path | None = None) -> TailraceError:
    """The error to show for an exception that a Spark call raised; its own kind passes through."""
    if isinstance(failure, TailraceError):
        return failure
    text = f"{type(failure).__name__}: {failure}"
    where = str(home / "logs" / "spark.log") if home else None
    surroundings = _of_surroundings(text, where)
    if surroundings is not None:
        return surroundings
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


def _of_surroundings(text: str, where: str | None) -> TailraceError | None:
    """Executors on which no task can work."""
    for sign, message in _ENVIRONMENT:
        if found := re.search(sign, text):
            return SparkError(message.format(*found.groups()), code=ENVIRONMENT, where=where, hint=_PACK)
    if found := _ASTRAY.search(text):
        hint = "put it on a path that driver and executors share, and name that with --home or TAILRACE_HOME"
        return LakeError(found[1], code=NOT_SHARED, where=where, hint=hint)
    return None


def _gist(failure: Exception) -> str:
    """The exception of the Python worker, or Java's own message, without the stacks around it."""
    lines = [line for line in str(failure).splitlines() if line.strip()]
    if any("Traceback (most recent call last)" in line for line in lines):
        raised = [line for line in lines if line[0].isalpha() and not line.startswith("Traceback")]
        return raised[-1] if raised else lines[-1]
    java = [line.strip(": ") for line in lines if "Exception: " in line]
    return (java or lines or [repr(failure)])[0].strip()


def partition_failure(error: Exception, partition: str) -> TailraceError:
    """What ends one partition and lets the others go on; the system tells at most a file, so the partition is named."""
    if isinstance(error, TailraceError):
        return error
    if isinstance(error, OSError):
        where = f"{partition}: {error.filename}" if error.filename else partition
        return LakeError(error.strerror or one_line(error), code="lake.io", where=where)
    message = f"{type(error).__name__}: {one_line(error)}".split(": 0: ")[0]
    unexpected = TailraceError(
        message, code="collect.unexpected", hint="this should not happen; -vv shows where it did"
    )
    unexpected.__cause__ = error
    return unexpected

"""Jobs that say in Spark's pages what they are.

What a session's setting says describes all its jobs, so each thread has a session of its own beside the one that it was
given. Settings are all that both kinds of session have in common for this: Spark Connect has no SparkContext.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from tailrace.pipeline.connect import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTING = "spark.job.description"
_threads = threading.local()
_beside: list[SparkSession] = []
_adding = threading.Lock()


def described(spark: SparkSession, text: str) -> SparkSession:
    """A session whose next jobs are described so; the same one where nobody could see it."""
    if not is_remote(spark) and spark.conf.get("spark.ui.enabled", "true") == "false":
        return spark
    own: SparkSession | None = getattr(_threads, "own", None)
    if own is None or _threads.parent is not spark:
        own = _another(spark)
        _threads.own, _threads.parent = own, spark
        with _adding:
            _beside.append(own)
    own.conf.set(_SETTING, text)
    return own


def _another(spark: Any) -> SparkSession:
    """With the same settings: on a server a new session would have none of them, and no packed environment."""
    session: SparkSession = spark.cloneSession() if is_remote(spark) else spark.newSession()
    return session


def release() -> None:
    """Ends the sessions beside one that ends; only a server would keep them."""
    with _adding:
        sessions = list(_beside)
        _beside.clear()
    for session in filter(is_remote, sessions):
        session.stop()

"""A Spark session that is there when a job asks for it, on a JVM that was started long before."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tailrace.cli.interrupts import Interrupts
    from tailrace.core import TailraceError
    from tailrace.pipeline.options import SessionOptions


class LazySession:
    """The JVM starts at once, before anything heavy is imported; the session is made when a job asks for it."""

    def __init__(self, options: SessionOptions, interrupts: Interrupts | None = None) -> None:
        from tailrace.cli.interrupts import Interrupts
        from tailrace.pipeline.hands import Hands

        self.options = options
        self.interrupts = interrupts or Interrupts()
        self.hands = Hands()
        self.session: SparkSession | None = None
        self.lock = threading.Lock()
        self._start()

    def _start(self) -> None:
        from tailrace.pipeline.session import start_driver

        self.failure: TailraceError | None = None
        "Why there is no session: another try would take as long and end alike."
        # A process that nobody knows of would go on until its stdin closes.
        with self.interrupts.held():
            self.driver = start_driver(self.options)
            self.stopped = False
        self.interrupts.heed()

    def __enter__(self) -> LazySession:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def share(self) -> None:
        """Several partitions are going to use it."""
        self.options = replace(self.options, shared=True)

    def revive(self) -> None:
        """Starts anew if it was stopped, could not be made, or its JVM has died since."""
        if self.failure is not None or not self._is_alive():
            self.stop()
        if self.stopped:
            self._start()

    def _is_alive(self) -> bool:
        if self.driver is not None:
            return self.driver.alive
        try:  # a server that was started anew knows nothing of it
            return self.session is None or bool(self.session.conf.get("spark.sql.session.timeZone"))
        except Exception:
            return False

    def get(self) -> SparkSession:
        from tailrace.core.errors import SparkError, TailraceError
        from tailrace.pipeline.session import open_session

        with self.lock:
            if self.stopped:
                raise SparkError("the session was stopped", code="spark.stopped")
            if self.failure is not None:
                raise self.failure
            if self.session is None:
                try:
                    self.session = open_session(self.options, self.driver, lambda: self.stopped)
                except TailraceError as failure:
                    self.failure = failure
                    raise
            return self.session

    def cores(self) -> int:
        """How many tasks may run at once; waits for the session where only a cluster can tell."""
        from tailrace.pipeline.cores import local_cores, session_cores
        from tailrace.pipeline.options import settle

        settings = settle(self.options)
        # Where `spark-submit` has started us, only the session knows its master.
        is_known = settings.local and "PYSPARK_GATEWAY_PORT" not in os.environ
        return (is_known and local_cores(settings.master)) or session_cores(self.get)

    def stop(self, patience: float | None = None) -> None:
        """Lets the JVM end; with `patience` in seconds it has ended afterwards, one way or the other."""
        from tailrace.pipeline.session import close_session

        self.stopped = True
        self.hands.dismiss()
        if self.session is None and self.driver is not None:
            # Whoever waits for the JVM holds the lock: it need not come up first to be stopped.
            self.driver.close(patience)
        # A server that does not answer is not waited for by whoever has lost patience.
        if not self.lock.acquire(timeout=-1 if patience is None or self.driver is not None else patience):
            return
        try:
            session, self.session = self.session, None
            driver, self.driver = self.driver, None
        finally:
            self.lock.release()
        if session is not None:
            close_session(session, patience)
        elif driver is not None:
            driver.close(patience)


class SessionOnDemand:
    """A session whose JVM starts when a job asks for it, if ever."""

    def __init__(self, options: SessionOptions) -> None:
        self.options = options
        self.lazy: LazySession | None = None
        self.lock = threading.Lock()

    def __enter__(self) -> SessionOnDemand:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def get(self) -> SparkSession:
        return self._begun().get()

    def cores(self) -> int:
        """As of a `LazySession`."""
        return self._begun().cores()

    def _begun(self) -> LazySession:
        with self.lock:
            self.lazy = self.lazy or LazySession(self.options)
        return self.lazy

    def stop(self, patience: float | None = None) -> None:
        """Lets the JVM end, as that of a `LazySession` does."""
        if self.lazy is not None:
            self.lazy.stop(patience)

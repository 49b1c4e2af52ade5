"""The one place that makes a Spark session."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from tailrace.core.errors import SparkError
from tailrace.pipeline.connect import check_packages, require_answer, ship, take_leave
from tailrace.pipeline.described import release
from tailrace.pipeline.failure import spark_failure
from tailrace.pipeline.jvm import Driver, workers_python
from tailrace.pipeline.options import SessionOptions, Settings, settle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SessionOptions", "close_session", "open_session", "session", "start_driver"]

_running: Driver | None = None
"The JVM behind the open session; PySpark too knows only one per process."
_made: SparkSession | None = None
"The open session, if it was made here."


def start_driver(options: SessionOptions) -> Driver | None:
    """Start the JVM while other work goes on; None when none is needed (remote, or running already)."""
    settings = settle(options)
    if settings.environment is not None:
        from tailrace.pipeline.packing import check_fits

        check_fits(settings.environment)
    if settings.remote is not None or "PYSPARK_GATEWAY_PORT" in os.environ or _running is not None:
        return None
    return Driver.launch(settings)


def open_session(
    options: SessionOptions, driver: Driver | None = None, is_stopped: Callable[[], bool] = lambda: False
) -> SparkSession:
    """The session, on the JVM that was started early if one was; a session that exists already is used.

    `is_stopped` is asked while a server is waited for: nobody may want the session any more.
    """
    global _running, _made
    _silence()
    _import_early()
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    # Of PySpark's own class: it hands that one arguments which another does not take.
    _mute(PySparkLogger.getLogger("SQLQueryContextLogger"))
    settings = settle(options, given=_given_by_submit())
    active = SparkSession.getActiveSession() if settings.remote is None else None
    if active is not None:
        return active
    environment: dict[str, str | None] = {}
    if settings.remote is None:
        environment["SPARK_REMOTE"] = None
        environment["PYSPARK_PYTHON"] = workers_python(settings)
        if "PYSPARK_GATEWAY_PORT" not in os.environ:
            driver = driver or _running or Driver.launch(settings)
            gateway = driver.join()
            environment["PYSPARK_GATEWAY_PORT"] = str(gateway.port)
            environment["PYSPARK_GATEWAY_SECRET"] = gateway.secret
    else:
        check_packages()
        require_answer(settings.remote, is_stopped)
    with _environment(environment), _own_interrupts():
        spark = _made_on(settings, driver)
    _quieten_accumulators()
    if settings.remote is not None and settings.environment is not None:
        ship(spark, settings.environment)
    _running, _made = driver, spark
    return spark


def _made_on(settings: Settings, driver: Driver | None) -> SparkSession:
    try:
        return _build(settings)
    except SparkError:
        if driver is not None and driver is not _running:
            _let_go()  # PySpark would ask this JVM for the next session too, which has another
        raise


def _given_by_submit() -> dict[str, str]:
    """Settings of `spark-submit`, which has started this process: its master among them."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return {}
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def close_session(spark: SparkSession, patience: float | None = None) -> None:
    """End a session that `open_session` made; one that it found stays open. With `patience` the JVM is waited for."""
    global _running, _made
    release()
    if spark is not _made:
        return
    driver, _running, _made = _running, None, None
    if driver is None:  # a server's, or that of `spark-submit`
        take_leave(spark, patience)
        return
    _let_go()
    driver.close(patience)
    if driver.settings.direct:
        driver.archive.make_in_background(driver.settings.compiled)


@contextlib.contextmanager
def session(options: SessionOptions, driver: Driver | None = None) -> Iterator[SparkSession]:
    """A session for a `with` block; Ctrl-C inside it is a KeyboardInterrupt whatever PySpark makes of it."""
    spark = open_session(options, driver)
    try:
        yield spark
    except Exception as failure:
        if _interrupted(failure):
            raise KeyboardInterrupt from None
        raise
    finally:
        close_session(spark)


def _interrupted(failure: BaseException | None) -> bool:
    """PySpark tidies up after an interrupt with another call to the JVM, whose failure hides it."""
    while failure is not None and not isinstance(failure, KeyboardInterrupt):
        failure = failure.__context__
    return failure is not None


def _build(settings: Settings) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("tailrace")
    for key, value in settings.conf.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Exception as failure:
        place = settings.remote or settings.master
        raise SparkError(
            f"no Spark session on {place}: {spark_failure(failure)}",
            code="spark.session",
            where=str(settings.home / "logs" / "spark.log"),
            hint="check --master/--remote and the settings given with --spark-conf",
        ) from failure


def _import_early() -> None:
    """`mapInArrow` imports these: better while the JVM is still starting."""
    for name in ("pyarrow", "pandas"):
        with contextlib.suppress(ImportError):
            __import__(name)


def _silence() -> None:
    """PySpark's and py4j's remarks are not for the user's terminal."""
    warnings.filterwarnings("ignore", module=r"pyspark\b")
    # py4j logs an interrupted call on the root logger, with a stack trace.
    logging.getLogger().addFilter(_not_of_py4j)
    for name in ("py4j", "pyspark"):
        _mute(logging.getLogger(name))


def _mute(logger: logging.Logger) -> None:
    logger.handlers = [logging.NullHandler()]
    logger.propagate = False


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname


@contextlib.contextmanager
def _environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """Variables that PySpark reads while it makes a session; gone afterwards."""
    before = {name: os.environ.get(name) for name in changes}
    _apply(changes)
    try:
        yield
    finally:
        _apply(before)


def _apply(changes: Mapping[str, str | None]) -> None:
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextlib.contextmanager
def _own_interrupts() -> Iterator[None]:
    """Undo PySpark's handler for Ctrl-C: it talks to the JVM in mid-call, which can hang."""
    on_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if on_main else None
    try:
        yield
    finally:
        if on_main:
            signal.signal(signal.SIGINT, handler)


def _let_go() -> None:
    """Take leave of the JVM in no time: it stops Spark by itself when its stdin closes.

    `spark.stop()` would wait a second for PySpark's accumulator server. What is reset here would make a later
    session talk to the dead JVM.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def _quieten_accumulators() -> None:
    """PySpark's accumulator server prints a stack trace when the JVM hangs up."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is not None:
        context._accumulatorServer.handle_error = _ignore  # type: ignore[method-assign,assignment]


def _ignore(*_: object) -> None:
    """Nothing."""

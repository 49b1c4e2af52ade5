"""`collect --watch`: round after round on one session, until a signal comes."""

from __future__ import annotations

import ctypes
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, NoReturn

import click

from tailrace.cli.collecting import Collected, Order, Plan, collect, plan_for
from tailrace.cli.interrupts import Interrupts, leave
from tailrace.cli.settings import now
from tailrace.cli.summary import note_nothing_found
from tailrace.core.errors import LockedError, TailraceError, UsageError, one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from tailrace.cli.lazy_session import LazySession
    from tailrace.cli.options import Context
    from tailrace.pipeline.report import Progress

DEFAULT = "5m"
SHORTEST = 1.0
LONGEST_WAIT = 900.0
"Seconds between rounds that fail, unless the interval itself is longer."


def seconds_of(text: str) -> float:
    """The interval as typed."""
    from tailrace.config.functions import duration

    try:
        interval = duration(text).total_seconds()
    except ValueError:
        interval = 0
    if interval < SHORTEST:
        hint = f"--watch 30s, 5m or 1h; --watch alone means {DEFAULT}, and names of partitions stand before it"
        raise UsageError(f"--watch {text}: not an interval of a second or more", code="usage.bad-interval", hint=hint)
    return interval


class Pace:
    """Rounds begin at a fixed rate from the first; those missed are left out, and after failures more of them."""

    def __init__(self, interval: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.interval, self.clock = interval, clock
        self.first = self.began = clock()

    def begin(self) -> None:
        self.began = self.clock()

    def wait(self, failures: int) -> float:
        """Seconds until the next round when so many in a row have failed."""
        pause = min(self.interval * 2.0 ** min(max(0, failures - 1), 30), max(self.interval, LONGEST_WAIT))
        # Half an interval of grace: a round that began a little late does not move the next one.
        rounds = round((self.began + pause - self.first) / self.interval)
        current = self.clock()
        if self.first + rounds * self.interval < current:
            rounds = int((current - self.first) // self.interval) + 1
        return self.first + rounds * self.interval - current


@dataclass(frozen=True, slots=True)
class Round:
    """What one round has come to."""

    number: int
    started: datetime
    collected: Collected = field(default_factory=Collected)
    config_error: TailraceError | None = None
    "The configuration cannot be read any more; the last good one was used."
    error: TailraceError | None = None
    "Why nothing at all could be collected."

    @property
    def failed(self) -> bool:
        errors = [report.error for report in self.collected.reports]
        hopeless = bool(errors) and all(e is not None and not isinstance(e, LockedError) for e in errors)
        return self.error is not None or hopeless


class Watch:
    """Keeps the session, and the last configuration that was right."""

    def __init__(self, order: Order, context: Context, spark: LazySession, interrupts: Interrupts) -> None:
        self.order, self.context, self.spark, self.interrupts = order, context, spark, interrupts
        self.plan: Plan | None = None
        self.rounds = 0
        spark.share()

    def round(self, progress: Progress) -> Round:
        """One collection by the configuration as it is now; raises only if there has never been a good one."""
        self.rounds += 1
        started, config_error = now(), None
        try:
            self.plan = plan_for(self.order, self.context)
        except TailraceError as error:
            if self.plan is None:
                raise
            config_error = error
            self.plan = replace(self.plan, window=self.order.window())
        try:
            self.spark.revive()
            collected = collect(self.plan, self.spark, self.interrupts, progress)
        except Exception as error:
            return Round(self.rounds, started, Collected(), config_error, _told(error))
        return Round(self.rounds, started, collected, config_error)


def go_on(
    watch: Watch, pace: Pace, tell: Callable[[Round], None], showing: Callable[[], AbstractContextManager[Progress]]
) -> NoReturn:
    """Round after round; a signal ends it with KeyboardInterrupt, at once while it waits."""
    failures = 0
    while True:
        pace.begin()
        with showing() as progress:
            done = watch.round(progress)
        if done.number == 1 and watch.plan is not None:
            note_nothing_found(done.collected.reports, watch.plan.specs)
        with watch.interrupts.held():
            tell(done)
        if done.collected.hangs:
            click.echo("interrupted", err=True)
            leave()
        if watch.interrupts.came:
            raise KeyboardInterrupt
        failures = failures + 1 if done.failed else 0
        del done
        _give_back_memory()
        time.sleep(pace.wait(failures))


def _give_back_memory() -> None:
    """What was freed: the C library keeps it in an area for each of the many threads that a round has had."""
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def _told(error: Exception) -> TailraceError:
    if isinstance(error, TailraceError):
        return error
    told = TailraceError(f"{type(error).__name__}: {one_line(error)}", hint="this should not happen; -vv shows where")
    told.__cause__ = error
    return told

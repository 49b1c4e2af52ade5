"""One collection from the command line: what is asked for, on a session that starts while sources are listed."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.cli.choice import Choice
    from tailrace.cli.interrupts import Interrupts
    from tailrace.cli.lazy_session import LazySession
    from tailrace.cli.options import Context
    from tailrace.config import Config, PartitionSpec
    from tailrace.core import TimeRange
    from tailrace.lake.paths import Lake
    from tailrace.pipeline.report import PartitionReport, Progress


@dataclass(frozen=True, slots=True)
class Order:
    """Which rows of which partitions."""

    choice: Choice
    start: str | None = None
    end: str | None = None
    overwrite: bool = False
    compacts: bool | None = None
    "Small files are merged afterwards; None: those of the days that were added to, where it pays."

    def window(self) -> TimeRange:
        """As of now: `T-7d` is another time in every round."""
        from tailrace.cli.settings import now
        from tailrace.core import TimeRange, UsageError, parse_time

        if self.overwrite and self.start is None:
            hint = "say which rows are replaced: --from T-7d"
            raise UsageError("--overwrite needs --from", code="usage.overwrite-what", hint=hint)
        moment = now()
        return TimeRange(*(None if t is None else parse_time(t, moment) for t in (self.start, self.end)))


@dataclass(frozen=True, slots=True)
class Plan:
    """An order with the configuration it is carried out by."""

    config: Config
    specs: list[PartitionSpec]
    lake: Lake
    window: TimeRange
    overwrite: bool = False
    source: str | None = None
    compacts: bool | None = False


def plan_for(order: Order, context: Context) -> Plan:
    """By the configuration as it is now."""
    from tailrace.cli.settings import load_config, open_lake

    config = load_config(context)
    choice = order.choice.resolved(config)
    specs = choice.specs(config, context)
    lake, window = open_lake(context, config), order.window()
    return Plan(config, specs, lake, window, order.overwrite, choice.source, order.compacts)


@dataclass(slots=True)
class Collected:
    """What has become of a collection."""

    reports: list[PartitionReport] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False
    hangs: bool = False
    "A source or a job has not come back: nothing that waits for its thread may follow."


def collect(plan: Plan, spark: LazySession, interrupts: Interrupts, progress: Progress) -> Collected:
    """Collects, and takes back what was not committed if it is interrupted."""
    from tailrace.cli.carrying_out import carried_out
    from tailrace.cli.redact import command_line
    from tailrace.pipeline.collect import Collection
    from tailrace.pipeline.partition_run import CollectOptions

    began = time.monotonic()
    if len(plan.specs) > 1:
        spark.share()
    command = command_line(sys.argv[1:])
    options = CollectOptions(plan.window, command, spark.cores, plan.overwrite, plan.source, progress.notes)
    collection = Collection(plan.lake, plan.config, options, spark.get, progress, spark.hands)
    collected = Collected(collection.reports)
    collected.hangs = not carried_out(lambda: collection.collect(plan.specs), collection, spark, interrupts)
    if plan.compacts is not False and not interrupts.came:
        from tailrace.cli.after_collect import compact_after

        compact_after(plan, collected, spark, interrupts)
    # Perhaps during the last commit, so that nothing was left to be done.
    collected.interrupted = interrupts.came
    collected.seconds = time.monotonic() - began
    return collected

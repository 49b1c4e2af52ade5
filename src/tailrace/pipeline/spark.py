"""Work as one Spark job: a task per piece, and one small row back from each."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from tailrace.pipeline.job import Job, Unit, UnitResult
from tailrace.pipeline.surroundings import check_lake
from tailrace.pipeline.tasks import run_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tailrace.pipeline.merging import MergedUnit, MergeUnit


def run_units(spark: SparkSession, job: Job, units: tuple[Unit, ...]) -> list[UnitResult]:
    """Reads a group of days and gives back what each unit wrote; no user data passes through the driver."""
    decode = msgspec.msgpack.Decoder(UnitResult).decode
    return [decode(answer) for answer in run_tasks(spark, _reading(job, units), _read, job, units)]


def run_merges(spark: SparkSession, tasks: Sequence[Sequence[MergeUnit]]) -> list[list[MergedUnit]]:
    """Writes files anew; the units of a task one after the other."""
    from tailrace.pipeline.merging import MergedUnit

    decode = msgspec.msgpack.Decoder(list[MergedUnit]).decode
    return [decode(answer) for answer in run_tasks(spark, _merging(tasks), _merge, None, tasks)]


def _read(job: Job, unit: Unit) -> bytes:
    """In a task."""
    from tailrace.pipeline.unit import run_unit

    check_lake(job.noted, job.run)
    result = run_unit(job, unit)
    result.retried = _retried()
    result.host = socket.gethostname()
    return msgspec.msgpack.encode(result)


def _merge(_: None, units: Sequence[MergeUnit]) -> bytes:
    """In a task."""
    from tailrace.pipeline.merging import run_merges

    results = []
    for unit in units:
        check_lake(unit.noted, unit.shape.run)
        result = run_merges(unit)
        result.retried = _retried()
        results.append(result)
    return msgspec.msgpack.encode(results)


def _retried() -> bool:
    from pyspark import TaskContext

    task = TaskContext.get()
    return task is not None and task.attemptNumber() > 0


def _reading(job: Job, units: tuple[Unit, ...]) -> str:
    """As a person reads it in Spark's pages."""
    days = sorted(day for unit in units for day in unit.days if day is not None)
    span = f" {days[0]}" + (f" to {days[-1]}" if days[-1] != days[0] else "") if days else ""
    artifacts = sum(len(unit.artifacts) for unit in units)
    what = "artifact" if artifacts == 1 else "artifacts"
    return f"tailrace {job.table.name}.{job.partition}{span}: {artifacts:,} {what} (run {job.run})"


def _merging(tasks: Sequence[Sequence[MergeUnit]]) -> str:
    units = [unit for task in tasks for unit in task]
    names = sorted({f"{unit.shape.table}.{unit.shape.partition}" for unit in units})
    others = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    files = sum(len(merge.files) for unit in units for merge in unit.merges)
    return f"tailrace compact {names[0]}{others}: {files:,} files"

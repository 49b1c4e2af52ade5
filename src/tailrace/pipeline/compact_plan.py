"""Which merges are done by one task, and which tasks are one Spark job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tailrace.lake.compaction import Merge

SMALLEST_TASK = 32 << 20
LARGEST_TASK = 1 << 30
TASKS_PER_CORE = 16
TASKS_OF_A_JOB = 2
"Per core: a job whose tasks are done is committed while others run."
OPENING = 64 << 10
"Bytes that could be read in the time that it takes to open a file."
Owner = TypeVar("Owner")


@dataclass(frozen=True, slots=True)
class Share(Generic[Owner]):
    """Merges of one partition that one task does."""

    owner: Owner
    merges: tuple[Merge, ...]


def cost(merge: Merge) -> int:
    """What a merge takes, in bytes."""
    return merge.bytes + len(merge.files) * OPENING


def plan_jobs(
    work: Iterable[tuple[Owner, Sequence[Merge]]], cores: int
) -> Iterator[tuple[tuple[Share[Owner], ...], ...]]:
    """Jobs of tasks of shares; partitions in their order, small ones together in a task."""
    items = [(owner, merge) for owner, merges in work for merge in merges]
    total = sum(cost(merge) for _, merge in items)
    size = min(max(total // (cores * TASKS_PER_CORE), SMALLEST_TASK), LARGEST_TASK)
    tasks = [tuple(_shares(task)) for task in _filled(items, size)]
    step = cores * TASKS_OF_A_JOB
    yield from (tuple(tasks[first : first + step]) for first in range(0, len(tasks), step))


def _filled(items: list[tuple[Owner, Merge]], size: int) -> Iterator[list[tuple[Owner, Merge]]]:
    task: list[tuple[Owner, Merge]] = []
    filled = 0
    for item in items:
        task.append(item)
        filled += cost(item[1])
        if filled >= size:
            yield task
            task, filled = [], 0
    if task:
        yield task


def _shares(task: list[tuple[Owner, Merge]]) -> Iterator[Share[Owner]]:
    merges: list[Merge] = []
    for number, (owner, merge) in enumerate(task):
        merges.append(merge)
        if number + 1 == len(task) or task[number + 1][0] is not owner:
            yield Share(owner, tuple(merges))
            merges = []

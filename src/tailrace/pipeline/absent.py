"""What was deleted, as tasks have to know it."""

from __future__ import annotations

from msgspec.structs import replace

from tailrace.config.model import PartitionSpec
from tailrace.lake.deleted import Notes, deleted, erased
from tailrace.lake.paths import Lake
from tailrace.lake.table import stored_schema
from tailrace.lake.words import words_of
from tailrace.pipeline.job import Erased, Job


def without_deleted(job: Job, lake: Lake, spec: PartitionSpec, notes: Notes) -> Job:
    """The job, so that it stores nothing of what the ledger's notes say is deleted."""
    ranges = tuple(deleted(notes, source.name) for source in spec.sources)
    return replace(job, deleted=ranges, erased=erased_rows(job, lake, notes))


def erased_rows(job: Job, lake: Lake, notes: Notes) -> Erased | None:
    """Rows that a condition has deleted, whatever brings them."""
    conditions = [one.condition for one in erased(notes)]
    if not conditions:
        return None
    condition = " OR ".join(f"({one})" for one in conditions)
    words = {word.lower() for word in words_of(condition)}
    stored = stored_schema(lake, job.table.name)
    return Erased(condition, tuple((f.name, f.type) for f in stored or () if f.name.lower() in words))

"""What listeners have taken in → rows of a partition, in one commit with how far the spool is in it.

The ledger's note says which segments of a spool are stored. It is true if and only if the rows are there, so that
whoever is killed and begins again goes on behind it: every row once.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import BinaryIO

import msgspec

from tailrace.config.model import Config, PartitionSpec
from tailrace.config.tables import tables_for
from tailrace.core import Artifact, Format, Table, TimeRange
from tailrace.core.arrivals import Arrived, Stored
from tailrace.core.arrow import arrow_schema
from tailrace.lake.change import Change
from tailrace.lake.commit import PartitionWriter
from tailrace.lake.intents import read_ledger
from tailrace.lake.ledger import Entry, Ledger
from tailrace.lake.lock import partition_lock
from tailrace.lake.paths import Lake
from tailrace.lake.removal import entries_of
from tailrace.lake.runs import new_run_id
from tailrace.lake.table import stored_schema
from tailrace.pipeline.absent import erased_rows
from tailrace.pipeline.check import check_expressions
from tailrace.pipeline.infer import Sampled, with_inferred
from tailrace.pipeline.job import Counts, Job, Outcome, Unit, UnitResult, key_of
from tailrace.pipeline.live_task import Live, live_format, run_live
from tailrace.pipeline.publish import data_files
from tailrace.sources import Found

COMMAND = "tailrace serve"
LIVE = "live"
"Kind of the commits, and scheme of what their rows are known by."
_SUMS = ("rows", "received", "quarantined", "filtered", "duplicates")


@dataclass(frozen=True, slots=True)
class LivePartition:
    """A partition that a sink fills."""

    lake: Lake
    config: Config
    spec: PartitionSpec
    format: Format | None = None
    "As the sink says; None: as the table does."
    max_lateness: timedelta | None = None
    "Rows that are older when they come, and those of more than a day ahead, go to the quarantine; None: none do."

    def check(self) -> None:
        """Raise what is wrong with its table, filter or index before anything is taken in."""
        table = tables_for(self.config, self.spec.table)
        if not table.map_fields:
            check_expressions(table, self.spec, self.config)

    def through(self, spool: str) -> int:
        """The last segment of a spool whose rows are in it."""
        return _through(read_ledger(self.lake, self._declared.name, self.spec.name), spool)

    def store(self, spool: str, last: int, arrived: Sequence[Arrived]) -> Stored:
        """Stores what segments up to `last` hold, unless it is stored; LockedError while others hold the partition."""
        with partition_lock(self.lake, self.spec.table, self.spec.name, COMMAND, brief=True):
            table = self._table(arrived)
            writer = PartitionWriter(self.lake, table.name, self.spec.name, new_run_id(), arrow_schema(table))
            writer.recover()
            try:
                stored = self._commit(writer, table, spool, last, arrived)
            except BaseException:
                writer.finish()
                raise
            if self.spec.dedupe:
                writer.finish()  # files with duplicates were written anew
            else:
                writer.leave()
            return stored

    @property
    def _declared(self) -> Table:
        return tables_for(self.config, self.spec.table)

    def _table(self, arrived: Sequence[Arrived]) -> Table:
        """With the columns that the lake has already, and those that the first rows tell."""
        table = self._declared
        if table.map_fields:
            formats = [live_format(table, one.form, self.format) for one in arrived]
            samples = [_sample(one, fmt) for one, fmt in zip(arrived, formats, strict=True) if one.bodies]
            table = with_inferred(table, stored_schema(self.lake, table.name), samples)
            check_expressions(table, self.spec, self.config)
        return table

    def _commit(
        self, writer: PartitionWriter, table: Table, spool: str, last: int, arrived: Sequence[Arrived]
    ) -> Stored:
        ledger = writer.ledger()
        if _through(ledger, spool) >= last:
            return Stored()
        uris = [f"{LIVE}://{spool}/{one.listener}/{one.form}" for one in arrived]
        before = {entry.key: entry for entry in entries_of(ledger, uris)}
        given = [Live(one, _reached(before.get(uri))) for one, uri in zip(arrived, uris, strict=True)]
        artifacts = [_artifact(uri, live, last) for uri, live in zip(uris, given, strict=True)]
        job = self._job(table, writer, arrived)
        job = msgspec.structs.replace(job, erased=erased_rows(job, self.lake, ledger.notes))
        unit = Unit(0, tuple(artifacts), tuple(range(len(artifacts))))
        result = run_live(job, unit, given)
        entries = [
            _entry(artifact, outcome, job.recipe(number), before.get(artifact.uri))
            for number, (artifact, outcome) in enumerate(zip(artifacts, result.outcomes, strict=True))
        ]
        files = data_files([(job, unit, result)])
        notes = {_note(spool): str(last)}
        change = Change(entries, files, result.quarantine, kind=LIVE, notes=notes, key=job.key)
        duplicates = sum(writer.commit(change).duplicates.values())
        return _stored(result, duplicates)

    def _job(self, table: Table, writer: PartitionWriter, arrived: Sequence[Arrived]) -> Job:
        return Job(
            table=table,
            partition=self.spec.name,
            formats=tuple(live_format(table, one.form, self.format) for one in arrived),
            run=writer.run,
            started=_now(),
            table_root=self.lake.table_home(table.name),
            quarantine_root=self.lake.meta("quarantine", table.name, self.spec.name),
            filter=self.spec.filter,
            index=self.spec.tp_index,
            key=key_of(self.spec),
            lateness=self.max_lateness,
            noted=writer.noted,
        )


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def _note(spool: str) -> str:
    return f"{LIVE}:{spool}"


def _through(ledger: Ledger, spool: str) -> int:
    return int(ledger.notes.get(_note(spool), "0"))


def _reached(before: Entry | None) -> int:
    return 0 if before is None or before.offset is None else before.offset


def _artifact(uri: str, live: Live, last: int) -> Artifact:
    kind, _, name = live.arrived.listener.partition(".")
    moment = max((sent.received_at for sent in live.arrived.sent), default=None)
    return Artifact(
        uri=uri,
        size=live.base + live.size,
        version=str(last),
        source_type=kind,
        source_name=name,
        location=f"listener.{live.arrived.listener}",
        modified=None if moment is None else datetime(1970, 1, 1) + timedelta(milliseconds=moment),
    )


def _entry(artifact: Artifact, outcome: Outcome, recipe: str, before: Entry | None) -> Entry:
    """What the ledger knows of a listener: one entry, however long it is listened to."""
    counts = outcome.counts
    entry = Entry(
        uri=artifact.uri,
        version=artifact.version,
        size=artifact.size,
        status="ok",
        at=_now(),
        source=artifact.location,
        rows=counts.stored,
        received=counts.received,
        quarantined=counts.quarantined,
        filtered=counts.filtered,
        dates=tuple(datetime.fromisoformat(day).date() for day in sorted(outcome.dates)),
        recipe=recipe,
        offset=artifact.size,
    )
    if before is None:
        return entry
    sums = {name: getattr(before, name) + getattr(entry, name) for name in _SUMS}
    dates = tuple(sorted({*before.dates, *entry.dates}))
    return replace(entry, **sums, dates=dates, generation=before.generation, resumed=_reached(before))


def _stored(result: UnitResult, duplicates: int) -> Stored:
    counts = Counts()
    for outcome in result.outcomes:
        counts.add(outcome.counts)
    rows = counts.stored - duplicates
    return Stored(counts.received, rows, counts.filtered, duplicates, counts.quarantined)


class _InMemory:
    """A source of one body, for whoever looks at the first rows."""

    kind = LIVE
    late: timedelta | None = None

    def __init__(self, data: bytes) -> None:
        self.data = data

    def discover(self, window: TimeRange) -> Iterator[Found]:
        return iter(())

    def open(self, artifact: Artifact) -> BinaryIO:
        return io.BytesIO(self.data)


def _sample(arrived: Arrived, fmt: Format) -> Sampled:
    return _InMemory(arrived.bodies[0]), Artifact(LIVE, len(arrived.bodies[0]), "", LIVE), fmt

"""One task: artifacts in, Parquet files and quarantine out. Runs in a Spark worker, knows nothing of Spark."""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import replace
from datetime import datetime, time
from typing import BinaryIO, NamedTuple

from tailrace.core import Artifact, SourceError, TailraceError
from tailrace.formats import decoder
from tailrace.formats.base import Bad, Batch, Bomb, CorruptStream, Dated, Stream
from tailrace.formats.stream import open_streams
from tailrace.lake.identity import artifact_prefix
from tailrace.pipeline.enrich import Enricher
from tailrace.pipeline.headway import TaskNotes
from tailrace.pipeline.job import LOSES, Counts, Held, Job, Outcome, Unit, UnitResult
from tailrace.pipeline.joining import held_bytes
from tailrace.pipeline.shape import Origin, Part, Shaper
from tailrace.pipeline.tailing import Changed, FileReading
from tailrace.pipeline.waste import QuarantineWriter, tell_end
from tailrace.pipeline.write import LakeWriter
from tailrace.sources import is_transient
from tailrace.sources.ahead import Ahead
from tailrace.sources.base import GONE

GATHER_ROWS = 16 * 1024
GATHER_BYTES = 16 << 20
LATER = "changed while it was read"
MANY_REASONS = 100
"Beyond so many kinds of them, further ones are not told."

Place = tuple[int, str | None]
"Number of an artifact in its unit, and the member of it; None is the artifact as a whole."


class _Broken(NamedTuple):
    """Why something cannot be read."""

    reason: str
    code: str | None = None
    "The source's own; None: its bytes are corrupt."


class _Restart(Exception):
    """Something turned out corrupt, or worse than before, after rows of it had gone to the writer: begin without it."""

    def __init__(self, broken: dict[Place, _Broken]) -> None:
        super().__init__(next(iter(broken.values())).reason)
        self.broken = broken


def run_unit(job: Job, unit: Unit) -> UnitResult:
    """Reads every artifact of the unit; an error that is not one artifact's own fails the unit as a whole."""
    kind = Task
    if unit.kept:
        from tailrace.pipeline.kept import KeptTask

        kind = KeptTask
    broken: dict[Place, _Broken] = {}
    while True:
        task = kind(job, unit, broken, verify=bool(broken))
        try:
            return task.run()
        except _Restart as restart:
            task.discard()
            broken |= restart.broken
        except TailraceError as error:
            task.discard()
            return UnitResult(unit.number, error=str(error), hint=error.hint)
        except OSError as error:
            task.discard()
            return UnitResult(unit.number, error=f"{error.strerror or error}: {error.filename or job.table_root}")
        except BaseException:
            task.discard()
            raise


class Task:
    """One attempt at a unit."""

    def __init__(self, job: Job, unit: Unit, broken: dict[Place, _Broken], verify: bool) -> None:
        self.job, self.unit, self.broken, self.verify = job, unit, broken, verify
        # A task that Spark begins again may have a twin still at work on a machine that is thought lost.
        name = f"{unit.number:05d}-{unit.attempt}-{secrets.token_hex(4)}"
        enricher = Enricher(job.table)
        self.shaper = Shaper(job, enricher)
        self.writer = LakeWriter(job, name, enricher, self.shaper.origins)
        self.waste = QuarantineWriter(job, unit, name)
        self.ahead = Ahead(job.sources, unit.artifacts, unit.sources)
        self.decoders = [decoder(job.table, fmt) for fmt in job.formats]
        self.notes = TaskNotes(job, unit)
        self.outcomes: list[Outcome] = []
        self.reasons: list[Counter[str]] = [Counter() for _ in unit.artifacts]
        "Per artifact, of records that are refused."
        self.parts: list[Part] = []
        self.rows = self.bytes = 0
        self.exposed: Place = (-1, None)
        "What was being read when rows last left for the writer."

    def run(self) -> UnitResult:
        """Reads and writes; raises where the unit as a whole cannot go on."""
        try:
            self.read_all()
        finally:
            self.ahead.close()
            self.notes.close()
        self._flush()
        for outcome, reasons in zip(self.outcomes, self.reasons, strict=True):
            outcome.refusal = max(reasons, key=lambda reason: reasons[reason], default=None)
        if losing := self._losing():
            raise _Restart(losing)
        files = self.writer.close()
        return UnitResult(self.unit.number, self.outcomes, files, self.waste.close())

    def _losing(self) -> dict[Place, _Broken]:
        """Artifacts that would take rows away and bring none for them: all at once, to begin again once."""
        found: dict[Place, _Broken] = {}
        for number, (held, outcome) in enumerate(zip(self.unit.held, self.outcomes, strict=False)):
            if held is not None and outcome.status in ("ok", "partial") and (why := _loss(held, outcome)):
                found[number, None] = _Broken(why, LOSES)
        return found

    def discard(self) -> None:
        """Clears away what this attempt has written."""
        self.writer.discard()
        self.waste.discard()

    def read_all(self) -> None:
        """Every artifact in turn."""
        for number, artifact in enumerate(self.unit.artifacts):
            outcome = Outcome(artifact.key, "ok", Counts(), {})
            self.outcomes.append(outcome)
            self._read(number, artifact, outcome)
            self.notes.over(artifact.size)

    def _read(self, number: int, artifact: Artifact, outcome: Outcome) -> None:
        broken = self.broken.get((number, None))
        if broken is None:
            try:
                if self.verify:
                    self._verify(number, artifact)
                self._decode(number, artifact, outcome)
                return
            except (CorruptStream, SourceError, Changed) as error:
                if isinstance(error, SourceError) and is_transient(error):
                    raise
                broken = _Broken(_reason(error, artifact), error.code if isinstance(error, SourceError) else None)
                if self.exposed[0] == number:
                    raise _Restart({(number, None): broken}) from None
        self.parts = [p for p in self.parts if p[0].artifact != number]
        outcome.counts = Counts()
        outcome.reason, outcome.code = broken
        if broken.reason == LATER or broken.code == LOSES:
            outcome.status = "later"
            return
        outcome.status = "failed"
        self.waste.add(self.origin(number, None), Bad(-1, b"", artifact.size, f"artifact: {broken.reason}"))

    def _verify(self, number: int, artifact: Artifact) -> None:
        with self._opened(number) as raw:
            for member, stream in open_streams(raw, artifact.location):
                try:
                    for _block in stream:
                        continue
                except CorruptStream as error:
                    if member is None or isinstance(error, Bomb):
                        raise
                    self.broken[number, member] = _Broken(str(error))

    def origin(self, number: int, member: str | None) -> Origin:
        """How rows of an artifact, or of a member of it, are named."""
        artifact = self.unit.artifacts[number]
        place = artifact.location if member is None else f"{artifact.location}!{member}"
        prefix = artifact_prefix(artifact.key, member)
        deleted = self.job.deleted[self.unit.sources[number]] if self.job.deleted else ()
        name, key, day = artifact.source_name, artifact.key, artifact.day
        return Origin(number, prefix, artifact.source_type, name, place, key, member, day, artifact.fields, deleted)

    def _opened(self, number: int) -> BinaryIO:
        return self.ahead.open(number)

    def _decode(self, number: int, artifact: Artifact, outcome: Outcome) -> None:
        fmt = self.job.formats[self.unit.sources[number]]
        with self._opened(number) as raw:
            self.notes.opened(raw)
            file = FileReading(raw, artifact, fmt) if artifact.node is not None else None
            streams = file.streams() if file else open_streams(raw, artifact.location)
            for member, stream in streams:
                origin = self.origin(number, member)
                if member is None:
                    self._rows(origin, stream, file.base if file else 0)
                else:
                    outcome.members.append(member)
                    self._member(origin, stream, outcome)
            tell_end(streams, outcome, self.waste, self.origin(number, None))
            outcome.mark = file.mark() if file else None

    def _member(self, origin: Origin, stream: Stream, outcome: Outcome) -> None:
        """A broken member is left out of its archive; where the archive itself is broken, the next step raises."""
        place = (origin.artifact, origin.member)
        broken = self.broken.get(place)
        if broken is None:
            try:
                self._rows(origin, stream)
                return
            except Bomb:
                raise
            except CorruptStream as error:
                broken = _Broken(str(error))
                if self.exposed == place:
                    raise _Restart({place: broken}) from None
        self.parts = [p for p in self.parts if p[0] != origin]
        outcome.status, outcome.reason = "partial", f"member {origin.member}: {broken.reason}"
        self.waste.add(origin, Bad(-1, b"", 0, f"member: {broken.reason}"))

    def _rows(self, origin: Origin, stream: Stream, base: int = 0) -> None:
        artifact = self.unit.artifacts[origin.artifact]
        for batch in self.decoders[self.unit.sources[origin.artifact]].decode(_dated(artifact, stream)):
            if base:
                batch.positions = batch.positions + base
                batch.bad = [replace(bad, position=bad.position + base) for bad in batch.bad]
            self.take(origin, batch)

    def take(self, origin: Origin, batch: Batch) -> None:
        """Rows of an artifact, on their way to the lake."""
        if not batch.rows:
            batch.raw = _no_row  # what it knows holds the whole block
        self.parts.append((origin, batch))
        self.notes.read(batch.rows, len(batch.bad))
        self.rows += max(batch.rows + len(batch.bad), 1)
        self.bytes += held_bytes(batch.columns)
        if self.rows >= GATHER_ROWS or self.bytes >= GATHER_BYTES:
            self._flush()
            self.exposed = (origin.artifact, origin.member)

    def _flush(self) -> None:
        parts, self.parts = self.parts, []
        self.rows = self.bytes = 0
        if not parts:
            return
        for shaped in self.shaper.shape(parts):
            self.writer.add(shaped)
            for origin, bad in shaped.bad:
                self.waste.add(origin, bad)
                reasons = self.reasons[origin.artifact]
                if len(reasons) < MANY_REASONS or bad.reason in reasons:
                    reasons[bad.reason] += 1
            for number, counts in shaped.counts.items():
                self.outcomes[number].counts.add(counts)
            for number, day, rows in shaped.days(self.shaper.origins):
                dates = self.outcomes[number].dates
                dates[day] = dates.get(day, 0) + rows


def _loss(held: Held, outcome: Outcome) -> str | None:
    """Which rows would go, and why; None: none, or others come for them."""
    now = outcome.counts
    if not held.same_recipe and (lost := held.lost(now)):
        why = outcome.refusal or "they lie outside the range that was collected"
        return f"{_stored(lost)} would be refused now ({why})"
    gone = held.gone(now, partial=outcome.status == "partial")
    if not gone:
        return None
    if outcome.status == "partial":
        return f"{_stored(gone)} would go: {outcome.reason}"
    held_now = "the only record" if now.received == 1 else f"each of the {now.received:,} records"
    refused = f"{held_now} that it holds now is refused ({outcome.refusal})"
    return f"{_stored(gone)} would go: {refused if now.received else 'it holds no record any more'}"


def _stored(rows: int) -> str:
    return "1 row that is stored" if rows == 1 else f"{rows:,} rows that are stored"


def _no_row(_: int) -> bytes:
    return b""


def _dated(artifact: Artifact, stream: Stream) -> Stream:
    """The stream with the end of the day that the path names, or the time when the artifact was last written."""
    moment = moment_of(artifact)
    return Dated(stream, moment) if moment else stream


def moment_of(artifact: Artifact) -> datetime | None:
    """A time that no record of the artifact lies far behind."""
    return datetime.combine(artifact.day, time.max) if artifact.day else artifact.modified


def _reason(error: CorruptStream | SourceError | Changed, artifact: Artifact) -> str:
    """Without the artifact's own place: whoever tells the reason names it too."""
    renamed = artifact.node is not None and isinstance(error, SourceError) and error.code == GONE
    if isinstance(error, Changed) or renamed:
        return LATER
    if isinstance(error, SourceError) and error.where == artifact.location:
        return error.message
    return str(error)

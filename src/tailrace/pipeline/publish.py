"""From what tasks wrote to what everyone sees: one commit per set of whole days."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from tailrace.config.model import PartitionSpec
from tailrace.core import Artifact, SourceError, TimeRange
from tailrace.core.arrow import arrow_schema
from tailrace.lake.change import Change, Committed
from tailrace.lake.commit import PartitionWriter
from tailrace.lake.deleted import after_overwrite
from tailrace.lake.files import DataFile
from tailrace.lake.ledger import BEGIN, COPY, Entry
from tailrace.lake.removal import entries_of
from tailrace.lake.types import schema_fingerprint
from tailrace.lake.unique import Key
from tailrace.pipeline import reach
from tailrace.pipeline.days import Done
from tailrace.pipeline.job import Job, Outcome, Unit, UnitResult
from tailrace.pipeline.listing import Listed
from tailrace.pipeline.notes import after_failure, marked, moved, read_on
from tailrace.pipeline.plan import Wanted
from tailrace.pipeline.recognise import Recognised
from tailrace.pipeline.report import PartitionReport, Trouble
from tailrace.pipeline.telling import Telling

MANY_INDEXES = 1_000
"Values of tp_index in one run beyond which somebody should think again: each has files of its own per day."


class Publisher:
    """Commits the results of one partition and keeps its report."""

    def __init__(
        self,
        spec: PartitionSpec,
        writer: PartitionWriter,
        report: PartitionReport,
        notes: Mapping[str, str],
        listed: Listed,
        overwrites: TimeRange | None = None,
        alone: str | None = None,
    ) -> None:
        self.spec, self.writer, self.report, self.notes = spec, writer, report, notes
        self.listed = [item.artifact.key for item in listed.artifacts]
        self.deliveries = listed.deliveries
        self.settles = listed.settles
        "Notes that are true only if everything that was listed has been committed."
        self.overwrites = overwrites
        "The range whose rows are replaced, all in one commit at the end."
        self.alone = alone
        "The source to which that is limited."
        self.held: list[Done] = []
        self.known = writer.ledger().known()
        self.days: set[date] = set()
        self.indexes: set[str] = set()
        self.telling = Telling(report, self.known)
        self.anew: Mapping[str, Artifact] = {}
        "By key of what was there before: files with other content."

    def begin(self) -> None:
        """Keeps the range that is meant, so that a collection which is interrupted is finished by the next run."""
        if self.overwrites is None and not self.notes.items() <= self.writer.ledger().notes.items():
            self.writer.commit(Change([], kind=BEGIN, notes=self.notes))

    def notes_then(self) -> dict[str, str]:
        """What the ledger will say once all is committed: what is overwritten is no longer deleted."""
        return {**self.writer.ledger().notes, **self._lifts()}

    def _lifts(self) -> dict[str, str]:
        if self.overwrites is None:
            return {}
        return after_overwrite(self.writer.ledger().notes, self.overwrites, self.alone)

    def publish(self, done: Sequence[Done]) -> None:
        """One commit of everything that these units wrote; what overwrites waits until all is there."""
        if self.overwrites is not None:
            self.held.extend(done)
        elif done:
            self._commit(done)

    def pass_over(self, listed: Iterable[Wanted], wanted: Iterable[Sequence[Wanted]]) -> None:
        """What was announced once more and had been committed whole by an earlier run."""
        if self.deliveries:
            to_read = {item.artifact.uri for items in wanted for item in items}
            passed = (item.artifact for item in listed if item.artifact.uri not in to_read)
            self._told_stored([a.uri for a in passed if self.known[a.key].is_whole])

    def conclude(self) -> None:
        """All jobs have come back."""
        if self.overwrites is not None:
            self._overwrite(self.overwrites)
        elif self.settles and self.report.clean and not self.report.failed:
            self._settle()

    def _settle(self) -> None:
        """Later runs need not list again what came through whole; what failed, or has rows after `--to`, they must."""
        ledger = self.writer.ledger()
        settles = reach.without_days(self.settles, ledger.cut_short(self.listed))
        if not settles.items() <= ledger.notes.items():
            self.writer.commit(Change([], kind="settle", notes={**self.notes, **settles}))

    def _overwrite(self, window: TimeRange) -> None:
        read = ((a, o) for _, unit, result in self.held for a, o in zip(unit.artifacts, result.outcomes, strict=True))
        failed = [outcome for artifact, outcome in read if self._lacks(artifact, outcome)]
        if failed:
            why = f"{failed[0].uri}: {failed[0].reason}"
        elif not self.report.clean:
            why = "not everything could be read"
        elif refused := self._all_refused():
            why = refused
        elif not self.held:
            why = "the sources hold nothing in this range; `tailrace partition delete` deletes"
        else:
            self._commit(self.held, window)
            left = {entry.key for entry in entries_of(self.writer.ledger(), self.anew) if entry.rows}
            if left:
                self.telling.other_content([a for key, a in self.anew.items() if key in left], overwritten=True)
            return
        message = f"nothing was overwritten, the earlier rows are kept: {why}"
        self.report.troubles.append(Trouble(self.report.name, message, "collect.not-overwritten"))

    def _all_refused(self) -> str | None:
        """Why there would be nothing in place of rows that are stored, if it is the records that are refused."""
        outcomes = [outcome for _, _, result in self.held for outcome in result.outcomes]
        before = [known for _, unit, _ in self.held for a in unit.artifacts if (known := self.known.get(a.key))]
        bad = sum(o.counts.quarantined for o in outcomes)
        more = bad > sum(known.quarantined for known in before) and any(known.rows for known in before)
        if not more or any(o.counts.stored or o.counts.filtered for o in outcomes):
            return None
        reason = next((o.refusal for o in outcomes if o.refusal), "")
        return f"all {bad:,} records would be refused ({reason})"

    def _lacks(self, artifact: Artifact, outcome: Outcome) -> bool:
        """Less can be read of it than is stored: rows would go that nothing comes for."""
        before = self.known.get(artifact.key)
        was_whole = before is not None and before.status == "ok"
        return outcome.status in ("failed", "later") or (outcome.status == "partial" and was_whole)

    def _commit(self, done: Sequence[Done], cut: TimeRange | None = None) -> None:
        entries = [e for job, unit, result in done for e in self.entries(job, unit, result)]
        files = data_files(done)
        # Within an overwritten range its rows go anyway; what an artifact has outside it stays.
        whole = {a.key for job, unit, _ in done for a in unit.artifacts if cut is None or job.window != cut}
        read_on = {a.key for _, unit, _ in done for a in unit.artifacts if a.resume is not None}
        known = (whole - read_on) & self.known.keys()
        replaced = [e.key for e in entries if e.status != "failed" and e.key in known]
        quarantine = [name for _, _, result in done for name in result.quarantine]
        duplicates: Mapping[str, int] = {}
        if entries:
            notes = {**self.notes, **self._lifts()}
            change = Change(entries, files, quarantine, replaced, cut, self.alone, notes=notes)
            committed = self._committed(change, done[0][0].key)
            files, duplicates = list(committed.files), committed.duplicates
            self.report.replaced += committed.replaced
        self._told_stored([o.uri for _, _, result in done for o in result.outcomes if o.is_final])
        for _, unit, result in done:
            self._count(unit, result, duplicates)
        self.report.files += len(files)
        self.report.bytes += sum(f.size for f in files)
        self._note_days(f.day for f in files)
        self._note_indexes(f.index for f in files)

    def _told_stored(self, uris: Sequence[str]) -> None:
        """The rows are stored whatever comes of this: what is announced again is known again."""
        for delivery in self.deliveries:
            try:
                delivery.stored(uris)
            except SourceError as error:
                self.report.troubles.append(Trouble(str(error.where), error.message, error.code, error.hint))

    def entries(self, job: Job, unit: Unit, result: UnitResult) -> Iterable[Entry]:
        """What the ledger is to know of the artifacts of a unit."""
        now = datetime.now(UTC).replace(tzinfo=None)
        recipes = {number: job.recipe(number) for number in set(unit.sources)}
        for artifact, number, outcome in zip(unit.artifacts, unit.sources, result.outcomes, strict=True):
            if outcome.status == "later":
                continue
            known = self.known.get(artifact.key)
            entry = Entry(
                uri=artifact.uri,
                identity=artifact.identity,
                version=artifact.version,
                size=artifact.size,
                status=outcome.status,
                at=now,
                generation=1 if known is None else known.generation + 1,
                source=self.spec.sources[number].name,
                day=artifact.day,
                rows=outcome.counts.stored,
                received=outcome.counts.received,
                quarantined=outcome.counts.quarantined,
                filtered=outcome.counts.filtered,
                out_of_range=outcome.counts.out_of_range,
                dates=tuple(date.fromisoformat(d) for d in sorted(outcome.dates)),
                taken_from=job.window.start,
                taken_to=job.window.end,
                members=tuple(outcome.members),
                error=outcome.reason,
                recipe=recipes[number],
            )
            if outcome.mark is not None:
                entry = marked(entry, outcome.mark)
            if known is not None and outcome.status == "failed":
                entry = after_failure(entry, self._earlier(artifact.key))
            elif known is not None and artifact.resume is not None:
                entry = read_on(entry, self._earlier(artifact.key), artifact.resume)
            yield entry

    def _earlier(self, key: str) -> Entry:
        return next(entries_of(self.writer.ledger(), [key]))

    def note_files(self, found: Recognised) -> None:
        """What there is to say of local files before they are read: which are called otherwise now, and by whom."""
        self.anew = found.anew
        if self.overwrites is None and found.anew:
            self.telling.other_content([*found.anew.values()])
        now = datetime.now(UTC).replace(tzinfo=None)
        entries = [moved(self._earlier(key), artifact, now) for key, artifact in found.moved.items()]
        entries += [Entry(a.uri, a.version, a.size, COPY, now, identity=a.identity) for a in found.copies]
        if entries:
            self.writer.commit(Change(entries, notes=self.notes))

    def _committed(self, change: Change, key: Key | None) -> Committed:
        if key is None:
            return self.writer.commit(change)
        forgotten = reach.forgotten(self.writer.ledger())
        committed = self.writer.commit(replace(change, key=key, notes_if_revived=forgotten))
        if committed.revived:
            # Rows are gone that had kept others of the same event out: the next run looks for those.
            self.settles = {}
            self.telling.revived(committed.revived)
        return committed

    def _count(self, unit: Unit, result: UnitResult, duplicates: Mapping[str, int]) -> None:
        report = self.report
        for artifact, outcome in zip(unit.artifacts, result.outcomes, strict=True):
            report.done += 1
            report.done_bytes += artifact.unread
            outcome.counts.duplicates = duplicates.get(artifact.key, 0)
            outcome.counts.stored -= outcome.counts.duplicates
            report.counts.add(outcome.counts)
            self.telling.outcome(artifact, outcome, result.host)

    def _note_days(self, days: Iterable[date]) -> None:
        self.days.update(days)
        self.report.days, self.report.dates = len(self.days), frozenset(self.days)
        if self.days:
            self.report.first_day, self.report.last_day = str(min(self.days)), str(max(self.days))

    def _note_indexes(self, indexes: Iterable[str]) -> None:
        many = len(self.indexes) > MANY_INDEXES
        self.indexes.update(indexes)
        if len(self.indexes) > MANY_INDEXES and not many:
            message = f"tp_index has more than {MANY_INDEXES:,} values, each with files of its own for every day"
            hint = f"choose a column with fewer values as tp_index, or none: {self.spec.where}"
            self.report.advice.append(Trouble(self.report.name, message, "lake.many-indexes", hint))


def data_files(done: Sequence[Done]) -> list[DataFile]:
    """What tasks of one table wrote, as a commit sees it."""
    if not done:
        return []
    fingerprint = schema_fingerprint(arrow_schema(done[0][0].table))
    return [
        DataFile(f.path, f.size, job.partition, f.index, f.day, f.rows, f.stats, fingerprint)
        for job, _, result in done
        for f in result.files
    ]

"""From what a replay's tasks did to one commit, and to what people are told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import pyarrow as pa

from tailrace.config.model import PartitionSpec
from tailrace.lake.commit import Change, PartitionWriter
from tailrace.lake.ledger import Entry
from tailrace.lake.quarantine import of_artifacts, read_file, write_quarantine
from tailrace.pipeline.days import Done
from tailrace.pipeline.job import Counts, Outcome, key_of
from tailrace.pipeline.listing import Listed
from tailrace.pipeline.publish import Publisher, data_files
from tailrace.pipeline.replay_plan import Choice
from tailrace.pipeline.report import PartitionReport, ReplayReport, Trouble

REPLAY = "replay"
NOTHING = Listed((), (), (), {})


@dataclass(frozen=True, slots=True)
class Replayed:
    """The results of one partition."""

    spec: PartitionSpec
    known: Mapping[str, Entry]
    "By URI, before."
    tried: Mapping[str, int]
    "Records that were decoded by themselves, by URI."
    report: ReplayReport

    def change(
        self, writer: PartitionWriter, alone: Sequence[Done], again: Sequence[Done], lifted: Sequence[str]
    ) -> Change | None:
        """The commit; None when it would change nothing."""
        read_again = list(self._entries_again(writer, again))
        if not read_again and not self._gives_other(alone):
            return None
        quarantine = [name for _, _, result in alone for name in result.quarantine]
        quarantine += self._quarantine_again(again)
        replaced = [entry.key for entry in read_again if entry.status != "failed"]
        entries = [*self._entries_alone(alone), *read_again]
        files = data_files([*alone, *again])
        self.report.files, self.report.bytes = len(files), sum(f.size for f in files)
        return Change(entries, files, quarantine, replaced, lifted=lifted, kind=REPLAY, key=key_of(self.spec))

    def count(self, alone: Sequence[Done], again: Sequence[Done], choice: Choice, duplicates: int = 0) -> None:
        """Puts into the report what became of the records; a dry run does not know which are duplicates."""
        report = self.report
        counts = Counts()
        for outcome in _outcomes(alone):
            counts.add(outcome.counts)
        tried = sum(self.tried.values())
        report.passed_over += max(tried - counts.received, 0)
        report.tried += tried
        for outcome in _outcomes(again):
            self._count_again(outcome, choice.meant[outcome.uri], counts)
        report.stored += max(counts.stored - duplicates, 0)
        report.duplicates += duplicates
        report.filtered += counts.filtered
        report.out_of_range += counts.out_of_range
        report.deleted += counts.deleted
        report.quarantined += counts.quarantined

    def _count_again(self, outcome: Outcome, meant: int, counts: Counts) -> None:
        """Of an artifact read again those rows count that were not stored before."""
        before, report = self.known[outcome.uri], self.report
        report.tried += meant
        if outcome.status in ("failed", "later"):
            report.quarantined += meant
            message = f"{outcome.reason}; its records stay in the quarantine"
            report.troubles.append(Trouble(outcome.uri, message, outcome.code or "data.failed-artifact"))
            return
        report.artifacts += 1
        now = outcome.counts
        new = Counts(
            stored=max(now.stored - before.rows, 0),
            filtered=max(now.filtered - before.filtered, 0),
            out_of_range=max(now.out_of_range - before.out_of_range, 0),
            quarantined=now.quarantined,
        )
        # Most rows of a deleted range were never in the quarantine: of what is left of the records, as many as may be.
        left = meant - new.stored - new.filtered - new.out_of_range - new.quarantined
        new.deleted = min(max(left, 0), now.deleted)
        counts.add(new)

    def _gives_other(self, alone: Sequence[Done]) -> bool:
        """Has any record left the quarantine, or may it have another reason now?"""
        if any(self.known[uri].recipe != recipe for uri, recipe in _recipes(alone).items()):
            return True
        received = sum(o.counts.received for o in _outcomes(alone))
        return sum(o.counts.quarantined for o in _outcomes(alone)) < max(received, sum(self.tried.values()))

    def _entries_alone(self, alone: Sequence[Done]) -> Iterable[Entry]:
        merged: dict[str, tuple[Counts, set[str]]] = {}
        recipes = _recipes(alone)
        for outcome in _outcomes(alone):
            counts, dates = merged.setdefault(outcome.uri, (Counts(), set()))
            counts.add(outcome.counts)
            dates.update(outcome.dates)
        for uri, (counts, dates) in merged.items():
            before, tried = self.known[uri], self.tried.get(uri, 0)
            # Where a collection would have nothing else to mend it need not read the artifact again.
            mended = tried == before.quarantined and not before.filtered and not before.duplicates
            yield replace(
                before,
                rows=before.rows + counts.stored,
                received=max(before.received - tried, 0) + counts.received,
                quarantined=max(before.quarantined - tried, 0) + counts.quarantined,
                filtered=before.filtered + counts.filtered,
                out_of_range=before.out_of_range + counts.out_of_range,
                dates=tuple(sorted({*before.dates, *map(date.fromisoformat, dates)})),
                recipe=recipes[uri] if mended else before.recipe,
            )

    def _entries_again(self, writer: PartitionWriter, again: Sequence[Done]) -> Iterable[Entry]:
        publisher = Publisher(self.spec, writer, PartitionReport(self.spec.full_name), {}, NOTHING)
        entries = (entry for job, unit, result in again for entry in publisher.entries(job, unit, result))
        return (entry for entry in entries if not self._is_worse(entry.key, entry.status))

    def _is_worse(self, uri: str, status: str) -> bool:
        """An artifact that was read before and cannot be now: all stays as it is."""
        return status == "failed" and self.known[uri].status != "failed"

    def _quarantine_again(self, again: Sequence[Done]) -> Iterable[str]:
        """Names of the files of artifacts read again, without what is said of those that cannot be read any more."""
        for job, _, result in again:
            worse = {o.uri for o in result.outcomes if self._is_worse(o.uri, o.status)}
            for name in result.quarantine:
                if worse:
                    rows = read_file(job.quarantine_root, name)
                    kept = rows.filter(pa.array(~of_artifacts(rows, worse)))
                    write_quarantine(job.quarantine_root, name, kept)
                yield name


def _recipes(done: Sequence[Done]) -> dict[str, str]:
    """How each artifact was read, by URI."""
    found: dict[str, str] = {}
    for job, unit, _ in done:
        recipes = {number: job.recipe(number) for number in set(unit.sources)}
        found |= {a.key: recipes[n] for a, n in zip(unit.artifacts, unit.sources, strict=True)}
    return found


def _outcomes(done: Sequence[Done]) -> list[Outcome]:
    return [outcome for _, _, result in done for outcome in result.outcomes]

"""Which quarantined records are decoded from their bytes, and which artifacts have to be read again for theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta

import msgspec
import numpy as np
import pyarrow as pa

from tailrace.config.model import PartitionSpec
from tailrace.core import Artifact, Table, TimeRange
from tailrace.formats.again import is_whole
from tailrace.formats.base import RAW_LIMIT
from tailrace.lake.ledger import Entry
from tailrace.lake.quarantine import Mask, Page, by_value, of_artifacts
from tailrace.lake.sought import Sought
from tailrace.pipeline.job import Held, KeptFile, Unit, key_of, recipe_of
from tailrace.pipeline.kept import packed
from tailrace.pipeline.listing import Listed
from tailrace.pipeline.plan import Wanted
from tailrace.pipeline.prepare import gives_other
from tailrace.pipeline.report import ReplayReport, Trouble
from tailrace.sources.base import Asked, Continuing

FILES_PER_UNIT = 4
"Quarantine files are of 16 MB at most, before compression."
_ARTIFACT = msgspec.json.Decoder(Artifact)


@dataclass(slots=True)
class Facts:
    """One artifact with records that are to be tried."""

    alone: int = 0
    "Records whose own bytes are enough."
    apart: int = 0
    "Records that can only be read with their artifact."
    why: str = ""
    "The reason of the first of those."
    artifact: Artifact | None = None
    "As it was listed when its records were refused; not known from files of earlier versions."


@dataclass(frozen=True, slots=True)
class Framings:
    """How today's formats cut records out of artifacts."""

    by_uri: Mapping[str, str | None]
    "None, or absent: its records are not to be read by themselves."

    def alone(self, rows: pa.Table) -> Mask:
        """Per row: are its own bytes enough to decode it as if it stood in its artifact?"""
        values, number = by_value(rows, "uri", "framing", "artifact")
        fits = [
            framing is not None and told is not None and self.by_uri.get(str(uri)) == framing
            for uri, framing, told in values
        ]
        reasons, which = by_value(rows, "reason")
        whole = [is_whole(0, str(reason)) for (reason,) in reasons]
        short = rows.column("length").to_numpy() <= RAW_LIMIT
        found: Mask = np.array(fits, bool)[number] & np.array(whole, bool)[which] & short
        return found


def facts_of(pages: Iterable[Page], sought: Sought, framings: Framings) -> dict[str, Facts]:
    """By URI, what is to be tried."""
    found: dict[str, Facts] = {}
    for page in pages:
        meant = page.holds & sought.mask(page.rows)
        rows = page.rows.filter(pa.array(meant))
        alone = framings.alone(rows)
        values, number = by_value(rows, "uri", "artifact")
        for which, (uri, told) in enumerate(values):
            facts = found.setdefault(str(uri), Facts())
            own = alone[number == which]
            facts.alone += int(own.sum())
            facts.apart += int(len(own) - own.sum())
            if not own.all() and not facts.why:
                first = int(np.flatnonzero((number == which) & ~alone)[0])
                facts.why = rows.column("reason")[first].as_py()
            facts.artifact = _ARTIFACT.decode(told) if told is not None else facts.artifact
    return found


def window_of(artifacts: Iterable[Artifact | None]) -> TimeRange:
    """Where to look for artifacts: on their days, or everywhere if one has none."""
    days = [artifact.day if artifact else None for artifact in artifacts]
    known = [day for day in days if day is not None]
    if not known or len(known) < len(days):
        return TimeRange()
    first, last = (datetime.combine(day, time.min) for day in (min(known), max(known)))
    return TimeRange(first, last + timedelta(days=1))


@dataclass(slots=True)
class Rewriting:
    """Quarantine files that are written anew, and the units of work that do it."""

    sought: Sought
    framings: Framings
    touched: Mapping[str, tuple[Artifact, int, TimeRange]]
    "By URI: the artifact, the number of its source, and the range that was taken of it."
    lifted: list[str] = field(default_factory=list)
    tried: dict[str, int] = field(default_factory=dict)
    "Records by URI."
    _files: dict[TimeRange, list[tuple[KeptFile, list[str]]]] = field(default_factory=dict)
    "With the touched artifacts of each."

    def plan(self, pages: Iterable[Page], first_number: int) -> dict[TimeRange, list[Unit]]:
        """Units by range of rows. All files with a record of an artifact that is touched are written anew."""
        for page in pages:
            touched = page.holds & of_artifacts(page.rows, self.touched.keys())
            if touched.any():
                self.lifted.append(page.name)
                self._add(page, touched)
        numbers = iter(range(first_number, first_number + sum(map(len, self._files.values()))))
        return {window: list(self._units(files, numbers)) for window, files in self._files.items()}

    def _add(self, page: Page, touched: Mask) -> None:
        tried = touched & self.sought.mask(page.rows) & self.framings.alone(page.rows)
        stays = page.holds & ~tried
        values, number = by_value(page.rows, "uri")
        uris = [str(values[which][0]) for which in np.unique(number[touched]).tolist()]
        windows: dict[TimeRange, Mask] = {}
        for which, (uri,) in enumerate(values):
            here = tried & (number == which)
            if here.any():
                window = self.touched[str(uri)][2]
                windows[window] = windows.get(window, np.zeros(len(tried), bool)) | here
                self.tried[str(uri)] = self.tried.get(str(uri), 0) + int(here.sum())
        for window, some in (windows or {self.touched[uris[0]][2]: tried}).items():
            file = KeptFile(page.place, page.name, packed(some), packed(stays))
            self._files.setdefault(window, []).append((file, uris))
            stays = np.zeros(len(stays), bool)  # once is enough

    def _units(self, files: list[tuple[KeptFile, list[str]]], numbers: Iterator[int]) -> Iterator[Unit]:
        for start in range(0, len(files), FILES_PER_UNIT):
            some = files[start : start + FILES_PER_UNIT]
            uris = dict.fromkeys(uri for _, here in some for uri in here)
            artifacts, sources, _ = zip(*(self.touched[uri] for uri in uris), strict=True)
            yield Unit(next(numbers), artifacts, sources, kept=tuple(file for file, _ in some))


@dataclass(slots=True)
class Choice:
    """What is done about each artifact."""

    alone: dict[str, tuple[Artifact, int, TimeRange]] = field(default_factory=dict)
    "Its records are decoded by themselves. By URI, as in `Rewriting.touched`."
    again: list[tuple[Wanted, TimeRange]] = field(default_factory=list)
    "It is read from its source, as far as it was read before."
    meant: dict[str, int] = field(default_factory=dict)
    "Records by URI of those that are read again."

    def __bool__(self) -> bool:
        return bool(self.alone or self.again)

    @classmethod
    def of(
        cls,
        table: Table,
        spec: PartitionSpec,
        listed: Listed,
        facts: Mapping[str, Facts],
        known: Mapping[str, Entry],
        numbers: Mapping[str, int | None],
        report: ReplayReport,
    ) -> Choice:
        """Artifacts are read again where that may help; else what can be decoded by itself is."""
        choice = cls()
        found = {item.artifact.key: item for item in listed.artifacts}
        for uri, entry in known.items():
            fact, number = facts[uri], numbers[uri]
            window = TimeRange(entry.taken_from, entry.taken_to)
            if fact.apart:
                item = found.get(uri) or _asked_for(fact, number, listed)
                recipe = recipe_of(table, listed.formats[item.source], spec.filter, key_of(spec)) if item else ""
                if item is not None and gives_other(item.artifact, entry, recipe):
                    choice.again.append((replace(item, held=_held(item, entry, recipe)), window))
                    choice.meant[uri] = fact.alone + fact.apart
                    continue
                _leave(report, uri, fact, item, number)
            if fact.alone and fact.artifact is not None and number is not None:
                choice.alone[uri] = (fact.artifact, number, window)
        return choice


def _held(item: Wanted, entry: Entry, recipe: str) -> Held | None:
    """What it must not give less than, where it is read as a whole."""
    reads_on = item.artifact.resume is not None and entry.recipe == recipe
    if reads_on or not entry.rows:
        return None
    return Held.of(entry, recipe, may_be_empty=item.artifact.source_name is None)


def _asked_for(fact: Facts, number: int | None, listed: Listed) -> Wanted | None:
    """An artifact that its source makes when it is asked, as it was asked for then."""
    if number is None or fact.artifact is None or not listed.sources:
        return None
    source = listed.sources[number]
    return Wanted(fact.artifact, number) if isinstance(source, Asked | Continuing) else None


def _leave(report: ReplayReport, uri: str, fact: Facts, item: Wanted | None, number: int | None) -> None:
    """Says why records are not tried."""
    report.left += fact.apart
    where = fact.artifact.location if fact.artifact else uri
    records = "1 record" if fact.apart == 1 else f"{fact.apart:,} records"
    told = f"{records} can only be read with the whole artifact ({fact.why})"
    if item is not None:
        message = f"{told}; neither it nor the configuration has changed since"
        report.advice.append(Trouble(where, message, "quarantine.unchanged"))
    elif number is None:
        message, hint = f"{told}, and its source is no longer configured", "configure it again under its name"
        report.troubles.append(Trouble(where, message, "quarantine.no-source", hint))
    else:
        message, hint = f"{told}, and its source does not hold it any more", "put it back, or purge the records"
        report.troubles.append(Trouble(where, message, "quarantine.artifact-gone", hint))

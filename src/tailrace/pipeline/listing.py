"""What the sources of a partition hold."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import chain
from urllib.parse import quote

from tailrace.config.model import PartitionSpec, SourceSpec
from tailrace.core import Artifact, Format, Table, TimeRange
from tailrace.core.ranges import written
from tailrace.lake.ledger import Ledger
from tailrace.lake.paths import Lake
from tailrace.lake.place import Place
from tailrace.pipeline import reach
from tailrace.pipeline.job import key_of, recipe_of
from tailrace.pipeline.plan import Wanted
from tailrace.pipeline.report import PartitionReport, Trouble
from tailrace.sources import Found, Skipped, Source, Unreadable, make_source
from tailrace.sources.base import Continuing, Delivering, Delivery
from tailrace.sources.objects import SAFE
from tailrace.sources.walk import file_uri

_EVER = TimeRange()


@dataclass(frozen=True, slots=True)
class Listed:
    """What was found."""

    artifacts: tuple[Wanted, ...]
    formats: tuple[Format, ...]
    "By number of the source."
    sources: tuple[Source, ...]
    settles: Mapping[str, str]
    "Notes for the ledger once all of it is committed: what need not be listed again."
    deliveries: tuple[Delivery, ...] = ()
    "To be told what has been committed."
    hidden: tuple[tuple[TimeRange, Trouble], ...] = ()
    "Days of which a source could not tell what it holds, and why: nothing of them is stored, for any source."

    @property
    def seen(self) -> tuple[Wanted, ...]:
        """Artifacts of days that are known as a whole."""
        return tuple(item for item in self.artifacts if not self._hides(item.artifact.day))

    def _hides(self, day: date | None) -> bool:
        """Artifacts without a day wait only where nothing at all is known of a source."""
        return any(range == _EVER or (day is not None and range.touches(day)) for range, _ in self.hidden)


@dataclass(frozen=True, slots=True)
class Taking:
    """A collection that takes what is announced."""

    asked: TimeRange
    "All that is announced is wanted, however old, unless somebody asked for less."
    until: ExitStack | None
    "What is not stored by its end is given back; None: only looking, nothing is taken."


@dataclass(slots=True)
class Listing:
    """Lists the sources of one partition; what cannot be listed, or is Tailrace's own, is noted in the report."""

    spec: PartitionSpec
    table: Table
    ledger: Ledger
    report: PartitionReport
    lake: Lake
    found: dict[str, Wanted] = field(default_factory=dict)
    own: list[Artifact] = field(default_factory=list)
    settles: dict[str, str] = field(default_factory=dict)
    takes: Taking | None = None
    "How sources that announce what is new are asked; without it they are listed as the others."
    deliveries: list[Delivery] = field(default_factory=list)
    hidden: list[tuple[TimeRange, Trouble]] = field(default_factory=list)

    def look(self, windows: Sequence[TimeRange], now: datetime, *, again: bool) -> Listed:
        """All artifacts that may hold rows of each source's window. `again`: settled ranges are listed too."""
        formats = tuple(source.format or self.table.format for source in self.spec.sources)
        sources: list[Source] = []
        ours = own_places(self.lake)
        for number, spec in enumerate(self.spec.sources):
            source = make_source(spec.kind, _arguments(spec, self.table), spec.connection, spec.locations)
            sources.append(source)
            if self.takes is not None and isinstance(source, Delivering):
                self._take(self._handed_out(source, spec, self.takes), number, ours)
                continue
            if isinstance(source, Continuing):
                source = source.after(self.ledger.entries.column("uri").to_pylist())
            recipe = recipe_of(self.table, formats[number], self.spec.filter, key_of(self.spec))
            parts = self._windows(source, reach.note_name(spec, recipe), windows[number], now, again)
            self._take(chain.from_iterable(map(source.discover, parts)), number, ours)
        if self.own:
            told = f"{len(self.own):,} file{'s' * (len(self.own) > 1)} of Tailrace's own home left out"
            hint = "let `paths` name the logs alone"
            self.report.advice.append(Trouble(self.own[0].location, told, "source.own-files", hint))
        self.report.discovered = len(self.found)
        return Listed(
            tuple(self.found.values()),
            formats,
            tuple(sources),
            self.settles,
            tuple(self.deliveries),
            tuple(self.hidden),
        )

    def _handed_out(self, source: Delivering, spec: SourceSpec, takes: Taking) -> Iterator[Found]:
        self.report.announced = True
        if takes.until is None:
            self.report.advice.append(Trouble(spec.name, source.waiting(), "source.waiting"))
            return
        delivery = takes.until.enter_context(source.delivery())
        self.deliveries.append(delivery)
        yield from delivery.discover(takes.asked)

    def _windows(self, source: Source, note: str, window: TimeRange, now: datetime, again: bool) -> list[TimeRange]:
        if source.late is None:
            return [window]
        done = reach.settled(self.ledger, note, now, source.late)
        windows = [window] if again else list(reach.still_to_list(window, done))
        later = reach.settling(windows, done, now, source.late)
        if later != done:
            self.settles[note] = written(later)
        return windows

    def _take(self, found: Iterable[Found], number: int, ours: tuple[str, ...]) -> None:
        unreadable: list[Unreadable] = []
        held = 0
        for item in found:
            if isinstance(item, Unreadable):
                unreadable.append(item)
            elif isinstance(item, Skipped):
                self.report.unmatched += item.count if item.reason == "layout" else 0
            elif item.uri.startswith(ours):
                self.own.append(item)
            else:
                held += 1
                self.found.setdefault(item.uri, Wanted(item, number))
                # As it goes: whoever watches sees a long listing grow.
                self.report.discovered = len(self.found)
        if held:
            for item in unreadable:
                self._note([item], nothing_else=False)
            return
        # Of a bucket that is not there each day is not there: once is enough.
        alike: dict[tuple[str, str, str], list[Unreadable]] = {}
        for item in unreadable:
            alike.setdefault((item.uri, item.code, item.reason), []).append(item)
        for items in alike.values():
            self._note(items, nothing_else=True)

    def _note(self, items: Sequence[Unreadable], *, nothing_else: bool) -> None:
        """What may lie behind it: if a moment later it may be seen, or the source as a whole cannot be listed."""
        first = items[0]
        # All of them are directories of one bucket, if there are several.
        place = min((item.location for item in items), key=len)
        while not all(item.location.startswith(place) for item in items):
            place = place[: place.rstrip("/").rfind("/") + 1]
        trouble = Trouble(place or first.uri, first.reason, first.code)
        self.report.troubles.append(trouble)
        if first.transient or nothing_else:
            self.hidden.extend((item.hides, trouble) for item in items if item.hides is not None)


def list_sources(spec: PartitionSpec, table: Table, window: TimeRange, report: PartitionReport, lake: Lake) -> Listed:
    """All that there is in the window, whatever has been collected."""
    return Listing(spec, table, Ledger(), report, lake).look([window] * len(spec.sources), datetime.max, again=True)


def own_places(lake: Lake) -> tuple[str, ...]:
    """How the URIs of Tailrace's own files begin: what a lake holds and Spark says are no logs to collect."""
    folders = [file_uri(os.path.realpath(lake.home / name)) + "/" for name in ("config", "data", "meta")]
    if lake.elsewhere is not None:
        folders += [_uri_of(root) + "/" for root in (lake.data_root, lake.meta_root)]
    return (*folders, file_uri(os.path.realpath(lake.home / "logs") + "/spark.log"))


def _uri_of(place: Place) -> str:
    """As sources name it."""
    if place.is_local:
        return file_uri(os.path.realpath(place.uri))
    scheme, _, rest = place.uri.partition("://")
    return f"{scheme}://{quote(rest, safe=SAFE)}"


def _arguments(source: SourceSpec, table: Table) -> dict[str, object]:
    arguments = dict(source.args)
    layout = dict(table.file_layout).get(source.kind)
    if layout is not None:
        arguments.setdefault("file_layout", layout)
    return arguments

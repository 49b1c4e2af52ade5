"""The driver: closed segments → manifests → files, for all sinks, until it is told to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import pyarrow as pa

from tailrace.core.errors import TailraceError
from tailrace.lake.lock import local_lock
from tailrace.streams import manifests, segments
from tailrace.streams.batches import bites, conclude, prepare_segments
from tailrace.streams.lake_sink import LakeDriver, LakeOptions, Store
from tailrace.streams.otap_sink import OtapDriver, OtapOptions, WritePartition
from tailrace.streams.publish import Publisher
from tailrace.streams.report_lines import ReportLines
from tailrace.streams.sink_options import SinkOptions
from tailrace.streams.status import write_status
from tailrace.streams.tree import expire, files

_POLL = 0.1
_UPKEEP = 60.0
"Seconds between looks for files to seal or to delete."
_SEALING = 5.0
"Seconds of sorting at the end: the rest is sorted when `serve` is begun again."
_TELLING = 1.0
"Seconds between two times at which a sink tells of rows that wait for its flush interval."
_RETRY = 5.0
"Seconds before a sink that failed as a whole tries again."
_FAILURES = (OSError, pa.ArrowException, TailraceError)


class SinkDriver:
    """One sink: what it has taken from the spool, and what of that is published."""

    def __init__(self, options: SinkOptions) -> None:
        self.options = options
        self.trouble: str | None = None
        "Why nothing at all can be stored at the moment."
        self._failed_at: float | None = None
        self.publisher = self._begun()
        self._published = time.monotonic()
        self.lines = ReportLines(options.name, options.metrics_interval, enabled=options.metrics_enabled)
        self._upkept = 0.0
        self._told, self._told_at = self.last, -_UPKEEP

    def _begun(self) -> Publisher:
        """From what is on disk, where things that mean nothing are cleared away."""
        publisher = Publisher(self.options)
        publisher.look_for_files(files(self.options))
        return publisher

    @property
    def last(self) -> int:
        """Last segment that is never decoded again."""
        return self.publisher.last

    def take(self, spool: Path, closed: Sequence[int], *, everything: bool = False) -> bool:
        """Decodes what is new, a part of bounded size at a time; is there more?"""
        if not self._is_sound(everything):
            return False
        new = [number for number in closed if number > self.last]
        for bite in bites(spool, new):
            try:
                part = prepare_segments(spool, bite, self.options)
                self.publisher.add(conclude(self.options, bite[0], bite[-1], [part]))
            except _FAILURES as error:
                self._fail(error)
                return False
            if not everything and bite[-1] != new[-1]:
                return True
        self.trouble = None
        return False

    def publish_if_due(self, *, everything: bool = False) -> None:
        """At each flush interval, and at the end."""
        now = time.monotonic()
        interval = self.options.flush_interval.total_seconds()
        if not everything and now - self._published < interval:
            self._tell_meanwhile(now)
            return
        seconds, self._published = max(now - self._published, 1.0), now
        try:
            if self._is_sound(everything):
                self._publish(now, seconds, everything)
        except _FAILURES as error:
            self._fail(error)
        self.tell()

    def _tell_meanwhile(self, now: float) -> None:
        """A flush interval may be long: what waits for it is known before."""
        if self.publisher.last != self._told and now - self._told_at > _TELLING:
            self._told_at = now
            self.tell()

    def _publish(self, now: float, seconds: float, everything: bool) -> None:
        self.publisher.publish(seconds, everything=everything)
        moment = int(time.time() * 1000)
        is_due = now - self._upkept > _UPKEEP
        if everything:
            self.publisher.seal(moment, _SEALING)
        else:
            self.publisher.seal_aside(moment, begin=is_due)
        if is_due or everything:
            self._upkept = now
            self.publisher.forget(expire(self.options, moment))

    def _fail(self, error: Exception) -> None:
        """A disk that is full, or whatever else it was: other sinks go on, and what is in the spool waits there."""
        self.publisher.counts["write_errors"] += 1
        self.trouble = str(error) or type(error).__name__
        self._failed_at = time.monotonic()

    def _is_sound(self, at_once: bool) -> bool:
        """After a failure everything is begun anew: what is on disk may be more than what was known here."""
        if self._failed_at is None:
            return True
        if not at_once and time.monotonic() - self._failed_at < _RETRY:
            return False
        counts = self.publisher.counts
        self.publisher.end_sealing()
        try:
            self.publisher = self._begun()
        except _FAILURES as error:
            self._fail(error)
            return False
        self.publisher.counts, self._failed_at = counts, None
        return True

    def report(self, *, last: bool = False) -> str | None:
        """At each metrics interval, and at the end: what has been counted, in a line, if that is news."""
        if not self.lines.is_due(last=last):
            return None
        return self.lines.line({**self.counts(), **self.publisher.counts}, self.trouble)

    def counts(self) -> dict[str, int]:
        """Of all manifests so far."""
        counts = dict(manifests.read_folded(self.options.state).counts)
        for manifest in self.publisher.open:
            for name, number in manifest.counts.items():
                counts[name] = counts.get(name, 0) + number
        return counts

    def tell(self) -> None:
        """Writes down how things stand, for those who ask."""
        publisher = self.publisher
        self._told = publisher.last
        troubles = {} if self.trouble is None else {str(self.options.path): self.trouble}
        told = {
            "sink": self.options.name,
            "path": str(self.options.path),
            "at": time.time(),
            "through": publisher.last,
            "published_through": publisher.folded,
            "waiting_rows": sum(waiting.rows for waiting in publisher.waiting.values()),
            "counts": self.counts(),
            "written": publisher.counts,
            "troubles": troubles | {str(key.path(self.options)): text for key, text in publisher.troubles.items()},
        }
        with suppress(OSError):  # it is told again
            write_status(self.options.state, told)


class Driver:
    """All sinks of a spool."""

    def __init__(
        self,
        spool: Path,
        sinks: Sequence[SinkOptions],
        say: Callable[[str], None] = lambda text: None,
        tables: Mapping[OtapOptions, WritePartition] | None = None,
        lakes: Sequence[tuple[LakeOptions, Store]] = (),
    ) -> None:
        self.spool = spool
        self.say = say
        self._held = ExitStack()
        every: list[SinkOptions | OtapOptions | LakeOptions] = [*sinks, *(tables or {}), *(one for one, _ in lakes)]
        for options in every:
            lock = options.state / "lock"
            self._held.enter_context(local_lock(lock, f"sink {options.name} ({options.path})", "tailrace serve"))
        self.sinks = [SinkDriver(options) for options in sinks]
        self.tables: list[OtapDriver | LakeDriver] = [
            *(OtapDriver(options, write) for options, write in (tables or {}).items()),
            *(LakeDriver(options, store) for options, store in lakes),
        ]
        "Sinks that decode and store at each flush interval, with nothing in between."
        self.all: list[SinkDriver | OtapDriver | LakeDriver] = [*self.sinks, *self.tables]
        for sink in self.all:
            if not isinstance(sink, LakeDriver):  # which knows segments by their spool
                manifests.bind(sink.options.state, spool, sink.last, sink.options.name)

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set; then what is closed is stored and published, and locks are let go."""
        try:
            more = False
            while not stop.wait(0 if more else _POLL):
                more = self.step()
            self.step(last=True)
        finally:
            self._held.close()

    def step(self, *, last: bool = False) -> bool:
        """One look at the spool; is there more to do at once?"""
        closed = segments.numbers(self.spool, segments.CLOSED)
        more = [sink.take(self.spool, closed, everything=last) for sink in self.all]
        self._delete(closed)
        self.publish(last=last)
        return any(more)

    def publish(self, *, last: bool = False) -> None:
        """What is due in the sinks, and what they tell."""
        for sink in self.sinks:
            sink.publish_if_due(everything=last)
        for line in (sink.report(last=last) for sink in self.all):
            if line:
                self.say(line)

    def _delete(self, closed: Sequence[int]) -> None:
        """Segments that every sink has a manifest for."""
        through = min(sink.last for sink in self.all)
        for number in closed:
            if number <= through:
                segments.path_of(self.spool, number, segments.CLOSED).unlink(missing_ok=True)

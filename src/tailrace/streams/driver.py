"""The driver: closed segments → manifests → files, for all sinks, until it is told to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from tailrace.lake.lock import local_lock
from tailrace.streams import manifests, segments
from tailrace.streams.batches import bites, conclude, prepare_segments
from tailrace.streams.lake_sink import LakeDriver, LakeOptions, Store
from tailrace.streams.otap_sink import OtapDriver, OtapOptions, WritePartition
from tailrace.streams.publish import Publisher
from tailrace.streams.sink_options import SinkOptions
from tailrace.streams.status import write_status
from tailrace.streams.tree import expire, files

_POLL = 0.1
_UPKEEP = 60.0
"Seconds between looks for files to seal or to delete."


class SinkDriver:
    """One sink: what it has taken from the spool, and what of that is published."""

    def __init__(self, options: SinkOptions) -> None:
        self.options = options
        self.publisher = Publisher(options)
        self.publisher.look_for_files(files(options))
        self._published = self._reported = time.monotonic()
        self._upkept = 0.0

    @property
    def last(self) -> int:
        """Last segment that is never decoded again."""
        return self.publisher.last

    def take(self, spool: Path, closed: Sequence[int], *, everything: bool = False) -> None:
        """Decodes what is new."""
        for bite in bites(spool, [number for number in closed if number > self.publisher.last]):
            part = prepare_segments(spool, bite, self.options)
            self.publisher.add(conclude(self.options, bite[0], bite[-1], [part]))

    def publish_if_due(self, *, everything: bool = False) -> None:
        """At each flush interval, and at the end."""
        now = time.monotonic()
        interval = self.options.flush_interval.total_seconds()
        if not everything and now - self._published < interval:
            return
        self.publisher.publish(max(now - self._published, 1.0), everything=everything)
        self._published = now
        if now - self._upkept > _UPKEEP or everything:
            self._upkept = now
            moment = int(time.time() * 1000)
            self.publisher.seal(moment)
            self.publisher.forget(expire(self.options, moment))
        self.tell()

    def report(self) -> str | None:
        """At each metrics interval: what has been counted, in a line."""
        now = time.monotonic()
        interval = self.options.metrics_interval.total_seconds()
        if not self.options.metrics_enabled or now - self._reported < interval:
            return None
        # From one due time to the next, so that pauses do not add up.
        self._reported += (now - self._reported) // interval * interval if interval else 0
        told = {**self.counts(), **self.publisher.counts}
        return f"sink {self.options.name}: " + " ".join(f"{name}={number}" for name, number in told.items())

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
        write_status(self.options.state, {
            "sink": self.options.name,
            "path": str(self.options.path),
            "at": time.time(),
            "through": publisher.last,
            "published_through": publisher.folded,
            "waiting_rows": sum(waiting.rows for waiting in publisher.waiting.values()),
            "counts": self.counts(),
            "written": publisher.counts,
            "troubles": {str(key.path(self.options)): text for key, text in publisher.troubles.items()},
        })  # fmt: skip


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

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set; then what is closed is stored and published, and locks are let go."""
        try:
            while not stop.wait(_POLL):
                self.step()
            self.step(last=True)
        finally:
            self._held.close()

    def step(self, *, last: bool = False) -> None:
        """One look at the spool."""
        closed = segments.numbers(self.spool, segments.CLOSED)
        for sink in self.all:
            sink.take(self.spool, closed, everything=last)
        self._delete(closed)
        self.publish(last=last)

    def publish(self, *, last: bool = False) -> None:
        """What is due in the sinks, and what they tell."""
        for sink in self.sinks:
            sink.publish_if_due(everything=last)
        for line in (sink.report() for sink in self.all):
            if line:
                self.say(line)

    def _delete(self, closed: Sequence[int]) -> None:
        """Segments that every sink has a manifest for."""
        through = min(sink.last for sink in self.all)
        for number in closed:
            if number <= through:
                segments.path_of(self.spool, number, segments.CLOSED).unlink(missing_ok=True)

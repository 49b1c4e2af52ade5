"""Rows that wait in runs → the files of a sink. A file's rename is its commit: its footer says what is in it."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import pyarrow as pa

from tailrace.lake.steps import reached
from tailrace.streams import manifests
from tailrace.streams.manifests import STAGING, Manifest, Range, Run
from tailrace.streams.sealing import Sealing
from tailrace.streams.segments import sync_directory
from tailrace.streams.sink_files import SMALL, FileKey, FileState, FileWriter, SinkError, state_of
from tailrace.streams.sink_options import SinkOptions

COPIED = 64 << 20
"Bytes a second that renewing may cost; a file that is sorted anew costs eight times its size."
_RESORTED = 8
SORTED = 10 << 20
"Bytes of a file that are sorted in a second, about."
_FAILURES = (OSError, pa.ArrowException, SinkError)
_AT_ONCE = 2_000_000
"Rows that are taken from runs for one renewal."
_ROWS = {"events": "event_rows_written", "logs": "log_rows_written", "snapshots": "snapshot_rows_written"}


@dataclass(slots=True)
class Waiting:
    """Rows of one file that are in runs only, in the order of their manifests."""

    parts: list[tuple[Manifest, Run, Range]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(part.rows for _, _, part in self.parts)

    def taken(self) -> list[tuple[Manifest, Run, Range]]:
        """What goes into one renewal: manifests are applied whole."""
        rows, chosen = 0, 0
        for place, (manifest, _, part) in enumerate(self.parts):
            if rows and rows + part.rows > _AT_ONCE and manifest is not self.parts[place - 1][0]:
                break
            rows += part.rows
            chosen = place + 1
        return self.parts[:chosen]


class Publisher:
    """Knows what waits for which file, and writes it."""

    def __init__(self, options: SinkOptions) -> None:
        self.options = options
        manifests.make_state(options.state)
        options.path.mkdir(parents=True, exist_ok=True)
        self.writer = FileWriter(options)
        self.open: list[Manifest] = []
        self.waiting: dict[FileKey, Waiting] = {}
        self.counts: dict[str, int] = dict.fromkeys(
            (*_ROWS.values(), "bytes_written", "files_created", "write_errors"), 0
        )
        self.troubles: dict[FileKey, str] = {}
        self._states: dict[FileKey, FileState] = {}
        self._sealing: Sealing | None = None
        self.folded = manifests.read_folded(options.state).through
        for manifest in manifests.open_manifests(options.state):
            self.add(manifest)

    @property
    def last(self) -> int:
        """Last segment that is never decoded again."""
        return self.open[-1].last if self.open else self.folded

    def add(self, manifest: Manifest) -> None:
        """Takes in a manifest that is on disk."""
        self.open.append(manifest)
        for run in manifest.runs:
            for part in run.ranges:
                key = FileKey(part.workspace, part.period, run.kind)
                self.waiting.setdefault(key, Waiting()).parts.append((manifest, run, part))

    def publish(self, seconds: float, *, everything: bool = False) -> None:
        """Renews files, those that have waited longest first, as far as the budget of that time goes."""
        budget = COPIED * seconds
        for key in sorted(self.waiting, key=lambda key: (self.waiting[key].parts[0][0].first, key)):
            try:
                cost = self._renew_if_worth(key, budget, everything)
            except _FAILURES as error:
                self._failed(key, error)
                continue
            budget -= cost
        self._fold()

    def _renew_if_worth(self, key: FileKey, budget: float, everything: bool) -> int:
        """What renewing cost, in bytes."""
        old = self._state(key)
        cost = old.size * (_RESORTED if old.size <= SMALL else 1)
        waiting = self.waiting[key]
        new = [part for part in waiting.parts if part[0].last > old.through]
        if len(new) < len(waiting.parts):
            # Whoever put the file there was stopped before its name was on disk; behind this its runs may go.
            sync_directory(key.path(self.options).parent)
        waiting.parts = new
        if not (everything or cost <= budget or waiting.rows * 10 >= old.rows):
            return 0
        while waiting.parts:
            self._renew(key, waiting)
        del self.waiting[key]
        self.troubles.pop(key, None)
        return cost

    def _failed(self, key: FileKey, error: Exception) -> None:
        """The file may have been put in its place all the same: what is in it is read from it again."""
        self.counts["write_errors"] += 1
        self.troubles[key] = str(error)
        self._states.pop(key, None)

    def _renew(self, key: FileKey, waiting: Waiting) -> None:
        old = self._state(key)
        taken = waiting.taken()
        rows = pa.concat_tables(manifests.read_range(self.options.state, run, part) for _, run, part in taken)
        temporary = self._temporary()
        try:
            self.writer.renew(key, old, rows, taken[-1][0].last, temporary)
            self._put(key, temporary, old)
        finally:
            temporary.unlink(missing_ok=True)
        self.counts[_ROWS[key.kind]] += rows.num_rows
        waiting.parts = waiting.parts[len(taken) :]

    def _put(self, key: FileKey, temporary: Path, old: FileState) -> None:
        """The new file takes the place of the old one, at once and for good."""
        path = key.path(self.options)
        _make_directories(path.parent, self.options.path)
        reached("file-staged")
        os.rename(temporary, path)
        reached("file-renamed")
        sync_directory(path.parent)
        new = self._states[key] = state_of(path)
        self.counts["bytes_written"] += new.size - old.size
        self.counts["files_created"] += not old.exists

    def seal(self, now: int, seconds: float = inf) -> int:
        """Sorts the files whose time is over and late rows too; their number. None while some are being sorted.

        None is begun after so many seconds, nor is one that would take much longer.
        """
        sealed, deadline = 0, time.monotonic() + seconds
        if self._sealing is not None:
            if self._sealing.is_alive():  # who ends does not wait for it: it is done anew at the next beginning
                self.end_sealing()
                return 0
            sealed, self._sealing = self._conclude(self._sealing), None
        for key, old in self._over(now):
            if time.monotonic() > deadline or old.size > seconds * SORTED:
                continue
            sealing = Sealing(self.writer, [(key, old)], self._temporary)
            sealing.run()
            sealed += self._conclude(sealing)
        return sealed

    def seal_aside(self, now: int, *, begin: bool) -> None:
        """The same in a thread, while everything else goes on; puts in place what is sorted by now."""
        sealing = self._sealing
        if sealing is not None:
            if sealing.is_alive():
                return
            self._sealing = None
            self._conclude(sealing)
            begin = begin or sealing.has_more
        if begin and (due := self._over(now)):
            self._sealing = Sealing(self.writer, due, self._temporary)
            self._sealing.start()

    def end_sealing(self) -> None:
        """What is being sorted is of no use any more."""
        if self._sealing is not None:
            self._sealing.cancel()
            self._sealing = None

    def _over(self, now: int) -> list[tuple[FileKey, FileState]]:
        """Files that get no more rows."""
        over = now - int(self.options.max_lateness.total_seconds() * 1000) - self.options.period
        known = ((key, self._states[key]) for key in sorted(set(self._states) - set(self.waiting)))
        return [(key, old) for key, old in known if old.exists and not old.sealed and key.period <= over]

    def _conclude(self, sealing: Sealing) -> int:
        """Puts sorted files in place; how many."""
        sealed = 0
        for key, old, temporary, error in sealing.done:
            try:
                if self._states.get(key) is not old:  # it was renewed or deleted meanwhile
                    continue
                if error is not None:
                    raise SinkError(str(error)) from error
                self._put(key, temporary, old)
                sealed += 1
                del self._states[key]
                self.troubles.pop(key, None)
            except _FAILURES as failure:
                self._failed(key, failure)
                self._states[key] = old  # tried again: whether sorted or not, the rows are the same
            finally:
                temporary.unlink(missing_ok=True)
        return sealed

    def forget(self, keys: Iterable[FileKey]) -> None:
        """Files that are gone."""
        for key in keys:
            self._states.pop(key, None)

    def look_for_files(self, keys: Iterable[FileKey]) -> None:
        """Files of earlier times, which may have to be sealed."""
        for key in keys:
            if key not in self._states:
                try:
                    found = state_of(key.path(self.options))
                except (OSError, SinkError):  # told when there is something for it
                    continue
                if not found.sealed:
                    self._states[key] = found

    def _state(self, key: FileKey) -> FileState:
        if key not in self._states:
            self._states[key] = state_of(key.path(self.options))
        return self._states[key]

    def _temporary(self) -> Path:
        return self.options.state / STAGING / uuid.uuid4().hex

    def _fold(self) -> None:
        """Manifests whose rows are all in files, from the front."""
        held = {manifest.last for waiting in self.waiting.values() for manifest, _, _ in waiting.parts}
        done = 0
        while done < len(self.open) and self.open[done].last not in held:
            done += 1
        if done:
            manifests.fold(self.options.state, self.open[:done])
            self.folded = self.open[done - 1].last
            self.open = self.open[done:]


def _make_directories(path: Path, root: Path) -> None:
    if path.is_dir():
        return
    path.mkdir(parents=True, exist_ok=True)
    while path != root:
        path = path.parent
        sync_directory(path)

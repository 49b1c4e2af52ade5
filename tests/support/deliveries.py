"""Deliveries of events, some of them twice, and what a lake with a key should hold: worked out row by row."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from tailrace.lake.identity import artifact_prefix

START = datetime(2026, 10, 1)


class Event(NamedTuple):
    """Whose key is null where `key` is."""

    key: str | None
    hours: int
    "Since the beginning."

    @property
    def at(self) -> datetime:
        return START + timedelta(hours=self.hours)

    def line(self) -> str:
        return json.dumps({"time": f"{self.at.isoformat()}Z", "id": self.key}) + "\n"


@dataclass(frozen=True)
class Row:
    event: Event
    order: tuple[datetime, str, int]
    "Time, artifact, position: as rows with the same key come before each other."
    name: str


@dataclass
class Oracle:
    """What is stored, by file; `window` in hours."""

    window: int = 24
    stored: list[Row] = field(default_factory=list)
    owed: set[str] = field(default_factory=set)
    "Files that have to be read again."
    left_out: dict[str, list[Event]] = field(default_factory=dict)

    def deliver(self, files: dict[str, list[Event]]) -> int:
        """One run over new and changed files, all in one commit; returns how many rows were duplicates."""
        gone = [row for row in self.stored if row.name in files]
        self.stored = [row for row in self.stored if row.name not in files]
        rows = sorted((row for name, held in files.items() for row in self._rows(name, held)), key=lambda r: r.order)
        # Against what was stored before, and then among themselves.
        new = [row for row in rows if not self._has_twin(row, self.stored)]
        kept: list[Row] = []
        for row in new:
            if not self._has_twin(row, kept):
                kept.append(row)
        self.stored += kept
        for name, held in files.items():
            stay = {row.order for row in kept if row.name == name}
            self.left_out[name] = [row.event for row in self._rows(name, held) if row.order not in stay]
        self.owed = self._revived(gone, kept, files)
        return len(rows) - len(kept)

    def keys(self) -> list[tuple[str | None, datetime, str]]:
        return sorted(((r.event.key, r.event.at, r.name) for r in self.stored), key=str)

    def _revived(self, gone: list[Row], kept: list[Row], files: Iterable[str]) -> set[str]:
        days = {row.event.at.date() for row in gone if row.event.key and not self._has_twin(row, kept)}
        far = -(-self.window // 24)
        near = {day + timedelta(days=n) for day in days for n in range(-far, far + 1)}
        return {
            name for name, events in self.left_out.items() if events and name not in files and near & self._days(name)
        }

    def _days(self, name: str) -> set[object]:
        return {e.at.date() for e in [*self.left_out[name], *(r.event for r in self.stored if r.name == name)]}

    def _rows(self, name: str, held: list[Event]) -> list[Row]:
        prefix = artifact_prefix(f"s3://logs/{name}")
        return [Row(event, (event.at, prefix, number), name) for number, event in enumerate(held)]

    def _has_twin(self, row: Row, others: Iterable[Row]) -> bool:
        if row.event.key is None:
            return False
        near = (o for o in others if o.event.key == row.event.key)
        return any(abs(o.event.hours - row.event.hours) <= self.window for o in near)

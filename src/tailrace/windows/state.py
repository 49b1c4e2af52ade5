"""What windows have been finished: numbered segments, each put if absent. A segment is the only commit point.

Windows are finished in order and without gaps: all windows before `through` of the last segment are, those without rows
too. A segment also names the files that were looked at, so that one which comes later is known to be late.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import msgspec

from tailrace.core.errors import LakeError
from tailrace.lake.place import LocalPlace
from tailrace.lake.steps import reached

STEPS = ("window-staged", "segment-staged", "window-committed", "window-published")
"Where a run can die."
STAGED = "_staged"
"Directory beside the results: what is written and not yet theirs."


class Output(msgspec.Struct, frozen=True):
    """A file that is staged under one name and published under another, relative to the results."""

    staged: str
    final: str


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """A window with rows that is finished."""

    start: int
    end: int
    late: int = 0
    "The number of the late file that this is of; 0: the window itself."
    files: tuple[str, ...] = ()
    outputs: tuple[Output, ...] = ()
    logs: int = 0
    rows: int = 0
    "Of the query's answer."
    selected: int = 0
    undated: int = 0
    unresolved: int = 0
    bytes: int = 0
    seconds: float = 0.0


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """A commit."""

    first: int
    through: int
    windows: tuple[Done, ...] = ()
    seen: tuple[str, ...] = ()
    late_files: int = 0
    late_rows: int = 0
    digests: dict[str, str] = {}


@dataclass(slots=True)
class State:
    """All segments together."""

    place: LocalPlace
    out: LocalPlace
    segments: int = 0
    through: int | None = None
    first: int | None = None
    seen: set[str] = field(default_factory=set)
    late_files: int = 0
    late_rows: int = 0
    windows: int = 0
    logs: int = 0
    selected: int = 0
    unresolved: int = 0
    undated: int = 0
    last: Segment | None = None

    @classmethod
    def read(cls, place: LocalPlace, out: LocalPlace) -> State:
        state = cls(place, out)
        for name in place.names():
            state._take(msgspec.json.decode(place.read(name), type=Segment))
        return state

    def _take(self, segment: Segment) -> None:
        self.segments += 1
        self.first = segment.first if self.first is None else self.first
        self.through, self.last = segment.through, segment
        self.seen.update(segment.seen)
        self.late_files += segment.late_files
        self.late_rows += segment.late_rows
        for done in segment.windows:
            self.windows += not done.late
            for name in ("logs", "selected", "unresolved", "undated"):
                setattr(self, name, getattr(self, name) + getattr(done, name))

    def commit(self, segment: Segment) -> None:
        """The segment holds from now on; its results get their names."""
        reached("window-staged")
        name = f"{self.segments + 1:012d}.json"
        if not self.place.put_if_absent(name, msgspec.json.encode(segment), str(os.getpid())):
            hint = "let one process at a time run a window"
            raise LakeError("another run has finished windows", code="window.lost", where=str(self.place), hint=hint)
        reached("window-committed")
        self._take(segment)
        self.publish()

    def publish(self) -> None:
        """Gives results of the last segment their names, and clears away what is nobody's.

        Done again by the next run where this one dies.
        """
        for done in self.last.windows if self.last else ():
            for output in done.outputs:
                staged, final = self.out.path / output.staged, self.out.path / output.final
                if staged.exists():
                    final.parent.mkdir(parents=True, exist_ok=True)
                    os.replace(staged, final)
                    reached("window-published")
        (self.out / STAGED).clear()

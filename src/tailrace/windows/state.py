"""What windows have been finished: numbered segments, each put if absent. A segment is the only commit point.

Windows are finished in order and without gaps: all windows before `through` of the last segment are, those without rows
too. A segment also names the files that were looked at, so that one which comes later is known to be late.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from tailrace.core.errors import LakeError, one_line
from tailrace.core.written import room_for
from tailrace.lake.place import LocalPlace, Place
from tailrace.lake.steps import reached

STEPS = ("window-staged", "segment-staged", "window-committed", "window-published")
"Where a run can die."
DELIVERED = "window-delivered"
"Where one that delivers can die besides."
FOLD, FOLDED = 64, "folded"
"After so many segments their sum is kept under this name, and they are not read again."
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
    invalid_weights: int = 0
    "Weights that were given and counted as 1; where Spark answers they are not counted."
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
    deliver: bool = False
    "Are results to be delivered as well?"
    delivered: tuple[str, ...] = ()
    "Names of results of this or earlier segments that were."
    rejected: int = 0
    "Logs of theirs that the other side has not taken."


@dataclass(slots=True)
class State:
    """All segments together."""

    place: LocalPlace
    out: Place
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
    rejected: int = 0
    waiting: dict[str, Done] = field(default_factory=dict)
    "Results that are to be delivered, and their windows."
    last: Segment | None = None

    @classmethod
    def read(cls, place: LocalPlace, out: Place) -> State:
        state = cls(place, out)
        state._unfold()
        for name in place.names(after=_named(state.segments)):
            state._take(_segment(place, name, state.segments + 1))
        return state

    def _unfold(self) -> None:
        """What earlier segments amount to, unless they are not these."""
        try:
            told = msgspec.json.decode(self.place.read(f"{FOLDED}/{FOLDED}.json"), type=_Folded)
        except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
            return
        if self.place.names(after=_named(told.segments - 1))[:1] == [_named(told.segments)]:
            for name in told.__struct_fields__:
                setattr(self, name, getattr(told, name))

    def _fold(self) -> None:
        told = _Folded(**{name: getattr(self, name) for name in _Folded.__struct_fields__})
        self.place.put(f"{FOLDED}/{FOLDED}.json", msgspec.json.encode(told), "fold")

    def _take(self, segment: Segment) -> None:
        self.segments += 1
        self.first = segment.first if self.first is None else self.first
        self.through, self.last = segment.through, segment
        self.seen.update(segment.seen)
        self.late_files += segment.late_files
        self.late_rows += segment.late_rows
        self.rejected += segment.rejected
        for name in segment.delivered:
            self.waiting.pop(name, None)
        for done in segment.windows:
            self.windows += not done.late
            if segment.deliver:
                self.waiting |= {output.final: done for output in done.outputs}
            for name in ("logs", "selected", "unresolved", "undated"):
                setattr(self, name, getattr(self, name) + getattr(done, name))

    def commit(self, segment: Segment) -> None:
        """The segment holds from now on; its results get their names."""
        reached("window-staged")
        name = _named(self.segments + 1)
        with room_for(str(self.place)):
            is_ours = self.place.put_if_absent(name, msgspec.json.encode(segment), str(os.getpid()))
        if not is_ours:
            hint = "let one process at a time run a window"
            raise LakeError("another run has finished windows", code="window.lost", where=str(self.place), hint=hint)
        reached("window-committed")
        self._take(segment)
        self.publish()
        if self.segments % FOLD == 0:
            self._fold()

    def publish(self) -> None:
        """Gives results of the last segment their names, and clears away what is nobody's.

        Done again by the next run where this one dies.
        """
        for done in self.last.windows if self.last else ():
            for output in done.outputs:
                if _moved(self.out, output):
                    reached("window-published")
        (self.out / STAGED).clear()


class _Folded(msgspec.Struct, kw_only=True):
    """What a number of segments amount to; all fields are those of the state."""

    segments: int
    through: int | None
    first: int | None
    seen: set[str]
    late_files: int
    late_rows: int
    windows: int
    logs: int
    selected: int
    unresolved: int
    undated: int
    rejected: int
    waiting: dict[str, Done]


def _segment(place: LocalPlace, name: str, number: int) -> Segment:
    """The one that has to come next."""
    try:
        if name == _named(number):
            return msgspec.json.decode(place.read(name), type=Segment)
        reason = "is missing"
    except msgspec.DecodeError as error:
        reason = f"is damaged: {one_line(error)}"
    hint = "restore it from a backup; if it is the last one delete it, and its windows are run again"
    message = f"what tells which windows are finished {reason}"
    raise LakeError(message, code="window.damaged-state", where=place.address(_named(number)), hint=hint)


def _named(number: int) -> str:
    return f"{number:012d}.json"


def _moved(out: Place, output: Output) -> bool:
    """False where it has its name already."""
    if isinstance(out, LocalPlace):
        staged, final = out.path / output.staged, out.path / output.final
        if not staged.exists():
            return False
        final.parent.mkdir(parents=True, exist_ok=True)
        os.replace(staged, final)
        return True
    from tailrace.lake.object_place import ObjectPlace, answered

    assert isinstance(out, ObjectPlace)
    import obstore

    with suppress(FileNotFoundError), answered(out.address(output.final)):
        obstore.copy(out.store, out.key(output.staged), out.key(output.final))
        return True
    return False

"""Globs over paths, matched segment by segment while walking down, so that no directory is opened in vain."""

from __future__ import annotations

import fnmatch
import os
import re
from dataclasses import dataclass
from functools import lru_cache

States = frozenset[int]
"How many segments of the glob the path so far may have used up; empty = it cannot match."

_WILD = re.compile(r"[*?[]")


@dataclass(frozen=True, slots=True)
class Glob:
    """`*`, `?` and `[…]` within a segment, `**` for any number of directories.

    Hidden names match only where the dot is spelled out. A matching directory is taken with all below it.
    """

    segments: tuple[str, ...] = ()

    def start(self) -> States:
        return self._closed({0})

    def step(self, states: States, name: str) -> States:
        """The states after going down to `name`."""
        hidden = name.startswith(".")
        after: set[int] = set()
        for state in states:
            if state == len(self.segments) or self.segments[state] == "**":
                if not hidden:
                    after.add(state)
            elif _matches(self.segments[state], name):
                after.add(state + 1)
        return self._closed(after)

    def complete(self, states: States) -> bool:
        return len(self.segments) in states

    def _closed(self, states: set[int]) -> States:
        for state in sorted(states):
            while state < len(self.segments) and self.segments[state] == "**":
                state += 1
                states.add(state)
        return frozenset(states)


def _matches(segment: str, name: str) -> bool:
    if name.startswith(".") and not segment.startswith("."):
        return False
    return _compiled(segment).fullmatch(name) is not None


@lru_cache(maxsize=256)
def _compiled(segment: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(segment))


def split_glob(path: str) -> tuple[str, Glob]:
    """The directory before the first wildcard, and the glob below it; a path that exists is no glob."""
    path = os.path.abspath(os.path.expanduser(path))
    segments = path.split("/")
    wild = next((i for i, segment in enumerate(segments) if _WILD.search(segment)), None)
    if wild is None or os.path.lexists(path):
        return path, Glob()
    return "/".join(segments[:wild]) or "/", Glob(tuple(segments[wild:]))

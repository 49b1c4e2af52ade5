"""From a layout and a prefix to the directories below which dates begin, asking only where names are unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tailrace.sources.layout import Layout
from tailrace.sources.layout_branches import Branch, Dates, branches

States = frozenset[tuple[int, int]]
"Number of a branch, and how many of its segments the path so far has used up."
Ask = Callable[[Sequence[str]], Iterable[Sequence[str]]]
"Names of the directories in each of some directories."


@dataclass(frozen=True, slots=True)
class Trunk:
    """What keys begin with before their date; without `dates` all of them count."""

    prefix: str
    dates: Dates | None


@dataclass(frozen=True, slots=True)
class _Node:
    directory: str
    states: States
    arrived: frozenset[Dates]
    "Dates that begin right here."


def bases(prefix: str) -> list[str]:
    """Where a layout may begin: at the prefix, or at a directory on the way to it."""
    above = prefix.rstrip("/").split("/")
    found = [prefix if prefix.endswith("/") or not prefix else f"{prefix}/"]
    found += ["/".join(above[:i]) + "/" for i in reversed(range(1, len(above)))]
    return found if found[-1] == "" else [*found, ""]


class Walk:
    """One walk below a prefix."""

    def __init__(self, layout: Layout | None, prefix: str) -> None:
        self.prefix = prefix
        self.branches = branches(layout)

    def trunks(self, ask: Ask) -> list[Trunk]:
        """In order, none inside another that is taken as a whole."""
        if any(not branch.segments and branch.dates is None for branch in self.branches):
            return [Trunk(self.prefix, None)]
        found: dict[Trunk, None] = {}
        frontier = self._start(found)
        while frontier:
            unknown = [node for node in frontier if self._asks(node)]
            listed = dict(zip(unknown, ask([node.directory for node in unknown]), strict=True))
            children: dict[str, set[tuple[int, int]]] = {}
            for node in frontier:
                for name in self._names(node, listed.get(node)):
                    states = self._step(node, name)
                    if states:
                        children.setdefault(f"{node.directory}{name}/", set()).update(states)
            frontier = [self._ended(path, states, found) for path, states in sorted(children.items())]
            frontier = [node for node in frontier if node.states]
        return _outermost(found)

    def _start(self, found: dict[Trunk, None]) -> list[_Node]:
        at_prefix, *above = bases(self.prefix)
        nodes = [self._ended(at_prefix, {(i, 0) for i in range(len(self.branches))}, found)]
        if self.prefix and not self.prefix.endswith("/"):
            # The prefix may end within the name that goes on with the date.
            found.update({Trunk(self.prefix, b.dates): None for b in self.branches if not b.segments})
        fixed = {(i, 0) for i, branch in enumerate(self.branches) if _begins_fixed(branch)}
        nodes += [self._ended(base, fixed, found) for base in above]
        return [node for node in nodes if node.states]

    def _ended(self, directory: str, states: Iterable[tuple[int, int]], found: dict[Trunk, None]) -> _Node:
        """Branches whose directories are all passed leave a trunk here; the others go on."""
        going, arrived = set(), set()
        for number, used in states:
            branch = self.branches[number]
            if used < len(branch.segments):
                going.add((number, used))
            elif branch.dates is None:
                found[Trunk(max(directory, self.prefix, key=len), None)] = None
            else:
                arrived.add(branch.dates)
                found[Trunk(directory, branch.dates)] = None
        return _Node(directory, frozenset(going), frozenset(arrived))

    def _may_hold(self, directory: str) -> bool:
        return directory.startswith(self.prefix) or self.prefix.startswith(directory)

    def _given(self, node: _Node) -> str | None:
        """The next name, where the prefix says it already."""
        rest = self.prefix[len(node.directory) :] if self.prefix.startswith(node.directory) else ""
        return rest.partition("/")[0] if "/" in rest else None

    def _asks(self, node: _Node) -> bool:
        return self._given(node) is None and any(self.branches[b].segments[i].name is None for b, i in node.states)

    def _names(self, node: _Node, listed: Sequence[str] | None) -> Iterable[str]:
        given = self._given(node)
        names: Iterable[str]
        if given is not None:
            names = [given]
        elif listed is not None:
            names = listed
        else:
            names = {self.branches[b].segments[i].name or "" for b, i in node.states}
        return [name for name in names if self._may_hold(f"{node.directory}{name}/")]

    def _step(self, node: _Node, name: str) -> set[tuple[int, int]]:
        exact: set[tuple[int, int]] = set()
        looser: set[tuple[int, int]] = set()
        for number, used in node.states:
            branch = self.branches[number]
            segment = branch.segments[used]
            if segment.accepts(name):
                exact.add((number, used + 1))
            if segment.spans:
                looser.add((number, used))
        # Where the dates have begun the search for other beginnings ends.
        return exact if any(dates.open_with(name) for dates in node.arrived) else exact | looser


def _begins_fixed(branch: Branch) -> bool:
    if branch.segments:
        return branch.segments[0].name is not None
    return branch.dates is not None and not branch.dates.pieces[0][1]


def _outermost(found: Iterable[Trunk]) -> list[Trunk]:
    whole = [trunk.prefix for trunk in found if trunk.dates is None]
    kept = [t for t in found if not any(t.prefix.startswith(w) for w in whole if (w, None) != (t.prefix, t.dates))]
    return sorted(kept, key=lambda trunk: (trunk.prefix, repr(trunk.dates)))

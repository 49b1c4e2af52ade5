"""An expression as words between single blanks, some of them in quotes or brackets, as a tokenizer reads lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tailrace.formats.regex_split import Leaf, Mark, Part, Split

_CLOSING = {'"': '"', "[": "]"}


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands between two blanks of a line."""

    kind: str
    "`bare`; `quoted`; `bracketed`; `opened`: quoted, and several words inside."
    leaves: tuple[Leaf, ...]
    "What its text must match, or each of its words."
    group: str | None = None
    "The group that is all of it, quotes included."

    @property
    def in_quotes(self) -> bool:
        return self.kind in ("quoted", "opened")


def words(cut: Split) -> tuple[Cell, ...] | None:
    """The expression as words; None if lines that match it cannot be told apart at blanks.

    A line whose words, each in its place, match their leaves is cut as `cut` says, and there is but one such way.
    """
    runs: list[list[Part]] = [[]]
    within: str | None = None
    for part in cut.parts:
        if within is None and part == " ":
            runs.append([])
            continue
        runs[-1].append(part)
        if part == within:
            within = None
        elif within is None and isinstance(part, str) and part in _CLOSING and (part == '"' or len(runs[-1]) == 1):
            within = _CLOSING[part]
    cells = [_cell(tuple(run), last=run is runs[-1]) for run in runs]
    known = tuple(cell for cell in cells if cell is not None)
    if len(known) < len(cells) or len(cells) < 2 or cut.quotes != 2 * sum(cell.in_quotes for cell in known):
        return None
    return known


def _cell(parts: tuple[Part, ...], last: bool) -> Cell | None:
    if not parts:
        return None
    first, last_part = parts[0], parts[-1]
    if isinstance(first, Mark) and isinstance(last_part, Mark) and first.name == last_part.name:
        inner = _cell(parts[1:-1], last)
        return replace(inner, group=first.name) if inner and inner.kind == "quoted" and not inner.group else None
    if isinstance(first, str) and first in _CLOSING and len(parts) > 2 and last_part == _CLOSING[first]:
        return _enclosed(parts[1:-1], first)
    leaf = _leaf(parts, None if last else " ")
    if leaf is None or leaf.blanks or '"' in parts:
        return None
    return Cell("bare", (leaf,))


def _enclosed(inner: tuple[Part, ...], opening: str) -> Cell | None:
    if '"' in inner:
        return None
    if opening == "[":
        leaf = _leaf(inner, "]")
        return Cell("bracketed", (leaf,)) if leaf else None
    several = [_leaf(run, " ") for run in _at_blanks(inner)]
    if len(several) > 1 and None not in several and not any(leaf.blanks for leaf in several[:-1] if leaf):
        return Cell("opened", tuple(leaf for leaf in several if leaf is not None))
    leaf = _leaf(inner, '"')
    return Cell("quoted", (leaf,)) if leaf else None


def _at_blanks(parts: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    runs: list[tuple[Part, ...]] = [()]
    for part in parts:
        runs = [*runs, ()] if part == " " else [*runs[:-1], (*runs[-1], part)]
    return runs


def _leaf(parts: tuple[Part, ...], until: str | None) -> Leaf | None:
    """Parts that are not told apart any further as one; None where a group begins or ends outside."""
    if not parts:
        return None
    if len(parts) == 1 and isinstance(parts[0], Leaf):
        return replace(parts[0], until=until)
    depth, out, captures = 0, [], []
    for part in parts:
        if isinstance(part, Mark):
            depth += 1 if part.opens else -1
            out.append(f"(?P<{part.name}>" if part.opens else ")")
            captures += [part.name] if part.opens else []
        else:
            out.append(part.text if isinstance(part, Leaf) else re.escape(part))
            captures += part.captures if isinstance(part, Leaf) else ()
        if depth < 0:
            return None
    blanks = any(part.blanks if isinstance(part, Leaf) else part == " " for part in parts)
    # Alternatives inside a leaf must not take in what stands beside it.
    text = "".join(f"(?:{p})" if isinstance(part, Leaf) else p for p, part in zip(out, parts, strict=True))
    return Leaf(text, until, tuple(captures), None, False, blanks) if depth == 0 else None

"""Names as people give them: whole, without their type, or with wildcards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from tailrace.core.errors import UsageError
from tailrace.core.registry import holding, nearest

_WILD = frozenset("*?[")
_LISTING = {"sink": "status", "window": "status"}
"What shows all of a kind, where it is not `list`."


def is_pattern(name: str) -> bool:
    """May the name stand for several?"""
    return not _WILD.isdisjoint(name)


def listed(noun: str, patterns: Sequence[str], names: Iterable[str], everything: str | None = None) -> list[str]:
    """Names that any pattern fits, in their own order; without patterns all. A pattern that fits none is an error.

    `everything` is the command that lists all of them.
    """
    names = list(names)
    if not patterns:
        return names
    found = [_fitting(noun, pattern, names) for pattern in patterns]
    for pattern, some in zip(patterns, found, strict=True):
        if not some:
            raise _missing(noun, pattern, names, everything)
    return [name for name in names if any(name in some for some in found)]


def chosen(noun: str, name: str, names: Iterable[str]) -> list[str]:
    """The names to show: one, or with wildcards all that fit."""
    names = list(names)
    if is_pattern(name):
        return listed(noun, [name], names)
    given = name.removeprefix(f"{noun}.")
    for one in (given, name):
        if one in names:
            return [one]
    found = [n for n in names if n.rpartition(".")[2] == given] or _fitting(noun, name, names)
    if len(found) > 1:
        hint = f"one of {', '.join(found)}"
        raise UsageError(f"several {noun}s are called '{name}'", code=f"usage.unknown-{noun}", hint=hint)
    if not found:
        raise _missing(noun, name, names)
    return found


def _fitting(noun: str, pattern: str, names: Iterable[str]) -> list[str]:
    """A pattern without a dot fits whole names, types and last parts alike."""
    pattern = pattern.lower().removeprefix(f"{noun}.")
    bare = "." not in pattern
    parts = {name: {name.lower(), *(name.lower().split(".") if bare else ())} for name in names}
    return [name for name, some in parts.items() if any(fnmatchcase(part, pattern) for part in some)]


def _missing(noun: str, name: str, names: Sequence[str], everything: str | None = None) -> UsageError:
    known = {*names, *(n.rpartition(".")[2] for n in names)}
    hint = hint_at(name, known, everything or f"tailrace {noun} {_LISTING.get(noun, 'list')}")
    return UsageError(f"no {noun} is called '{name}'", code=f"usage.unknown-{noun}", hint=hint)


def hint_at(name: str, known: Iterable[str], everything: str) -> str:
    """What to try for a name that does not exist."""
    known = sorted(known)
    guess = nearest(name, known) or holding(name, known)
    if guess:
        return f"did you mean '{guess}'?"
    import difflib  # only mistakes need it

    some = ", ".join(difflib.get_close_matches(name, known, n=3, cutoff=0.3))
    return f"nearest: {some}; `{everything}` shows all" if some else f"`{everything}` shows all"

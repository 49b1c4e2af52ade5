"""Numbers of 32 bits in text: Python has them as doubles, which would be written with digits that nobody stored."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb.sqltypes import DuckDBPyType

_FLOAT = "FLOAT"
_BITS = struct.Struct("f").pack
_NORMAL = 1.2e-38
Change = Callable[[Any], Any]


def shortened(types: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """The rows; numbers of 32 bits in them are the doubles that are written shortest and mean the same."""
    changes = {place: change for place, kind in enumerate(types) if (change := _change(kind)) is not None}
    return _changed(changes, rows) if changes else rows


def shortest(value: float | None) -> float | None:
    """Of the doubles that are this number in 32 bits, the one with the fewest digits."""
    return value and _shortest(value)  # null and both zeros are what they are


@lru_cache(maxsize=65_536)
def _shortest(value: float) -> float:
    """Logs have few distinct ones."""
    if value - value != 0:  # infinite, or no number
        return value
    bits = _BITS(value)
    # Six digits are told apart by any number but those that are next to nothing, which have fewer bits.
    for digits in range(6 if abs(value) > _NORMAL else 1, 9):
        near = float(f"{value:.{digits}g}")
        try:
            if _BITS(near) == bits:
                return near
        except OverflowError:  # rounded up it is too large for 32 bits
            continue
    return float(f"{value:.9g}")


def _changed(changes: dict[int, Change], rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        values = list(row)
        for place, change in changes.items():
            values[place] = change(values[place])
        yield tuple(values)


def _change(kind: str) -> Change | None:
    """What is to be done to values of a type, as it is written; None: nothing."""
    if kind == _FLOAT:
        return shortest
    if _FLOAT not in kind:
        return None
    from tailrace.query.duck import duckdb

    try:
        return _inside(duckdb.sqltype(kind))
    except duckdb.Error:  # a type of one's own
        return None


def _inside(kind: DuckDBPyType | int | list[str]) -> Change | None:
    if isinstance(kind, int | list):  # how long an array is, words of an enumeration
        return None
    if kind.id == "float":
        return shortest
    if kind.id in ("list", "array"):
        return _each(_inside(kind.children[0][1]))
    if kind.id == "map":
        return _values(_inside(kind.children[1][1]))
    if kind.id == "tuple":
        return _places([_inside(inner) or _same for _, inner in kind.children])
    if kind.id == "struct":
        return _fields({name: change for name, inner in kind.children if (change := _inside(inner)) is not None})
    return None


def _each(change: Change | None) -> Change | None:
    return None if change is None else lambda values: None if values is None else [*map(change, values)]


def _values(change: Change | None) -> Change | None:
    if change is None:
        return None
    return lambda pairs: None if pairs is None else {key: change(value) for key, value in pairs.items()}


def _places(changes: list[Change]) -> Change:
    def changed(values: Any) -> Any:
        return values and tuple(change(value) for change, value in zip(changes, values, strict=True))

    return changed


def _fields(changes: dict[str, Change]) -> Change | None:
    if not changes:
        return None

    def changed(values: Any) -> Any:
        return values and {name: changes.get(name, _same)(value) for name, value in values.items()}

    return changed


def _same(value: Any) -> Any:
    return value

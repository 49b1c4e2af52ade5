"""Data sets with what has to come of them, and JSON records as Python's own reader finds them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance import PUBLISHED, Expected, Measured, measure
from world import World

Event = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A data set, the table it is read into, and who says what has to come of it."""

    table: str
    dataset: str
    expected: Callable[[list[Path]], Expected]
    bad: int = 0
    reader: str = PUBLISHED


def events(paths: list[Path]) -> Iterator[Event]:
    """Values one after another, as Python's own reader finds them."""
    for path in paths:
        text = path.read_text(encoding="utf-8-sig").strip()
        at = 0
        while at < len(text):
            value, end = json.JSONDecoder().raw_decode(text, at)
            yield from value if isinstance(value, list) else [value]
            at = end + len(text[end:]) - len(text[end:].lstrip())


def at(event: Event, *keys: str) -> Any:
    """The value at a path, or None."""
    value: Any = event
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def measured(case: Case, data: Path, world: World) -> Measured:
    """What became of a data set."""
    paths = sorted(data.glob(case.dataset))
    assert paths, case.dataset
    expected = case.expected(paths)
    return measure(world, case.table, data, case.dataset, expected=expected, bad=case.bad, reader=case.reader)

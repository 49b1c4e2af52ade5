"""Lists of tables and partitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tailrace.api.html import table


class Listing(list[dict[str, Any]]):
    """A row per thing, with all that is known of it: a list of dicts, and a table in a notebook.

    `pandas.DataFrame(lake.tables())` takes it as it is.
    """

    def __init__(self, rows: Iterable[dict[str, Any]], shown: Sequence[str]) -> None:
        super().__init__(rows)
        self.shown = tuple(shown)
        "The facts that a notebook shows; the others are in the rows."

    def _repr_html_(self) -> str:
        return table(self.shown, ([_text(row.get(name)) for name in self.shown] for row in self))


def _text(value: object) -> object:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value

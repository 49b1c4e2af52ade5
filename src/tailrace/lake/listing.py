"""The files of one version of a table, for those who only read them: plain values, and nothing that is slow to import.

To load Arrow takes longer than most questions. What it knows of a table is here in other words: columns as DuckDB is
told of them, and per file what the log says, each column read when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from tailrace.lake.place import Place

TEXT, INTEGER, REAL, REAL32, DECIMAL, BOOLEAN = "text", "integer", "real", "real32", "decimal", "boolean"
DATE = "date"
"Days since 1970."
TIME = "time"
"Microseconds since 1970, UTC."
EPOCH = date(1970, 1, 1).toordinal()


class Shape(NamedTuple):
    """A column as DuckDB is told of it."""

    name: str
    type: str
    "What a query sees."
    stored: str
    "What comes out as it went in: JSON is the text that was stored."
    grown: bool
    "Is it a struct with fields that older files lack?"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table, in order."""

    shapes: tuple[Shape, ...]
    serialized: Callable[[], bytes] = field(compare=False, repr=False)
    "As Arrow writes a schema."

    def arrow(self) -> pa.Schema:
        """With `tailrace.type` and `comment` as field metadata."""
        import pyarrow as pa

        return pa.ipc.read_schema(pa.py_buffer(self.serialized()))


class Source(Protocol):
    """Where the columns of a list of files come from."""

    @property
    def count(self) -> int: ...
    @property
    def kinds(self) -> Mapping[str, str]:
        """Of each column; one of another kind than those above is not among them."""
        ...

    def read(self, column: str) -> Sequence[Any]:
        """All its values, None where there is none."""
        ...

    def some(self, column: str, places: Sequence[int]) -> Sequence[Any] | None:
        """Those at these places, where the others need not be unpacked for it; None: `read` has them all."""
        ...


class Files:
    """One row per file: `path` (under the table's root), `size`, `rows`, `tp_partition`, `tp_index`, `tp_date`, and
    `min.<column>`, `max.<column>` with dotted paths for struct fields."""

    def __init__(
        self, source: Source, places: Sequence[int] | None = None, known: dict[str, Sequence[Any]] | None = None
    ) -> None:
        self.source = source
        self.places = range(source.count) if places is None else places
        "Rows of the source that are meant."
        self._known = {} if known is None else known
        self._own: dict[str, Sequence[Any]] = {}
        "Of these files alone."

    @property
    def num_rows(self) -> int:
        return len(self.places)

    def kind(self, column: str) -> str | None:
        """None: there is no such column."""
        return self.source.kinds.get(column)

    def column(self, name: str) -> Sequence[Any]:
        """Its values; days and times are numbers."""
        if not self.places:
            return []  # where there never was a file, columns have no kind either
        if name in self._own:
            return self._own[name]
        if name not in self._known:
            some = None if isinstance(self.places, range) else self.source.some(name, self.places)
            if some is not None:
                return self._own.setdefault(name, some)
            self._known[name] = self.source.read(name)
        whole = self._known[name]
        return whole if isinstance(self.places, range) else [whole[place] for place in self.places]

    @property
    def paths(self) -> list[str]:
        return list(self.column("path"))

    @property
    def days(self) -> list[date]:
        """`tp_date` of each."""
        return [date.fromordinal(EPOCH + number) for number in self.column("tp_date")]

    def total(self, column: str) -> int:
        """Of numbers; none counts as nothing."""
        return sum(number or 0 for number in self.column(column))

    def take(self, places: Sequence[int]) -> Files:
        """Those at these places among them, in this order."""
        return Files(self.source, [self.places[place] for place in places], self._known)


@dataclass(frozen=True, slots=True)
class Listing:
    """One version of a table."""

    table: str
    root: Place
    version: int
    columns: Columns
    files: Files
    moved: bool = False
    "Does any of its files rest elsewhere than in the root?"

"""What of a lake a query sees: schemas as they are declared, and what the command line leaves of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from tailrace.core.ranges import TimeRange
from tailrace.core.registry import ALIASES
from tailrace.core.schemas import DEFAULT_SCHEMA
from tailrace.core.wildcards import fits
from tailrace.lake.table_place import is_elsewhere
from tailrace.query.conditions import Condition

if TYPE_CHECKING:
    from tailrace.lake.listing import Files
    from tailrace.lake.paths import Tier
    from tailrace.lake.versions import Moment

ALL = ("*",)
_WORKSPACE = ("default", "workspace")
"Store and tier in which days rest that have not been moved."
_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Schema:
    """A named, filtered set of tables. What it lets through can be told from the Delta log alone."""

    name: str = DEFAULT_SCHEMA
    tables: tuple[str, ...] = ALL
    partitions: tuple[str, ...] = ALL
    indexes: tuple[str, ...] = ALL
    stores: tuple[str, ...] = ALL
    first: date | None = None
    last: date | None = None
    "Whole days, both included."
    materialized: bool = False

    def holds(self, table: str) -> bool:
        """Is it one of the schema's tables?"""
        return any(fits(table, ALIASES.get(pattern, pattern)) for pattern in self.tables)

    def takes(self, partition: str) -> bool:
        """May rows of a partition of such a name be among them?"""
        return any(fits(partition, pattern) for pattern in self.partitions)

    def of(self, files: Files, tiers: Sequence[Tier] = ()) -> Files:
        """Files of one of its tables that it lets through."""
        from tailrace.query.prune import matching, surviving

        files = matching(files, "tp_partition", self.partitions, folded=True)
        files = matching(files, "tp_index", self.indexes)
        bounds = ((">=", self.first), ("<=", self.last))
        days = [Condition("tp_date", operator, (day,)) for operator, day in bounds if day is not None]
        return surviving(self._resting(files, tiers), [days])

    def _resting(self, files: Files, tiers: Sequence[Tier]) -> Files:
        """Files of days that rest in its stores or tiers; the default schema leaves out what is not attached."""
        left_out = self.name == DEFAULT_SCHEMA and not all(tier.attached for tier in tiers)
        if "*" in self.stores and not left_out:
            return files
        from tailrace.lake.resting import tier_of

        here = self._takes_store(*_WORKSPACE)
        seen: dict[Tier | None, bool] = {tier: self._takes_store(tier.store, tier.name) for tier in tiers}
        seen[None] = here
        if left_out:
            seen |= {tier: False for tier in tiers if not tier.attached}
        places = (tier_of(path, tiers) if is_elsewhere(path) else None for path in files.paths)
        return files.take([place for place, tier in enumerate(places) if seen[tier]])

    def _takes_store(self, *names: str) -> bool:
        return any(fits(name, pattern) for name in names for pattern in self.stores)


@dataclass(frozen=True, slots=True)
class Scope:
    """What the command line leaves of every schema."""

    schema: str = DEFAULT_SCHEMA
    "Whose tables need no prefix."
    window: TimeRange = field(default_factory=TimeRange)
    "Rows outside are not seen."
    partitions: tuple[str, ...] = ()
    "Selectors; none: all."
    indexes: tuple[str, ...] = ALL
    at: Moment | None = None
    "A time: all tables are as they were then. A version: the one table that is asked for is."
    at_of: tuple[tuple[str, Moment], ...] = ()
    "Versions or times of single tables."

    def of(self, table: str, files: Files) -> Files:
        """Files of a table that may hold rows to be seen."""
        from tailrace.query.prune import matching, surviving

        if self.partitions:
            files = matching(files, "tp_partition", self._partitions_of(table), folded=True)
        start, end = self.window.start, self.window.end
        wanted: list[tuple[str, str, Any]] = []
        if start is not None:
            wanted += [("tp_date", ">=", start.date()), ("tp_timestamp", ">=", start)]
        if end is not None:
            wanted += [("tp_date", "<=", (end - _INSTANT).date()), ("tp_timestamp", "<", end)]
        within = [Condition(column, operator, (value,)) for column, operator, value in wanted]
        return surviving(matching(files, "tp_index", self.indexes), [within])

    def takes(self, table: str, partition: str) -> bool:
        """May rows of that partition be seen?"""
        return not self.partitions or any(fits(partition, pattern) for pattern in self._partitions_of(table))

    @property
    def filters(self) -> bool:
        """Are rows of a table left out?"""
        window = self.window
        return bool(self.partitions) or self.indexes != ALL or window.start is not None or window.end is not None

    @property
    def condition(self) -> str:
        """What rows of such files have to fulfil besides, as SQL; empty where all do."""
        bounds = ((">=", self.window.start), ("<", self.window.end))
        return " AND ".join(f"tp_timestamp {op} TIMESTAMP '{time}'" for op, time in bounds if time is not None)

    def _partitions_of(self, table: str) -> list[str]:
        """Wildcards over the partitions of a table; a word alone is the name of a partition or of a table."""
        found = []
        for selector in self.partitions:
            first, dot, second = selector.partition(".")
            if fits(table, ALIASES.get(first, first)):
                found.append(second if dot else "*")
            if not dot:
                found.append(first)
        return found

"""Where each file of a partition should rest, by age, by range or by a condition: no file is opened to tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.lake.paths import Tier, decode_value
from tailrace.lake.predicate import Predicate
from tailrace.lake.rewrite import ActiveFile
from tailrace.lake.table_place import LINKS, is_elsewhere

_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("tp_table", "tp_partition", "tp_collection", "tp_index", "tp_connection")),
        ("tp_date", pa.date32()),
        ("tp_timestamp", pa.timestamp("us")),
        *((name, pa.int64()) for name in ("tp_year", "tp_month", "tp_day")),
    ]
)
CONDITION_COLUMNS = frozenset(_SCHEMA.names)
"""What a condition can look at: all that the log says of a file, also under earlier names. Days move as a whole, so
`tp_timestamp` is the beginning of the day."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Days that rest in a tier: those of which all that is said holds."""

    tier: Tier
    first: date | None = None
    last: date | None = None
    "Both included."
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """Files of one day that do not rest where they should."""

    day: date
    tier: Tier | None
    "None: the workspace."
    files: tuple[ActiveFile, ...]

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


def tier_of(path: str, tiers: Iterable[Tier]) -> Tier | None:
    """Where a file rests; None: in the workspace, or in a place that is not configured any more."""
    found = (tier for tier in tiers if tier.holds(path)) if is_elsewhere(path) else iter(())
    return next(found, None)


def path_of(path: str) -> str:
    """Of the tier where a file rests, in the configuration or not, as the name of the file tells."""
    if path.startswith(f"{LINKS}/"):
        return decode_value(path.split("/")[1])
    return path.rpartition("/tp_table=")[0]


def moves(table: str, files: Sequence[ActiveFile], rules: Sequence[Rule]) -> list[Move]:
    """What has to be moved, oldest day first. A day that fits several tiers rests in the first one."""
    if not rules:
        return []
    wanted = _wanted(table, {(file.partition, file.index, file.day) for file in files}, rules)
    found: dict[tuple[date, Tier | None], list[ActiveFile]] = {}
    for file in files:
        tier = wanted[file.partition, file.index, file.day]
        if is_elsewhere(file.path) if tier is None else not tier.holds(file.path):
            found.setdefault((file.day, tier), []).append(file)
    return [Move(day, tier, tuple(some)) for (day, tier), some in sorted(found.items(), key=lambda item: item[0][0])]


Spot = tuple[str, str, date]
"Partition, index and day."


def _wanted(table: str, spots: Iterable[Spot], rules: Sequence[Rule]) -> dict[Spot, Tier | None]:
    left = sorted(spots)
    wanted: dict[Spot, Tier | None] = dict.fromkeys(left)
    for rule in rules:
        fits = [*_fitting(table, left, rule)]
        wanted |= dict.fromkeys(fits, rule.tier)
        left = [spot for spot in left if wanted[spot] is None]
    return wanted


def _fitting(table: str, spots: Sequence[Spot], rule: Rule) -> Iterator[Spot]:
    inside = [s for s in spots if (rule.first or s[2]) <= s[2] <= (rule.last or s[2])]
    if rule.where is None or not inside:
        yield from inside
        return
    partitions, indexes, days = (list(values) for values in zip(*inside, strict=True))
    dates = pa.array(days, pa.date32())
    facts = {
        "tp_table": pa.array([table] * len(inside)),
        **dict.fromkeys(("tp_partition", "tp_collection"), pa.array(partitions)),
        **dict.fromkeys(("tp_index", "tp_connection"), pa.array(indexes)),
        "tp_date": dates,
        "tp_timestamp": dates.cast(pa.timestamp("us")),
        "tp_year": pc.year(dates),
        "tp_month": pc.month(dates),
        "tp_day": pc.day(dates),
    }
    marks = condition(rule.where).marks(pa.table(facts, schema=_SCHEMA)).to_pylist()
    yield from (spot for spot, fits in zip(inside, marks, strict=True) if fits)


def condition(where: str) -> Predicate:
    """What a tier says of its days; UsageError if it is no condition on them."""
    return Predicate(where, _SCHEMA)

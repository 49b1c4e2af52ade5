"""Which quarantined records a command is about, as typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tailrace.cli.options import Context

if TYPE_CHECKING:
    from tailrace.lake.paths import Lake
    from tailrace.lake.sought import Sought

F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("--from", "start"), {"metavar": "TIME", "help": "Quarantined at or after this time (2024-01-31, T-7d …)."}),
    (("--to", "end"), {"metavar": "TIME", "help": "Quarantined before this time."}),
    (("--reason", "reasons"), {"metavar": "TEXT", "multiple": True, "help": "With this in the reason; may hold *."}),
    (
        ("--artifact", "artifacts"),
        {"metavar": "TEXT", "multiple": True, "help": "Of artifacts with this in their path or URI; may hold *."},
    ),
)


def filter_options(function: F) -> F:
    """`--from`, `--to`, `--reason` and `--artifact`."""
    for names, settings in reversed(_OPTIONS):
        function = click.option(*names, **settings)(function)
    return function


@dataclass(frozen=True, slots=True)
class Meant:
    """Partitions, and which of their records."""

    lake: Lake
    partitions: list[str]
    sought: Sought

    @classmethod
    def of(cls, context: Context, names: tuple[str, ...], filters: Mapping[str, Any]) -> Meant:
        """From the command line. A name that looks like the id of a record is one."""
        from tailrace.cli.matching import listed
        from tailrace.cli.settings import now, open_lake
        from tailrace.core import TimeRange, parse_time
        from tailrace.lake.intents import partitions
        from tailrace.lake.quarantine import partitions_with_quarantine
        from tailrace.lake.sought import Sought, is_record_id

        moment, lake = now(), open_lake(context)
        window = TimeRange(*(None if filters[n] is None else parse_time(filters[n], moment) for n in ("start", "end")))
        known = sorted({f"{table}.{partition}" for table, partition in partitions(lake)})
        ids = tuple(name for name in names if is_record_id(name) and name not in known)
        chosen = listed("partition", [name for name in names if name not in ids], known)
        refused = {f"{table}.{partition}" for table, partition in partitions_with_quarantine(lake)}
        sought = Sought(window, filters["reasons"], filters["artifacts"], ids)
        return cls(lake, [name for name in chosen if name in refused], sought)

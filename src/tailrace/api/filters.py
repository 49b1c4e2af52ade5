"""What of a lake an answer sees: the filters of `tailrace query`, in Python's own types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, TypedDict

from tailrace.core.schemas import DEFAULT_SCHEMA

if TYPE_CHECKING:
    from tailrace.cli.seeing import Configured
    from tailrace.lake.paths import Lake
    from tailrace.query.filters import Scope

Time = str | date | datetime
"`2024-01-31`, `2024-01-31T15:04:05Z` or `T-7d`; a date, or a time, which is in UTC unless it has a zone."
Version = int | Time
"A version of a table, or when it was so."


class Filters(TypedDict, total=False):
    """Keywords of `sql` and `table`."""

    start: Time | None
    "Only rows at or after this time (`--from`)."
    end: Time | None
    "Only rows before this time (`--to`)."
    partition: str | Sequence[str]
    "Only rows of partitions: `table.partition`, a table or a partition; wildcards."
    index: str | Sequence[str]
    "Only rows with this `tp_index`; wildcards."
    schema: str
    "The schema whose tables need no prefix."
    at: Version | Mapping[str, Version] | None
    "Tables as they were: all at a time, one at a version, or each as the mapping says."


def checked(filters: Filters) -> Filters:
    """Refuses a keyword that does not exist: a filter that is not applied would go unnoticed."""
    for name in filters:
        if name not in Filters.__annotations__:
            known = ", ".join(Filters.__annotations__)
            raise TypeError(f"there is no filter '{name}'; known: {known}")
    return filters


def scope(lake: Lake, configured: Configured, filters: Filters) -> Scope:
    """The filters in one."""
    from tailrace.cli.seeing import scope_of

    return scope_of(
        lake,
        configured,
        schema=filters.get("schema", DEFAULT_SCHEMA),
        start=time_text(filters.get("start")),
        end=time_text(filters.get("end")),
        partitions=_several(filters.get("partition", ())),
        indexes=_several(filters.get("index", ())),
        at=tuple(_versions(filters.get("at"))),
    )


def time_text(time: Time | None) -> str | None:
    """A time as the command line takes it."""
    return time.isoformat() if isinstance(time, date) else time


def _several(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _versions(at: Version | Mapping[str, Version] | None) -> Iterator[str]:
    if isinstance(at, Mapping):
        yield from (f"{table}={_version(version)}" for table, version in at.items())
    elif at is not None:
        yield _version(at)


def _version(version: Version) -> str:
    return str(version) if isinstance(version, int) else str(time_text(version))

"""How long rows are kept: the nearest of partition, table, store and workspace says it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from tailrace.config.functions import duration
from tailrace.config.model import Config, OtherBlock
from tailrace.config.values import Reference

DEFAULT_STORE = "default"


@dataclass(frozen=True, slots=True)
class Retention:
    """An age, and the block that says it."""

    span: timedelta
    said_by: str

    def first_day(self, now: datetime) -> date | None:
        """The first day that is kept: all before it are over for longer than that. None: all are kept."""
        try:
            return (now - self.span).date()
        except OverflowError:
            return None


def retention_of(config: Config, workspace: str, table: str, partition: str) -> Retention | None:
    """Of a partition, whether it is configured or only has rows; None: they are kept for ever."""
    return next(_said(config, workspace, table, partition), None)


def store_of(config: Config, table: str, partition: str) -> str:
    """Name of the store in which the days of a partition rest."""
    spec = next((p for p in config.partitions if (p.table, p.name) == (table, partition)), None)
    named = spec.resting.get("store") if spec else None
    return named.path[-1] if isinstance(named, Reference) else DEFAULT_STORE


def _said(config: Config, workspace: str, table: str, partition: str) -> Iterator[Retention]:
    """All that hold for it, the nearest first."""
    for spec in config.partitions:
        span = spec.resting.get("retention")
        if (spec.table, spec.name) == (table, partition) and isinstance(span, str):
            yield Retention(duration(span), f"partition {spec.full_name}")
    declared = config.table(table)
    if declared is not None and declared.retention is not None:
        yield Retention(declared.retention, f"table {table}")
    yield from map(_of_store, _stores(config, store_of(config, table, partition)))
    chosen = config.workspace(workspace)
    if chosen is not None and chosen.retention is not None:
        yield Retention(chosen.retention, f"workspace {workspace}")


def _stores(config: Config, name: str) -> list[OtherBlock]:
    return [block for block in config.of("store") if block.name == name and "retention" in block.args]


def _of_store(block: OtherBlock) -> Retention:
    return Retention(duration(str(block.args["retention"])), f"store {block.name}")

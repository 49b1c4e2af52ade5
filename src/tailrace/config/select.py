"""Which partitions a selector means: `table`, `table.partition` or a partition's name, with wildcards."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from tailrace.config.model import Config, PartitionSpec
from tailrace.config.places import meant
from tailrace.config.tables import table_name
from tailrace.core.errors import UsageError


def select(config: Config, selectors: Sequence[str]) -> list[PartitionSpec]:
    """The partitions that any selector matches, each once, in the configuration's order; none given = all."""
    if not selectors:
        return list(config.partitions)
    wanted = {partition.full_name for selector in selectors for partition in _matching(config, selector)}
    return [partition for partition in config.partitions if partition.full_name in wanted]


def _matching(config: Config, selector: str) -> list[PartitionSpec]:
    parts = selector.split(".")
    if len(parts) > 2 or not all(parts):
        raise UsageError(
            f"'{selector}' is not a selector",
            code="usage.bad-selector",
            hint="write table, table.partition or partition; * and ? stand for any text and any character",
        )
    if len(parts) == 2:
        found = [p for p in config.partitions if _fits(p.table, table_name(parts[0])) and _fits(p.name, parts[1])]
    else:
        found = [p for p in config.partitions if _fits(p.table, table_name(selector))]
        found = found or [p for p in config.partitions if _fits(p.name, selector)]
    if found:
        return found
    known = {name for p in config.partitions for name in (p.table, p.name, p.full_name)}
    hint = meant(selector, known) if known else "no partition is configured"
    raise UsageError(f"no partition matches '{selector}'", code="usage.no-such-partition", hint=hint)


def _fits(name: str, pattern: str) -> bool:
    return fnmatchcase(name.lower(), pattern.lower())

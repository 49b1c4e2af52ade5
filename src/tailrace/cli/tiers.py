"""Tiers as the configuration declares them: the places, and which days of a partition rest in which."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from tailrace.core.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from tailrace.config import Config, OtherBlock
    from tailrace.config.model import ConnectionSpec
    from tailrace.config.places import Problem
    from tailrace.lake.paths import Lake, Tier
    from tailrace.lake.place import Place
    from tailrace.lake.resting import Rule

Declared = tuple[str, "OtherBlock"]
"A tier, and what it belongs to: a store, a partition, or the word `tier` at the top level."
_INSTANT = timedelta(microseconds=1)


def tiers_of(config: Config) -> tuple[Tier, ...]:
    """Every place that is declared and can be reached; who moves days there is told what is wrong with the others."""
    found = []
    for declared in _all(config):
        with suppress(ConfigError):
            found.append(_tier(config, *declared))
    return tuple(found)


def declared_tiers(config: Config) -> Iterator[tuple[str, Callable[[], Tier]]]:
    """By name, each to be opened; that raises where it cannot be."""
    for store, block in _all(config):
        yield f"{store}.{block.name}" if block.name else store, partial(_tier, config, store, block)


def rules_for(config: Config, lake: Lake, table: str, partition: str, now: datetime) -> tuple[Rule, ...]:
    """Where the days of a partition rest, in the order in which that is declared; nothing: in the workspace."""
    found = _of_partition(config, table, partition)
    for _, block in found:
        for problem in _wrong(config, block, lake):
            raise problem
    return tuple(_rule(config, declared, now) for declared in found)


def _all(config: Config) -> Iterator[Declared]:
    for store in config.of("store"):
        yield from ((store.name, block) for block in store.blocks)
    for block in config.of("tier"):
        yield "tier", block
    for spec in config.partitions:
        yield from ((spec.full_name, block) for block in spec.tiers)


def _of_partition(config: Config, table: str, partition: str) -> list[Declared]:
    """Tiers in the partition itself, those it refers to, or those of its store."""
    from tailrace.config import Reference
    from tailrace.config.retention import store_of

    spec = next((p for p in config.partitions if (p.table, p.name) == (table, partition)), None)
    if spec is not None and spec.tiers:
        return [(spec.full_name, block) for block in spec.tiers]
    named = spec.resting.get("tiers") if spec else None
    if isinstance(named, tuple):
        references = [reference for reference in named if isinstance(reference, Reference)]
        return [declared for reference in references for declared in _referred(config, reference.path[1:])]
    store = store_of(config, table, partition)
    return [declared for declared in _all(config) if declared[0] == store]


def _referred(config: Config, path: tuple[str, ...]) -> list[Declared]:
    """`tier.name`, or `tier.store.name`."""
    found = [d for d in _all(config) if d[1].name == path[-1] and (len(path) == 1 or d[0] == path[0])]
    return found[:1]


def _tier(config: Config, store: str, block: OtherBlock) -> Tier:
    from tailrace.lake.paths import PARTITION_COLUMNS, Tier

    columns = block.args.get("partition_by")
    return Tier(
        store,
        block.name or str(block.args["path"]),
        _place(config, block),
        tuple(map(str, columns)) if isinstance(columns, tuple) else PARTITION_COLUMNS,
        block.args.get("attached") is not False,
    )


def _place(config: Config, block: OtherBlock) -> Place:
    from tailrace.lake.located import place_at

    where = str(config.outline.value(block.where, "path"))
    return place_at(str(block.args["path"]), _connection(config, block), where)


def _connection(config: Config, block: OtherBlock) -> ConnectionSpec | None:
    from tailrace.config import Reference

    named = block.args.get("connection")
    if not isinstance(named, Reference):
        return None
    return next(each for each in config.connections if (each.type, each.name) == named.path[1:])


def declares_tiers(config: Config) -> bool:
    """Is there any?"""
    return next(_all(config), None) is not None


def wrong_tiers(config: Config, lake: Lake) -> Iterator[Problem]:
    """Tiers in which no day of this lake may rest, or of which it cannot be said which days do."""
    for _, block in _all(config):
        with suppress(ConfigError):  # one that cannot be opened at all is told of elsewhere
            yield from _wrong(config, block, lake)


def _wrong(config: Config, block: OtherBlock, lake: Lake) -> Iterator[Problem]:
    found = (_misplaced(config, block, lake), _misjudging(config, block))
    yield from (problem for problem in found if problem is not None)


def _misplaced(config: Config, block: OtherBlock, lake: Lake) -> Problem | None:
    """What lies in the workspace is looked after there; and whoever can read a bucket cannot read our disk."""
    place, where = _place(config, block), config.outline.value(block.where, "path")
    if place.is_local and not lake.data_root.is_local:
        hint = "write a URL, such as s3://bucket/prefix: other machines read the workspace, too"
        message = "the workspace is in an object store, and the tier on this disk"
        return config.outline.problem(where, message, "contradiction", hint)
    inner, *outer = (f"{_really(each)}/" for each in (place, lake.data_root, lake.meta_root))
    if inner.startswith(tuple(outer)) or any(root.startswith(inner) for root in outer):
        hint = "choose a directory beside it; without a tier days rest in the workspace"
        return config.outline.problem(where, "the tier is in the workspace, or around it", "contradiction", hint)
    return None


def _really(place: Place) -> str:
    """By no link: a tier may be the workspace by another path."""
    return os.path.realpath(place.uri) if place.is_local else place.uri


def _rule(config: Config, declared: Declared, now: datetime) -> Rule:
    from tailrace.lake.resting import Rule

    store, block = declared
    where = block.args.get("where")
    return Rule(_tier(config, store, block), *_span(block, now), None if where is None else str(where))


def _misjudging(config: Config, block: OtherBlock) -> Problem | None:
    """What a tier says of its days beside their age, if it is no condition on them."""
    from tailrace.lake.resting import CONDITION_COLUMNS, condition

    try:
        if (where := block.args.get("where")) is not None:
            condition(str(where))
    except UsageError as error:
        hint = f"it may look at {', '.join(sorted(CONDITION_COLUMNS))}"
        return config.outline.problem(config.outline.value(block.where, "where"), error.message, "bad-expression", hint)
    return None


def _span(block: OtherBlock, now: datetime) -> tuple[date | None, date | None]:
    """First and last day, both included; a bare date as `to` is the last one, a time is the end."""
    from tailrace.config.attributes import moment
    from tailrace.config.functions import duration

    age, start, end = (block.args.get(name) for name in ("max_age", "from", "to"))
    first = (now - duration(str(age))).date() if age is not None else moment(str(start)).date() if start else None
    if end is None:
        return first, None
    is_date = len(str(end)) == len("2024-01-31")
    return first, (moment(str(end)) if is_date else moment(str(end)) - _INSTANT).date()

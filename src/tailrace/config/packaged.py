"""Kinds of sources and types of formats that packages bring; they declare themselves what their blocks take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tailrace.config.attributes import BlockType
from tailrace.config.declare_formats import format_types
from tailrace.config.declare_sources import KINDS
from tailrace.config.places import Report, Where
from tailrace.core import plugins, registry
from tailrace.core.errors import ConfigError
from tailrace.core.table import Table


@dataclass(frozen=True, slots=True)
class Extension:
    """`KIND` and `make` of a package's module."""

    kind: BlockType
    make: Callable[[Mapping[str, Any]], Any]


def extension(what: str, name: str) -> Extension | None:
    """The source or format of that name that a package brings; ConfigError where it cannot be used."""
    offer = plugins.find(what, name)
    if offer is None:
        return None
    module = offer.load("KIND", "make")
    if not isinstance(module.KIND, BlockType) or module.KIND.name != name:
        raise offer.broken(f"KIND of {offer.module} is no block type of that name")
    return Extension(module.KIND, module.make)


def find_table(name: str, where: Where, report: Report) -> Table | None:
    """The table of that name, built in or of a package; what stands in its way is noted."""
    try:
        return registry.find_table(name)
    except ConfigError as error:
        report.refused(where, error)
        return None


def source_kind(name: str) -> BlockType | None:
    """What a source of that kind takes, built in or of a package."""
    if name in KINDS:
        return KINDS[name]
    found = extension("source", name)
    return found.kind if found else None


def source_kinds() -> dict[str, BlockType]:
    """All kinds of sources that can be used."""
    return {**_usable("source"), **KINDS}


def all_format_types() -> dict[str, BlockType]:
    """All types of formats that can be used."""
    return {**_usable("format"), **format_types()}


def _usable(what: str) -> dict[str, BlockType]:
    """`doctor` tells about those that cannot be."""
    found: dict[str, BlockType] = {}
    for name in plugins.usable(what):
        try:
            one = extension(what, name)
        except ConfigError:
            continue
        if one is not None:
            found[name] = one.kind
    return found

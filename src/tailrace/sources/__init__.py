"""Where bytes come from. A kind of source is a module of this package with `make`."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping
from types import ModuleType
from typing import cast

from tailrace.config.model import ConnectionSpec, Location
from tailrace.core import plugins
from tailrace.core.registry import unknown
from tailrace.sources.base import Found, Given, Skipped, Source, Unreadable, is_transient

__all__ = [
    "Found",
    "Given",
    "Skipped",
    "Source",
    "Unreadable",
    "is_transient",
    "make_source",
    "source_kinds",
]


def make_source(
    kind: str,
    args: Mapping[str, object],
    connection: ConnectionSpec | None = None,
    locations: tuple[Location, ...] = (),
) -> Source:
    """The source of that kind; ConfigError when the kind or an argument is wrong."""
    return cast(Source, _module(kind).make(Given(args, connection, locations)))


def source_kinds() -> list[str]:
    """All built-in kinds of source, sorted."""
    names = [m.name for m in pkgutil.iter_modules(__path__)]
    return sorted(n for n in names if hasattr(importlib.import_module(f"{__name__}.{n}"), "make"))


def _module(kind: str) -> ModuleType:
    if kind.isidentifier() and importlib.util.find_spec(f"{__name__}.{kind}"):
        module = importlib.import_module(f"{__name__}.{kind}")
        if hasattr(module, "make"):
            return module
    offer = plugins.find("source", kind)
    if offer is not None:
        return offer.load("make")
    raise unknown("source", kind, [*source_kinds(), *plugins.offered("source")])

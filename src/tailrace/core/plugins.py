"""Tables, sources and formats of other packages: found through entry points, and only where no built-in one fits.

An entry point names a module, which holds what a built-in module of its kind holds.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from tailrace.core.errors import ConfigError, one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUPS = {kind: f"tailrace.{kind}s" for kind in ("table", "source", "format")} | {"testing": "tailrace.testing"}
"Kind of thing → group of entry points. Modules of `testing` say how a package's own are tested."
_MARK = b"[tailrace."
_preferred: list[str] = []


@dataclass(frozen=True, slots=True)
class Offer:
    """One name that a package provides."""

    kind: str
    name: str
    package: str
    version: str
    module: str

    def load(self, *needed: str) -> ModuleType:
        """The module, which must have what modules of its kind have."""
        try:
            module = importlib.import_module(self.module)
        except Exception as error:
            raise self.broken(f"{self.module} cannot be imported: {one_line(error)}") from error
        for name in needed:
            if not hasattr(module, name):
                raise self.broken(f"{self.module} has no {name}")
        return module

    def broken(self, why: str) -> ConfigError:
        """The error for a package that does not keep its word."""
        return ConfigError(
            f"{self.kind} {self.name} of package {self.package} cannot be used: {why}",
            code="config.plugin-broken",
            hint=f"mend or remove it: pip uninstall {self.package}",
        )


def prefer(packages: Iterable[str]) -> None:
    """From now on these packages win, in this order, where several provide one name: `prefer_plugins`."""
    _preferred[:] = map(_normal, packages)


def find(kind: str, name: str) -> Offer | None:
    """Who provides that name; ConfigError where several do and none is preferred."""
    offers = offered(kind).get(name, ())
    if len(offers) > 1:
        chosen = [offer for package in _preferred for offer in offers if _normal(offer.package) == package]
        if not chosen:
            packages = [offer.package for offer in offers]
            raise ConfigError(
                f"{kind} {name} is provided by {' and '.join(packages)}",
                code="config.plugin-conflict",
                hint=f'name the one that wins in the workspace block: prefer_plugins = ["{packages[0]}"]',
            )
        return chosen[0]
    return offers[0] if offers else None


def usable(kind: str) -> dict[str, Offer]:
    """By name, what packages provide; names that several of them claim are left out."""
    found: dict[str, Offer] = {}
    for name in offered(kind):
        try:
            offer = find(kind, name)
        except ConfigError:
            continue
        if offer is not None:
            found[name] = offer
    return found


def offered(kind: str) -> Mapping[str, tuple[Offer, ...]]:
    """By name, everything that installed packages provide; imports none of them."""
    return _installed().get(kind, {})


@cache
def _installed() -> Mapping[str, Mapping[str, tuple[Offer, ...]]]:
    found: dict[str, dict[str, tuple[Offer, ...]]] = {kind: {} for kind in GROUPS}
    if not _any_installed():
        return found
    from importlib.metadata import entry_points

    for kind, names in found.items():
        offers = [_offer(kind, entry) for entry in entry_points(group=GROUPS[kind])]
        for offer in sorted(offers, key=lambda offer: (offer.name, offer.package)):
            names[offer.name] = (*names.get(offer.name, ()), offer)
    return found


def _offer(kind: str, entry: EntryPoint) -> Offer:
    package, version = (entry.dist.name, entry.dist.version) if entry.dist else ("?", "?")
    return Offer(kind, entry.name, package, version, entry.module)


def _any_installed() -> bool:
    """A look at the files themselves takes a millisecond; only to import `importlib.metadata` takes forty."""
    return any(_speaks_of_us(place or os.curdir) for place in sys.path)


def _speaks_of_us(place: str) -> bool:
    try:
        names = [name for name in os.listdir(place) if name.endswith((".dist-info", ".egg-info"))]
    except NotADirectoryError:
        return True  # an archive: others know how to look inside
    except OSError:
        return False
    for name in names:
        try:
            with open(os.path.join(place, name, "entry_points.txt"), "rb") as file:
                if _MARK in file.read():
                    return True
        except OSError:
            continue
    return False


def _normal(package: str) -> str:
    """Names of packages differ neither in case nor in what stands between their words."""
    return re.sub(r"[-_.]+", "-", package).lower()

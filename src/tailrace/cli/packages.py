"""Which package provides what."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tailrace.core import plugins
from tailrace.core.errors import ConfigError

if TYPE_CHECKING:
    from tailrace.config import Config

OWN = "tailrace"


@dataclass(slots=True)
class Package:
    """What one package provides, and who uses it."""

    name: str
    version: str
    description: str
    tables: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    "What it provides in vain: another one has the name, or nobody said who shall have it."
    partitions: list[str] = field(default_factory=list)

    def names(self, kind: str) -> list[str]:
        return {"table": self.tables, "source": self.sources, "format": self.formats}[kind]


def provider(kind: str, name: str, built_in: Container[str]) -> str | None:
    """The package that provides a name; several where they claim it and none is preferred."""
    if name in built_in:
        return OWN
    try:
        offer = plugins.find(kind, name)
    except ConfigError:
        return " and ".join(offer.package for offer in plugins.offered(kind)[name])
    return offer.package if offer else None


def packages(config: Config) -> dict[str, Package]:
    """Tailrace itself and every package that provides something, by name."""
    own = _own()
    found = {OWN: own}
    for kind in ("table", "source", "format"):
        for offer in (offer for offers in plugins.offered(kind).values() for offer in offers):
            package = found.setdefault(offer.package, Package(offer.package, offer.version, _summary(offer.package)))
            package.names(kind).append(offer.name)
            winner = provider(kind, offer.name, own.names(kind))
            if winner != offer.package:
                package.hidden.append(f"{kind} {offer.name}: provided by {winner}")
    for spec in config.partitions:
        used = {provider("table", spec.table, own.tables)}
        used |= {provider("source", source.kind, own.sources) for source in spec.sources}
        for name in used & found.keys():
            found[str(name)].partitions.append(spec.full_name)
    return found


def _own() -> Package:
    from tailrace.config.declare_formats import FORMATS
    from tailrace.config.declare_sources import KINDS
    from tailrace.core.registry import table_names
    from tailrace.version import __version__

    kinds = [kind for kind, declared in KINDS.items() if declared.active]
    return Package(OWN, __version__, "Built in.", table_names(), kinds, list(FORMATS))


def _summary(package: str) -> str:
    from importlib.metadata import metadata

    return str(metadata(package).json.get("summary", ""))

"""What the tests run over: everything that is installed, built in or of packages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from tailrace.core import plugins
from tailrace.core.registry import is_built_in, table_names
from tailrace.testing import samples as built_in
from tailrace.testing.golden import Pair
from tailrace.testing.samples import FormatSample, Place

if TYPE_CHECKING:
    import pytest

T = TypeVar("T")
_HERE = Path(__file__).parent
_OURS = (_HERE / "golden", _HERE.parents[2] / "tests" / "golden")
"Where golden pairs of built-in tables lie: in the wheel, and in the repository."


def run_over(metafunc: pytest.Metafunc, **subjects: Mapping[str, object]) -> None:
    """One test per subject, named after it, for those that the test asks for."""
    for name, found in subjects.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, found.values(), ids=found.keys())


def pairs(given: Iterable[Path]) -> dict[str, Pair]:
    """By table, where its golden pair lies or has to lie; `given` directories come first."""
    names = {*table_names(), *plugins.usable("table")}
    return {name: Pair(name, _nearest([*given, *_beside(name)], name)) for name in sorted(names)}


def samples() -> dict[str, FormatSample]:
    """By type of format, how it is tested."""
    return {**_said("FORMATS"), **built_in.FORMATS}


def places() -> dict[str, Place]:
    """By kind of source, how it is tested."""
    return {**_said("SOURCES"), **built_in.SOURCES}


def without_sample() -> list[str]:
    """Types of formats that packages bring and nobody says how to test."""
    return sorted(plugins.offered("format").keys() - samples().keys())


def without_place() -> list[str]:
    """The same for sources."""
    return sorted(plugins.offered("source").keys() - places().keys())


def _said(name: str) -> dict[str, T]:
    found: dict[str, T] = {}
    for offer in (offer for offers in plugins.offered("testing").values() for offer in offers):
        found.update(getattr(offer.load(), name, {}))
    return found


def _beside(table: str) -> Iterable[Path]:
    """Directories `golden` beside the table's module and above it, inside its package."""
    if is_built_in(table):
        return _OURS
    offer = plugins.find("table", table)
    assert offer is not None
    names = offer.module.split(".")
    packages = (".".join(names[:length]) for length in range(len(names), 0, -1))
    return [Path(place, "golden") for name in packages for place in _directories(import_module(name))]


def _directories(module: ModuleType) -> Iterable[str]:
    return getattr(module, "__path__", ())


def _nearest(directories: list[Path], table: str) -> Path:
    """The first that holds a pair of the table, else the one in which it should be."""
    found = [directory / table for directory in directories] or [Path("golden", table)]
    return next((directory for directory in found if directory.is_dir()), found[0])

"""What expressions ask for by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tailrace.config.limits import Budget
from tailrace.config.values import Value


class Circular(Exception):
    """A name that cannot be evaluated without itself."""


class Declared(Protocol):
    """Where `local.x` and `var.x` come from, and how much may still be computed."""

    budget: Budget

    @property
    def named(self) -> Mapping[str, Mapping[str, object]]:
        """By head: the names that are declared."""

    def lookup(self, head: str, name: str) -> Value:
        """Raises KeyError when it is not declared, Circular when it depends on itself, or a Problem."""

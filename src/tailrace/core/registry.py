"""Names → declarations, found by module name; nothing is registered anywhere."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import pkgutil
from collections.abc import Iterable

from tailrace.core.errors import ConfigError
from tailrace.core.table import Table

ALIASES = {"aws_cloudtrail": "aws_cloudtrail_log", "aws_flowlog": "aws_vpc_flow_log"}


def table_names() -> list[str]:
    """All built-in tables, sorted; imports none of them."""
    package = importlib.import_module("tailrace.tables")
    return sorted(m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_"))


def find_table(name: str) -> Table | None:
    """The built-in table of that name or alias, or None."""
    name = ALIASES.get(name, name)
    if not name.isidentifier() or name.startswith("_"):
        return None
    if importlib.util.find_spec(f"tailrace.tables.{name}") is None:
        return None
    table: Table = importlib.import_module(f"tailrace.tables.{name}").TABLE
    return table


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def unknown(kind: str, name: str, known: Iterable[str], where: str | None = None) -> ConfigError:
    """The error for a name that does not exist, with the nearest one that does."""
    known = sorted(known)
    guess = nearest(name, known)
    hint = f"did you mean '{guess}'?" if guess else f"known: {', '.join(known) or 'none'}"
    return ConfigError(f"unknown {kind} '{name}'", code=f"config.unknown-{kind}", where=where, hint=hint)

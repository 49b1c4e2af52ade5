"""Names → declarations, found by module name; nothing is registered anywhere."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tailrace.core.errors import ConfigError
from tailrace.core.table import Table

ALIASES = {"aws_cloudtrail": "aws_cloudtrail_log", "aws_flowlog": "aws_vpc_flow_log"}

_DOC = re.compile(r'^    doc="([^"\\]*)",$', re.MULTILINE)


def table_names() -> list[str]:
    """All built-in tables, sorted; imports none of them."""
    return list(_modules())


@cache
def _modules() -> tuple[str, ...]:
    package = importlib.import_module("tailrace.tables")
    return tuple(sorted(m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")))


def find_table(name: str) -> Table | None:
    """The built-in table of that name or alias, or None."""
    name = ALIASES.get(name, name)
    if not name.isidentifier() or name.startswith("_"):
        return None
    if importlib.util.find_spec(f"tailrace.tables.{name}") is None:
        return None
    table: Table = importlib.import_module(f"tailrace.tables.{name}").TABLE
    return table


def table_doc(name: str) -> str:
    """What the built-in table of that name holds. Read, not imported: a list of all tables takes no longer for it."""
    for directory in importlib.import_module("tailrace.tables").__path__:
        module = Path(directory, f"{name}.py")
        found = _DOC.search(module.read_text(encoding="utf-8")) if module.is_file() else None
        if found:
            return found[1]
    table = find_table(name)
    return table.doc if table else ""


def nearest(name: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """The known name that was probably meant; `alike`: how near it has to be, up to 1."""
    import difflib  # only mistakes need it

    found = difflib.get_close_matches(name, list(known), n=1, cutoff=alike)
    return found[0] if found else None


def unknown(kind: str, name: str, known: Iterable[str], where: str | None = None) -> ConfigError:
    """The error for a name that does not exist, with the nearest one that does."""
    known = sorted(known)
    guess = nearest(name, known)
    hint = f"did you mean '{guess}'?" if guess else f"known: {', '.join(known) or 'none'}"
    return ConfigError(f"unknown {kind} '{name}'", code=f"config.unknown-{kind}", where=where, hint=hint)

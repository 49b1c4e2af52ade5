"""Names → declarations, found by module name; nothing is registered anywhere."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache

from tailrace.core.errors import ConfigError
from tailrace.core.table import Table

ALIASES = {"aws_cloudtrail": "aws_cloudtrail_log", "aws_flowlog": "aws_vpc_flow_log"}

_DOC = re.compile(rb'^    doc="([^"\\]*)",$', re.MULTILINE)


def table_names() -> list[str]:
    """All built-in tables, sorted; imports none of them."""
    return list(_modules())


@cache
def _modules() -> tuple[str, ...]:
    package = importlib.import_module("tailrace.tables")
    files = (file for directory in package.__path__ for file in os.listdir(directory))
    return tuple(sorted(file.removesuffix(".py") for file in files if file.endswith(".py") and file[0] != "_"))


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
        with suppress(OSError), open(f"{directory}/{name}.py", "rb") as module:
            if found := _DOC.search(module.read()):
                return found[1].decode()
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

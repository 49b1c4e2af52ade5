"""Names → declarations: built-in ones by module name, others by the entry points of their packages."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from tailrace.core import plugins
from tailrace.core.errors import ConfigError

if TYPE_CHECKING:
    from tailrace.core.table import Table

ALIASES = {"aws_cloudtrail": "aws_cloudtrail_log", "aws_flowlog": "aws_vpc_flow_log"}

FAMILIES = {"zeek_": "zeek_log"}
"Beginnings of names → the built-in table whose module makes a table of any such name."
_DOC = re.compile(rb'^    doc="([^"\\]*)",$', re.MULTILINE)


def table_names() -> list[str]:
    """All built-in tables, sorted; imports none of them."""
    return list(_modules())


@cache
def _modules() -> tuple[str, ...]:
    package = importlib.import_module("tailrace.tables")
    files = (file for directory in package.__path__ for file in os.listdir(directory))
    return tuple(sorted(file.removesuffix(".py") for file in files if file.endswith(".py") and file[0] != "_"))


def all_table_names() -> list[str]:
    """Built-in tables and those of packages, sorted; imports none of them."""
    return sorted({*table_names(), *plugins.offered("table")})


def find_table(name: str) -> Table | None:
    """The table of that name or alias, built in or of a package; None if there is none."""
    name = ALIASES.get(name, name)
    if not name.isidentifier() or name.startswith("_"):
        return None
    if is_built_in(name):
        table: Table = importlib.import_module(f"tailrace.tables.{name}").TABLE
        return table
    offer = plugins.find("table", name)
    return _packaged(offer) if offer is not None else _related(name)


def _related(name: str) -> Table | None:
    module = _family(name)
    if module is None:
        return None
    table: Table = importlib.import_module(f"tailrace.tables.{module}").named(name)
    return table


def _family(name: str) -> str | None:
    """The module that makes tables of such names."""
    known = (module for beginning, module in FAMILIES.items() if name.startswith(beginning) and name != beginning)
    return next(known, None) if name.islower() else None


def has_table(name: str) -> bool:
    """Is there a table of that name or alias, though it may turn out to be of no use?"""
    name = ALIASES.get(name, name)
    built_in = name.isidentifier() and (is_built_in(name) or _family(name) is not None)
    return built_in or name in plugins.offered("table")


def is_built_in(name: str) -> bool:
    """Is this the name of a built-in table?"""
    return importlib.util.find_spec(f"tailrace.tables.{name}") is not None


def packaged_tables() -> dict[str, Table]:
    """Tables of packages that can be used; `doctor` tells about the others."""
    found: dict[str, Table] = {}
    for name, offer in plugins.usable("table").items():
        if not is_built_in(name):
            try:
                found[name] = _packaged(offer)
            except ConfigError:
                continue
    return found


def _packaged(offer: plugins.Offer) -> Table:
    from tailrace.core.table import Table

    table = offer.load("TABLE").TABLE
    if not isinstance(table, Table) or table.name != offer.name:
        raise offer.broken(f"TABLE of {offer.module} is no table of that name")
    return table


def table_doc(name: str) -> str:
    """What the table of that name holds. Read, not imported: a list of all tables takes no longer for it."""
    for directory in importlib.import_module("tailrace.tables").__path__:
        with suppress(OSError), open(f"{directory}/{name}.py", "rb") as module:
            if found := _DOC.search(module.read()):
                return found[1].decode()
    try:
        table = find_table(name)
    except ConfigError as error:
        return f"({error})"
    return table.doc if table else ""


def nearest(name: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """The known name that was probably meant; `alike`: how near it has to be, up to 1."""
    import difflib  # only mistakes need it

    found = difflib.get_close_matches(name, list(known), n=1, cutoff=alike)
    return found[0] if found else None


def holding(name: str, known: Iterable[str]) -> str | None:
    """The known name of fewest parts of which this is one, as `nginx` is of `nginx_access_log`."""
    found = [other for other in known if name.lower() in re.split(r"[_.]", other.lower())]
    return min(found, key=lambda other: (other.count("_"), other), default=None)


def unknown(kind: str, name: str, known: Iterable[str], where: str | None = None) -> ConfigError:
    """The error for a name that does not exist, with the nearest one that does."""
    known = sorted(known)
    guess = nearest(name, known) or holding(name, known)
    hint = f"did you mean '{guess}'?" if guess else f"known: {', '.join(known) or 'none'}"
    return ConfigError(f"unknown {kind} '{name}'", code=f"config.unknown-{kind}", where=where, hint=hint)

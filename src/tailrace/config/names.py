"""Blocks by name: one of each, and what a reference finds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from tailrace.config.declare import NAME
from tailrace.config.model import OtherBlock, TableSpec
from tailrace.config.places import Report, Where, meant
from tailrace.config.values import Reference
from tailrace.core import plugins, registry
from tailrace.core.schemas import DEFAULT_SCHEMA, SCHEMA_ALIAS

FOLDED = "SQL does not tell upper case from lower"
LONGEST_TABLE = 200
"Bytes: a longer name would not be the name of its directory."
_SCHEMAS_OF_DUCKDB = frozenset({"main", "temp", "system", "memory", "information_schema", "pg_catalog"})
"Its schemas, and databases: a schema of such a name could not be told from them."
_TABLE = re.compile(r"\w[\w\-]*")

T = TypeVar("T")


class Names(Generic[T]):
    """The blocks of one kind, by their labels."""

    def __init__(self, kind: str, report: Report, synonyms: Mapping[str, str] | None = None) -> None:
        self.kind = kind
        self.report = report
        self.synonyms = synonyms or {}
        self._found: dict[tuple[str, ...], tuple[T | None, Where]] = {}

    def add(self, labels: tuple[str, ...], value: T | None, where: Where) -> None:
        """Keep a block under its labels; None = declared, but broken: references to it are no errors."""
        labels = self._plain(labels)
        twin = self._twin(labels)
        if twin is not None:
            first = self._found[twin][1]
            also = f" as '{'.'.join(twin)}', and {FOLDED}" if twin != labels else ""
            self.report.error(
                where,
                f"{self.kind} {'.'.join(labels)} already exists",
                "duplicate-name",
                f"it is declared at {first}{also}",
            )
            return
        for label in labels:
            self._check(label, where)
        self._found[labels] = (value, where)

    def values(self) -> tuple[T, ...]:
        return tuple(value for value, _ in self._found.values() if value is not None)

    def holds(self, reference: Reference) -> bool:
        return self._match(reference) is not None

    def get(self, reference: Reference) -> T | None:
        """The block that `kind.a.b` names; `kind.b` will do where only one block ends so."""
        labels = self._match(reference)
        return self._found[labels][0] if labels is not None else None

    def find(self, reference: Reference) -> T | None:
        """The same, with a note in the report when there is no such block."""
        if not self.holds(reference):
            self.miss(reference, ())
        return self.get(reference)

    def miss(self, reference: Reference, others: Iterable[str]) -> None:
        """Note a reference that leads nowhere, unless its block exists and is only broken."""
        if self.holds(reference):
            return
        known = [*(".".join((self.kind, *labels)) for labels in self._found), *others]
        labels = " ".join(f'"{label}"' for label in reference.path[1:])
        hint = meant(str(reference), known) if known else f"declare it: {self.kind} {labels} {{ … }}"
        self.report.error(reference.where, f"{reference} does not exist", "dangling-reference", hint)

    def _match(self, reference: Reference) -> tuple[str, ...] | None:
        labels = self._plain(reference.path[1:])
        if labels in self._found:
            return labels
        ends = [found for found in self._found if len(labels) == 1 and found[-1:] == labels]
        return ends[0] if len(ends) == 1 else None

    def _twin(self, labels: tuple[str, ...]) -> tuple[str, ...] | None:
        """The block that already has this name."""
        return labels if labels in self._found else None

    def _check(self, label: str, where: Where) -> None:
        if not NAME.fullmatch(label):
            hint = "use letters, digits, underscores, dashes and blanks"
            self.report.error(where, f"'{label}' is not a name", "bad-name", hint)

    def _plain(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        return (self.synonyms.get(labels[0], labels[0]), *labels[1:]) if labels else labels


class FoldedNames(Names[T]):
    """Names that are words of SQL: those that differ in case only are one."""

    def __init__(self, kind: str, report: Report) -> None:
        super().__init__(kind, report)
        self._folded: dict[str, tuple[str, ...]] = {}

    def _twin(self, labels: tuple[str, ...]) -> tuple[str, ...] | None:
        twin = self._folded.setdefault(labels[0].lower(), labels)
        return twin if twin in self._found else None


class SchemaNames(FoldedNames[OtherBlock]):
    """Schemas: DuckDB has some of its own."""

    def __init__(self, report: Report) -> None:
        super().__init__("schema", report)

    def _check(self, label: str, where: Where) -> None:
        super()._check(label, where)
        folded = label.lower()
        if folded in (DEFAULT_SCHEMA, SCHEMA_ALIAS):
            hint = f"the schema {DEFAULT_SCHEMA} is always there and holds everything; choose another name"
            self.report.error(where, f"'{label}' cannot name a schema", "reserved-name", hint)
        elif folded in _SCHEMAS_OF_DUCKDB or folded.startswith(f"{DEFAULT_SCHEMA}_"):
            hint = "the name means something else in SQL; choose another one"
            self.report.error(where, f"'{label}' cannot name a schema", "reserved-name", hint)


class TableNames(FoldedNames[TableSpec]):
    """Tables: their names are words of SQL, and directories that every engine has to read alike."""

    def __init__(self, report: Report) -> None:
        super().__init__("table", report)
        self._built_in = {name.lower(): name for name in (*registry.table_names(), *registry.ALIASES)}

    def _check(self, label: str, where: Where) -> None:
        name = self._known(label)
        if not _TABLE.fullmatch(label) or len(label.encode()) > LONGEST_TABLE:
            hint = f"name a table with letters, digits, `-` and `_` only, {LONGEST_TABLE} bytes at most"
            self.report.error(where, f"'{label}' cannot name a table", "bad-name", hint)
        elif label.lower().startswith("tp_"):
            hint = "names that begin with tp_ are Tailrace's own, such as tp_quarantine"
            self.report.error(where, f"'{label}' cannot name a table", "reserved-name", hint)
        elif name != label:
            hint = f"it is built in as '{name}', and {FOLDED}"
            self.report.error(where, f"table {label} already exists", "duplicate-name", hint)

    def _known(self, label: str) -> str:
        """The name as the built-in table or the one of a package has it."""
        folded = label.lower()
        others = (name for name in plugins.offered("table") if name.lower() == folded)
        return self._built_in.get(folded) or next(others, label)

"""What the text of a statement says, before DuckDB binds it: which names may be meant, and whether all are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ALL_SCHEMAS = re.compile(
    r"""\b(information_schema|duckdb_(tables|views|columns)|sqlite_(master|schema)|pg_(catalog|class|views|attribute))\b
    |\bshow\s+all\s+tables\b""",
    re.IGNORECASE | re.VERBOSE,
)
_OWN_SCHEMA = re.compile(
    r"""\bpragma\s+show_tables
    |(^|\(|\bas\b|\bexplain\b)\s*(show|describe|desc)\s*($|[;)]|tables\b)""",
    re.IGNORECASE | re.VERBOSE,
)
"A statement about all tables there are; `describe x` is about one, and `order by x desc` about none."
_READS = re.compile(
    r"\b(from|join|table|into|with|copy|pivot\w*|unpivot|show|describe|desc|summarize|pragma\w*|use|set|begin|start)\b",
    re.IGNORECASE,
)
_INDIRECT = frozenset({"view", "macro", "function", "prepare", "attach", "import"})
"What lets later statements read a table without its name."
_SELECTS = re.compile(r"[\s(]*(select|from|with)\b", re.IGNORECASE)
_DESCRIBES = re.compile(r"\s*(describe|desc)\s+[\w.]+\s*;?\s*", re.IGNORECASE)
_MOVES = re.compile(r"\s*(use|set|reset)\b", re.IGNORECASE)
_SETS = re.compile(r"\s*(use|set|reset|pragma|call)\b", re.IGNORECASE)
_CURRENT = re.compile(
    r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\2\$)|\bcurrent_timestamp\b(?!\s*\()""",
    re.IGNORECASE | re.DOTALL,
)
"A text, a quoted name or a comment (group 1), which say nothing; or the word itself."


def with_now(sql: str) -> str:
    """The word `current_timestamp` as the `now()` that is of the same kind as stored times."""
    return _CURRENT.sub(lambda found: found[1] or "now()", sql)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement. Names in it are looked for generously: one that is not meant costs little."""

    text: str
    lowered: str
    words: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Statement:
        lowered = text.lower()
        return cls(text, lowered, frozenset(_WORD.findall(lowered)))

    @property
    def reads(self) -> bool:
        """A statement that reads nothing does not make us look at the disk."""
        return _READS.search(self.text) is not None

    @property
    def is_indirect(self) -> bool:
        """May a later statement read what this one names?"""
        return not _INDIRECT.isdisjoint(self.words)

    @property
    def selects(self) -> bool:
        """Does its plan tell all that it reads?"""
        return _SELECTS.match(self._said()) is not None and not self.is_indirect

    @property
    def describes(self) -> bool:
        """Is it about the columns of one table, and not about rows?"""
        return _DESCRIBES.fullmatch(self._said()) is not None

    @property
    def moves(self) -> bool:
        """May other schemas need no prefix afterwards?"""
        return _MOVES.match(self._said()) is not None

    @property
    def sets(self) -> bool:
        """May later statements mean something else?"""
        return _SETS.match(self._said()) is not None

    @property
    def lists_tables(self) -> bool:
        """Is it about all tables that need no prefix?"""
        return self.lists_all_schemas or _OWN_SCHEMA.search(self._said()) is not None

    @property
    def lists_all_schemas(self) -> bool:
        """Is it about the tables of all schemas?"""
        return _ALL_SCHEMAS.search(self._said()) is not None

    def mentions(self, name: str) -> bool:
        """A name with blanks or dashes in it is no single word."""
        folded = _written(name)
        return folded in self.words if _WORD.fullmatch(name) else folded in self.lowered

    def mentions_bare(self, name: str) -> bool:
        """Does the name stand somewhere without `schema.` before it?"""
        if not self.mentions(name):
            return False
        places = re.finditer(rf"(?<!\w){re.escape(_written(name))}(?!\w)", self.lowered)
        return any(not self.lowered[: found.start()].rstrip('" \t\r\n').endswith(".") for found in places)

    def mentions_prefix(self, schema: str) -> bool:
        """Does the name of a schema stand before a dot?"""
        return re.search(rf'(?<!\w){re.escape(_written(schema))}"?\s*\.', self.lowered) is not None

    def _said(self) -> str:
        return _CURRENT.sub(lambda found: " " if found[1] else found[0], self.text)


def _written(name: str) -> str:
    """As it stands in SQL, in small letters."""
    return name.lower().replace('"', '""')


def lines_before(sql: str, statements: Sequence[duckdb.Statement]) -> Iterator[int]:
    """How many lines of all SQL stand before each statement."""
    end = 0
    for statement in statements:
        start = max(sql.find(statement.query, end), end)
        yield sql.count("\n", 0, start)
        end = start + len(statement.query)


def judged(statement: duckdb.Statement) -> tuple[str, bool]:
    """DuckDB's word for its kind, and whether it answers anything; `set`, `create` and the like say nothing."""
    try:
        kind = statement.type.name
    except ValueError:  # DuckDB has it, and its Python library knows neither the kind nor what comes of it
        return "OTHER", True
    return kind, kind != "CREATE" and [expected.name for expected in statement.expected_result_type] != ["NOTHING"]

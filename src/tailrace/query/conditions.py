"""The filters DuckDB pushes into its scans, as conditions on columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

_TEXT = r"'(?:[^']|'')*'"
_VALUE = rf"{_TEXT}(?:::[A-Z]+)?|-?\d+(?:\.\d+)?(?:::[A-Z]+)?|true|false"
_COLUMN = r'"(?:[^"]|"")+"|\w+|(?:struct_extract\()+(?:\w+|"(?:[^"]|"")+")(?:, \'\w+\'\))+'
_COMPARED = re.compile(rf"({_COLUMN}) (=|>=|<=|>|<) ({_VALUE})")
_AMONG = re.compile(rf"({_COLUMN}) IN \(((?:{_VALUE})(?:, (?:{_VALUE}))*)\)")
_VALUES = re.compile(_VALUE)
_TYPED = re.compile(r"::[A-Z]+$")
_MISREAD = re.compile(r"['\"()\r\n]| AND ")
"What DuckDB writes into a filter without quotes, where the name of a column has it."
_INNER = re.compile(r"struct_extract\((.+), '(\w+)'\)")


@dataclass(frozen=True, slots=True)
class Condition:
    """A column compared with a value, or with any of several (`=`)."""

    column: str
    operator: str
    values: tuple[Any, ...]


def conditions(filters: list[str], columns: Iterable[str] = ()) -> list[Condition]:
    """What can be understood of a scan's filters, over columns of these names; the rest prunes nothing."""
    # EXPLAIN parts filters by line ends, those inside of a text too: a piece of a text may look like a filter.
    if any(_ends_inside_quotes(text) for text in filters):
        return []
    # A column `x AND n` would have a filter that speaks of `n`.
    whole = "\n".join(filters)
    if any(name in whole for name in columns if _MISREAD.search(name)):
        return []
    return [c for text in filters for part in _conjuncts(text.removeprefix("optional: ")) for c in _atom(part)]


def scans_of(plan: Mapping[str, Any], schema: str) -> Iterator[tuple[str, list[str]]]:
    """(table, filters) of every scan of a table in that schema, from EXPLAIN's JSON."""
    info = plan.get("extra_info", {})
    table = str(info.get("Table", ""))
    if f".{schema}." in table:
        filters = info.get("Filters", [])
        yield table.rpartition(f".{schema}.")[2].strip('"'), [filters] if isinstance(filters, str) else list(filters)
    for child in plan.get("children", []):
        yield from scans_of(child, schema)


def _conjuncts(text: str) -> Iterator[str]:
    """`((a) AND (b))` → `a`, `b`; anything with OR in it stays whole."""
    text = _unwrapped(text)
    parts, start = [], 0
    for i, char, depth in _outside_quotes(text):
        if char == " " and depth == 0 and text.startswith(" AND ", i):
            parts.append(text[start:i])
            start = i + 5
    if not parts:
        yield text
        return
    for part in (*parts, text[start:]):
        yield from _conjuncts(part)


def _unwrapped(text: str) -> str:
    while text.startswith("(") and text.endswith(")") and _closes_at(text) == len(text) - 1:
        text = text[1:-1]
    return text


def _closes_at(text: str) -> int:
    return next((i for i, char, depth in _outside_quotes(text) if char == ")" and depth == 0), -1)


def _outside_quotes(text: str) -> Iterator[tuple[int, str, int]]:
    """Place, character and depth of parentheses after it, of all that is neither in a text nor in a quoted name."""
    depth, quote = 0, ""
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        else:
            depth += (char == "(") - (char == ")")
            yield i, char, depth
    if quote:
        yield len(text), quote, depth


def _ends_inside_quotes(text: str) -> bool:
    return any(i == len(text) for i, _, _ in _outside_quotes(text))


def _atom(text: str) -> Iterator[Condition]:
    compared = _COMPARED.fullmatch(text)
    among = None if compared else _AMONG.fullmatch(text)
    try:
        if compared:
            yield Condition(_name(compared[1]), compared[2], (_value(compared[3]),))
        elif among:
            yield Condition(_name(among[1]), "=", tuple(_value(v) for v in _VALUES.findall(among[2])))
    except ValueError:
        # What Python or the statistics do not have: `infinity`, years after 9999, blobs.
        return


def _name(text: str) -> str:
    inner = _INNER.fullmatch(text)
    if inner:
        return f"{_name(inner[1])}.{inner[2]}"
    return text[1:-1].replace('""', '"') if text.startswith('"') else text


def _value(text: str) -> Any:
    bare, _, kind = text.rpartition("::") if _TYPED.search(text) else (text, "", "")
    if not bare.startswith("'"):
        return bare == "true" if bare in ("true", "false") else Decimal(bare) if "." in bare else int(bare)
    word = bare[1:-1].replace("''", "'")
    if kind == "DATE":
        return date.fromisoformat(word)
    if kind == "TIMESTAMP":
        return datetime.fromisoformat(word)
    if kind:
        raise ValueError(f"no statistics for {kind}")
    return word

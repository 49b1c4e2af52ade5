"""Lookups in JSON, made at once: DuckDB reads a document anew for every `->>`, and once for a list of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from tailrace.formats.duck import con

_LOOKUPS = frozenset({"->>", "json_extract_string"})
_NAME = "tailrace looked up"
Node = dict[str, Any]


@cache
def at_once(select: str) -> tuple[str, str]:
    """A `SELECT …` without FROM that looks nothing up twice in the same document, and the columns that it reads for it.

    Those columns stand behind a comma, to be added to a list. Documents are looked into on every row, whether or not
    the given query would have done so.
    """
    tree = parsed(select)
    lookups = list(_lookups(tree["statements"][0]["node"]["select_list"])) if not tree["error"] else []
    paths: dict[str, dict[str, int]] = {}
    for lookup in lookups:
        found = paths.setdefault(_document(lookup), {})
        found.setdefault(_path(lookup), len(found) + 1)
    several = {document: found for document, found in paths.items() if len(found) > 1}
    if not several:
        return select, ""
    names = {document: f'"{_NAME} {number}"' for number, document in enumerate(several)}
    chosen = [lookup for lookup in lookups if _document(lookup) in several]
    read = [f"{names[_document(one)]}[{several[_document(one)][_path(one)]}]" for one in chosen]
    columns = [
        f", json_extract_string({_text(json.loads(document))}, [{', '.join(map(_quoted, found))}]) AS {names[document]}"
        for document, found in several.items()
    ]
    for lookup, element in zip(
        chosen, parsed(f"SELECT {', '.join(read)}")["statements"][0]["node"]["select_list"], strict=True
    ):
        alias = lookup["alias"]
        lookup.clear()
        lookup.update(element, alias=alias)
    return written(tree), "".join(columns)


def _lookups(nodes: list[Node]) -> Iterator[Node]:
    """Those with a constant path, the outermost of several in each other."""
    for node in nodes:
        if not any(_has_own_names(inner) for inner in _nodes(node)):
            yield from _lookups_in(node)


def _has_own_names(node: Node) -> bool:
    """May a name mean something else inside? `a -> 'b'` is parsed as a function of `a` as well, one without names."""
    if node["class"] == "LAMBDA":
        return bool(node["expr"]["class"] != "CONSTANT")
    return bool(node["class"] == "SUBQUERY")


def _lookups_in(value: object) -> Iterator[Node]:
    if isinstance(value, dict) and value.get("function_name") in _LOOKUPS and _path(value):
        yield value
    elif isinstance(value, dict):
        yield from _lookups_in(list(value.values()))
    elif isinstance(value, list):
        for child in value:
            yield from _lookups_in(child)


def _nodes(value: object) -> Iterator[Node]:
    """A node and all inside it."""
    if isinstance(value, dict):
        if "class" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for child in value:
            yield from _nodes(child)


def _path(lookup: Node) -> str:
    """The constant path of a lookup; empty: it has none, or one that may lead to several places."""
    _, *more = lookup["arguments"]
    literal = more[0]["expression"].get("literal", {}) if len(more) == 1 else {}
    text = literal.get("text", "") if literal.get("kind") == "STRING" else ""
    return "" if "*" in text else str(text)


def _document(lookup: Node) -> str:
    """What it looks into; the same for expressions that are written alike."""
    return json.dumps(_placeless(lookup["arguments"][0]["expression"]))


def _placeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _placeless(inner) for name, inner in value.items() if not name.startswith("query_location")}
    return [_placeless(inner) for inner in value] if isinstance(value, list) else value


def parsed(select: str) -> Node:
    """A query as DuckDB's tree of it."""
    (row,) = con().execute("SELECT json_serialize_sql(cast($query as varchar))", {"query": select}).fetchall()
    tree: Node = json.loads(row[0])
    return tree


def written(tree: Node) -> str:
    """The query of such a tree."""
    (row,) = con().execute("SELECT json_deserialize_sql(cast($tree as json))", {"tree": json.dumps(tree)}).fetchall()
    return str(row[0])


def _text(expression: Node) -> str:
    """An expression in SQL."""
    tree = parsed("SELECT 1")
    tree["statements"][0]["node"]["select_list"] = [expression]
    return written(tree).removeprefix("SELECT ")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

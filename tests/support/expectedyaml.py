"""Expected OTLP log records as test data writes them: the part of YAML that block mappings and lists need."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Line = tuple[int, str]


def log_records(path: Path) -> list[dict[str, Any]]:
    """The records in order: attributes of the record and of its resource by name, and `timeUnixNano`."""
    document = parse_yaml(path.read_text())
    found: list[dict[str, Any]] = []
    for resource in document.get("resourceLogs") or []:
        around = attributes(resource.get("resource") or {})
        for scope in resource.get("scopeLogs") or []:
            for record in scope.get("logRecords") or []:
                times = {"timeUnixNano": int(record["timeUnixNano"])} if "timeUnixNano" in record else {}
                found.append(around | attributes(record) | times)
    return found


def attributes(holder: dict[str, Any]) -> dict[str, Any]:
    """Attributes as plain values."""
    return {entry["key"]: plain(entry["value"]) for entry in holder.get("attributes") or []}


def plain(value: Any) -> Any:
    """An OTLP value as Python says it."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind == "intValue":
        return int(inner)
    if kind == "doubleValue":
        return float(inner)
    if kind == "boolValue":
        return inner in (True, "true")
    if kind == "arrayValue":
        return [plain(item) for item in (inner or {}).get("values") or []]
    if kind == "kvlistValue":
        return {entry["key"]: plain(entry["value"]) for entry in (inner or {}).get("values") or []}
    return str(inner) if kind == "stringValue" else inner


def parse_yaml(text: str) -> Any:
    """A document of block mappings, block lists and scalars on one line."""
    lines = [(len(line) - len(line.lstrip(" ")), line.strip()) for line in text.splitlines()]
    waiting = [(indent, content) for indent, content in lines if content and not content.startswith("#")]
    return _node(waiting, 0)[0] if waiting else {}


def _node(lines: list[Line], at: int) -> tuple[Any, int]:
    indent, content = lines[at]
    if content.startswith("- ") or content == "-":
        return _list(lines, at, indent)
    if _pair(content) is not None:
        return _mapping(lines, at, indent)
    return _scalar(content), at + 1


def _list(lines: list[Line], at: int, indent: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while at < len(lines) and lines[at][0] == indent and lines[at][1].startswith("-"):
        inner = lines[at][1][1:].lstrip()
        if inner:
            lines[at] = (indent + len(lines[at][1]) - len(inner), inner)
            item, at = _node(lines, at)
        else:
            item, at = _node(lines, at + 1)
        items.append(item)
    return items, at


def _mapping(lines: list[Line], at: int, indent: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while at < len(lines) and lines[at][0] == indent and (pair := _pair(lines[at][1])) is not None:
        key, text = pair
        at += 1
        deeper = at < len(lines) and (
            lines[at][0] > indent or (lines[at][0] == indent and lines[at][1].startswith("- "))
        )
        if text:
            found[key] = _scalar(text)
        elif deeper:
            found[key], at = _node(lines, at)
        else:
            found[key] = None
    return found, at


def _pair(content: str) -> tuple[str, str] | None:
    if content[:1] in "\"'{[":
        return None
    key, colon, rest = content.partition(":")
    return (key, rest.strip()) if colon and (not rest or rest[0] == " ") else None


def _scalar(text: str) -> Any:
    if text.startswith('"'):
        return json.loads(text)
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    return {"{}": {}, "[]": [], "null": None, "~": None, "true": True, "false": False}.get(text, text)


def named(records: list[dict[str, Any]], names: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Records with only the attributes that have a name, under that name: a column or expression."""
    for record in records:
        yield {names[key]: value for key, value in record.items() if key in names}

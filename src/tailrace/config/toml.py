"""TOML files: `[sinks.NAME]`, `[listeners.NAME]` and `[windows.NAME]` as the blocks they stand for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import date, datetime, time

from tailrace.config.attributes import BlockType
from tailrace.config.declare import BLOCK_TYPES
from tailrace.config.places import Report, Text, Where
from tailrace.config.syntax import Attribute, Block, Constant
from tailrace.config.values import Value

TABLES = {"sinks": "sink", "listeners": "listener", "windows": "window"}
_LINE = re.compile(
    rb"^[ \t]*(?:\[\[?[ \t]*(?P<table>[^\]\n]+?)[ \t]*\]|(?P<key>[\w.\"'-]+)[ \t]*=[ \t]*)", re.MULTILINE
)
_ERROR = re.compile(r"(?P<what>.*) \(at line (?P<line>\d+), column (?P<column>\d+)\)")

_Path = tuple[str, ...]


def parse_toml(text: Text, report: Report) -> Block:
    """A file as one block without a kind."""
    report.knows(text)
    whole = Block("", (), (), text.where(0), {}, (), 0, len(text.data))
    try:
        tables = tomllib.loads(text.data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        report.error(text.where(error.start), "the file is not UTF-8", "encoding", "save it as UTF-8")
        report.misses(text.data)
        return whole
    except (ValueError, RecursionError) as error:
        found = _ERROR.fullmatch(str(error))
        where = Where(text.file, int(found["line"]), int(found["column"])) if found else text.where(0)
        hint = "write [sinks.name] and below it key = value, texts between quotes"
        report.error(where, f"not TOML: {found['what'] if found else error}", "syntax", hint)
        report.misses(text.data)
        return whole
    reader = _Reader(text, report)
    return Block("", (), (), text.where(0), {}, tuple(reader.blocks(tables)), 0, len(text.data))


class _Reader:
    """Makes blocks of tables; places are found by looking for headers and keys line by line."""

    def __init__(self, text: Text, report: Report) -> None:
        self.report = report
        self.start = text.where(0)
        self.places: dict[_Path, tuple[Where, Where]] = {}
        table: _Path = ()
        for match in _LINE.finditer(text.data):
            group = "table" if match["table"] is not None else "key"
            words = tuple(word.strip(" \"'") for word in match[group].decode(errors="replace").split("."))
            if group == "table":
                table = words
            here = (text.where(match.start(group)), text.where(match.end()))
            path = words if group == "table" else (*table, *words)
            for length in range(1, len(path) + 1):
                self.places.setdefault(path[:length], here)

    def blocks(self, tables: Mapping[str, Value]) -> list[Block]:
        found = []
        for name, inner in tables.items():
            where = self._where((name,))[0]
            if name not in TABLES:
                self.report.unknown(where, "table", name, TABLES)
            elif not isinstance(inner, dict) or not all(isinstance(value, dict) for value in inner.values()):
                self.report.error(where, f"'{name}' holds tables", "wrong-type", f"write [{name}.name]")
            else:
                kind = BLOCK_TYPES[TABLES[name]]
                found += [self._block(kind, (name, label), values, (label,)) for label, values in inner.items()]
        return found

    def _block(self, kind: BlockType, path: _Path, values: Mapping[str, Value], labels: _Path = ()) -> Block:
        where = self._where(path)[0]
        attributes, blocks = {}, []
        for name, value in values.items():
            inner = [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]
            if name in kind.blocks and inner:
                blocks += [self._block(kind.blocks[name], (*path, name), item) for item in inner]
            else:
                at, value_at = self._where((*path, name))
                attributes[name] = Attribute(name, at, Constant(_value(value), value_at))
        return Block(kind.name, labels, (where,) * len(labels), where, attributes, tuple(blocks))

    def _where(self, path: _Path) -> tuple[Where, Where]:
        """Of the table or key, else of the table around it."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, (self.start, self.start))


def _value(value: Value) -> Value:
    """The same in the values of the language, which writes times as texts."""
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, list):
        return [_value(item) for item in value]
    return {key: _value(item) for key, item in value.items()} if isinstance(value, dict) else value

"""Where a character of a text stands in the file in which the text is written."""

from __future__ import annotations

import re

from tailrace.config.places import Text, Where
from tailrace.config.strings import indent_of

_CHARACTER = rb"[\x00-\x7f]|[\xc0-\xff][\x80-\xbf]*"
_RAW = re.compile(_CHARACTER, re.DOTALL)
_DOUBLED = rb"\$\$(?=\{)|%%(?=\{)"
_HEREDOC = re.compile(_DOUBLED + b"|" + _CHARACTER, re.DOTALL)
_QUOTED = re.compile(
    rb'\\[nrt"\\]|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|' + _DOUBLED + b"|" + _CHARACTER,
    re.DOTALL,
)
_HEAD = re.compile(rb"<<(?P<strip>-?)(?P<tag>[A-Za-z_][\w-]*)[ \t]*\r?\n")


def character_place(text: Text, start: Where, number: int) -> Where:
    """The place of character `number` (from 0) of the string that begins there; the start if it is no string."""
    at = text.offset(start)
    head = _HEAD.match(text.data, at)
    if head:
        return text.where(_in_heredoc(text.data, head, number))
    sign = text.data[at : at + 1]
    if sign not in (b"`", b'"'):
        return start
    return text.where(_step(text.data, at + 1, number, _RAW if sign == b"`" else _QUOTED))


def _step(data: bytes, at: int, number: int, character: re.Pattern[bytes]) -> int:
    for _ in range(number):
        found = character.match(data, at)
        if found is None:
            break
        at = found.end()
    return min(at, len(data))


def _in_heredoc(data: bytes, head: re.Match[bytes], number: int) -> int:
    at = head.end()
    last = re.compile(rb"^[ \t]*" + re.escape(head["tag"]) + rb"[ \t]*\r?$", re.MULTILINE).search(data, at)
    indent = indent_of(data[at : last.start() if last else len(data)]) if head["strip"] else 0
    margin = re.compile(rb"[ \t]{0,%d}" % indent)
    for line in data[at:].splitlines(keepends=True):
        skipped = len(margin.match(line)[0])  # type: ignore[index]  # it matches the empty text as well
        characters = sum(1 for _ in _HEREDOC.finditer(line, skipped))
        if number < characters:
            return _step(data, at + skipped, number, _HEREDOC)
        number -= characters
        at += len(line)
    return at

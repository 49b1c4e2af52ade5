"""Records inside other objects: the envelopes that brokers, subscriptions and collectors put around them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw

from tailrace.formats.json_fit import UNREADABLE

_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_LIST = msgspec.json.Decoder(list[Raw])
_TEXT = msgspec.json.Decoder(str)
_DEPTH = 4
"Envelopes in envelopes: a subscription inside a notification inside a batch."
Record = bytes | Raw
Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """Records taken out of others, in their order."""

    records: list[bytes]
    envelopes: dict[int, Tree]
    "By record: what else stood around it."
    origins: list[tuple[int, int]]
    "Per record: which of the given ones held it, and as which of its records."


class Unwrapper:
    """Takes records out of objects that hold them: as an object, an array of them, or JSON sent as a string.

    A path is tried only where its first key occurs at all, so records without envelopes cost one search a block.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = tuple(tuple(path.split(".")) for path in paths)
        self._marks = tuple(json.dumps(path[0]).encode() for path in self._paths)
        self.keys = frozenset(path[0] for path in self._paths)

    def may_hold(self, text: bytes) -> bool:
        """Could any of these bytes be an envelope?"""
        return any(mark in text for mark in self._marks)

    def unwrap(self, records: Sequence[Record]) -> Unwrapped:
        """Every record by itself; one that is no envelope stays as it is."""
        found: list[bytes] = []
        envelopes: dict[int, Tree] = {}
        origins: list[tuple[int, int]] = []
        for number, record in enumerate(records):
            for part, (inner, envelope) in enumerate(self._opened(bytes(record), {}, _DEPTH)):
                if envelope:
                    envelopes[len(found)] = envelope
                found.append(inner)
                origins.append((number, part))
        return Unwrapped(found, envelopes, origins)

    def _opened(self, record: bytes, around: Tree, depth: int) -> Iterator[tuple[bytes, Tree]]:
        held = self._held(record) if depth else None
        if not held:
            yield record, around
            return
        for inner, rest in held:
            yield from self._opened(inner, {**around, **rest}, depth - 1)

    def _held(self, record: bytes) -> list[tuple[bytes, Tree]] | None:
        if record[:1] != b"{" or not self.may_hold(record):
            return None
        try:
            values = _OBJECT.decode(record)
            for path in self._paths:
                if path[0] in values:
                    held = _at(values, path)
                    if held:
                        return held
        except UNREADABLE:
            pass
        return None


def _at(values: dict[str, Raw], path: tuple[str, ...]) -> list[tuple[bytes, Tree]] | None:
    """The records at a path, each with what stands beside it on the way."""
    key, below = path[0], path[1:]
    value = bytes(values.get(key, b"null"))
    rest: Tree = {name: other for name, other in values.items() if name != key}
    if not below:
        inner = _records(value)
        return None if inner is None else [(record, rest) for record in inner]
    held: list[tuple[bytes, Tree]] = []
    for element in _records(value) or ():
        found = _at(_OBJECT.decode(element), below) if element[:1] == b"{" else None
        held += [(record, {**rest, key: inner} if inner else rest) for record, inner in found or ()]
    return held or None


def _records(value: bytes) -> list[bytes] | None:
    """An object, the elements of an array, or what a string holds; None: there can be no record in it."""
    head = value[:1]
    if head == b"{":
        return [value]
    if head == b"[":
        return [record for element in _LIST.decode(value) for record in _records(bytes(element)) or (bytes(element),)]
    if head != b'"':
        return None
    text = _TEXT.decode(value).strip().encode()
    if text[:1] != b"[":
        return [text]
    try:
        return _records(text)
    except UNREADABLE:
        return [text]

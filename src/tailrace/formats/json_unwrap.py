"""Records inside other objects: the envelopes that brokers, subscriptions and collectors put around them."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
Held = tuple[bytes, Tree]
"A record and what stood around it."


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

    def __init__(self, paths: Sequence[str], inside: str | None = None) -> None:
        """`inside`: the key under which a record gets what stood around it, for a table that has columns of that."""
        self._inside = inside
        split = [tuple(path.split(".")) for path in paths]
        self._paths = tuple((json.dumps(path[0]).encode(), path) for path in split)
        self.keys = frozenset(path[0] for path in split)

    def may_hold(self, text: bytes) -> bool:
        """Could any of these bytes be an envelope?"""
        return any(mark in text for mark, _ in self._paths)

    def unwrap(self, records: Sequence[Record]) -> Unwrapped:
        """Every record by itself; one that is no envelope stays as it is."""
        found: list[bytes] = []
        envelopes: dict[int, Tree] = {}
        origins: list[tuple[int, int]] = []
        for number, record in enumerate(records):
            for part, (inner, envelope) in enumerate(self._opened(bytes(record), {}, _DEPTH)):
                if envelope and self._inside and inner[:1] == b"{":
                    inner = _with(inner, self._inside, envelope)
                elif envelope:
                    envelopes[len(found)] = envelope
                found.append(inner)
                origins.append((number, part))
        return Unwrapped(found, envelopes, origins)

    def _opened(self, record: bytes, around: Tree, depth: int) -> list[Held]:
        held = self._held(record) if depth else None
        if not held:
            return [(record, around)]
        opened: list[Held] = []
        for inner, rest in held:
            opened += self._opened(inner, {**around, **rest} if around else rest, depth - 1)
        return opened

    def _held(self, record: bytes) -> list[Held] | None:
        for mark, path in self._paths:
            if mark in record and record[:1] == b"{":
                try:
                    held = _at(_OBJECT.decode(record), path)
                except UNREADABLE:
                    return None
                if held:
                    return held
        return None


def _with(record: bytes, key: str, value: Tree) -> bytes:
    """The record with one more member, its first."""
    rest = record[1:].lstrip()
    return b"".join(
        (b"{", json.dumps(key).encode(), b":", msgspec.json.encode(value), b"" if rest == b"}" else b",", rest)
    )


def _at(values: dict[str, Raw], path: tuple[str, ...]) -> list[Held] | None:
    """The records at a path, each with what stands beside it on the way; takes the values apart."""
    key, below = path[0], path[1:]
    value = values.pop(key, None)
    inner = None if value is None else _records(bytes(value))
    if inner is None or not below:
        return None if inner is None else [(record, values) for record in inner]
    held: list[Held] = []
    for element in inner:
        found = _at(_OBJECT.decode(element), below) if element[:1] == b"{" else None
        held += [(record, {**values, key: rest} if rest else values) for record, rest in found or ()]
    return held


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

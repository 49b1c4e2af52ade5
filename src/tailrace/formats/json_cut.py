"""Records cut out of a stream of JSON documents of any size, in runs of about a megabyte."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from tailrace.formats.base import RAW_LIMIT, Stream
from tailrace.formats.json_scan import Found, Nesting, after_broken, begins_a_value, blank, value_at, walk

MAX_RECORD_BYTES = 16 * 1024 * 1024
WINDOW_BYTES = 1024 * 1024
_FIRST_BYTES = 128 * 1024
"As much is decoded before all else, if it can be: what is learned from it serves the rest."
DENSE = 60_000
"Objects in a window beyond which it is made smaller: tiny records take a multiple of their text as structs."
_GUESSES = 8
_SPACE = b" \t\r\n"
_OPEN = ord("{")
_FIRST = re.compile(rb'[ \t\r\n,]*(\{[ \t\r\n]*"(?:[^"\\]|\\.)*")')
Keys = tuple[str, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cut:
    """One value of a document (or what stands in its place) by itself."""

    raw: bytes
    length: int
    reason: str | None = None
    "Why it cannot be a record; `raw` may then be its beginning only."
    alone: bool = False
    "It stands at the top of the stream, not in an array."


class Window:
    """The stretch of a stream that is looked at: a matter of its bytes, not of how they come in blocks."""

    def __init__(self, stream: Stream) -> None:
        self._blocks = iter(stream)
        self._data = b""
        self._at = 0
        "What stands before is dropped; it goes when more is read, for every copy costs time."
        self._ended = False

    def fill(self, size: int) -> tuple[bytes, bool]:
        """The next `size` bytes, and whether they are the last ones."""
        if len(self._data) - self._at <= size and not self._ended:
            rest = self._data[self._at :]
            parts, held = [rest] if rest else [], len(rest)
            while held <= size:
                block = next(self._blocks, None)
                if block is None:
                    self._ended = True
                    break
                parts.append(block)
                held += len(block)
            self._data, self._at = parts[0] if len(parts) == 1 else b"".join(parts), 0
        return self._data[self._at : self._at + size], self._ended and len(self._data) - self._at <= size

    def drop(self, size: int) -> None:
        self._at += size

    def push(self, data: bytes) -> None:
        """Give back what was dropped."""
        self._data, self._at = data + self._data[self._at :], 0


class Cutter(Generic[T]):
    """Walks the documents of a stream. `prove(run, array)` decodes a run of records; None: it is not JSON."""

    def __init__(self, window: Window, path: tuple[str, ...], prove: Callable[[bytes, bool], T | None]) -> None:
        self._window = window
        self._path = path
        self._prove = prove
        self._first = True

    def runs(self) -> Iterator[T | list[Cut]]:
        """Runs that were proved, and records one by one where that was not possible."""
        while True:
            view, last = self._window.fill(WINDOW_BYTES)
            start = len(view) - len(view.lstrip(_SPACE))
            if start == len(view):
                if last:
                    return
                self._window.drop(start)
            elif view[start : start + 1] == b"[":
                self._window.drop(start + 1)
                yield from self._records(array=True)
            elif self._path and (several := self._guess(view, False)) is not None:
                yield several[0]  # documents one after another, each small
                self._window.drop(several[1])
            elif self._path and (inside := self._enter(start)) is not None:
                self._window.drop(inside)
                yield from self._records(array=True)
                while not self._leave():
                    yield from self._records(array=True)
            else:
                yield from self._records(array=False)

    def _records(self, *, array: bool) -> Iterator[T | list[Cut]]:
        """The records up to the end of the array, or of the stream."""
        while True:
            whole, ended = self._window.fill(WINDOW_BYTES)
            dense = is_dense(whole)
            view, last = (whole[: WINDOW_BYTES // 8], False) if dense else (whole, ended)
            proved = self._guess(whole[:_FIRST_BYTES], array) if self._first else None
            self._first = False
            proved = proved or self._guess(view, array)
            if proved is not None:
                yield proved[0]
                self._window.drop(proved[1])
                continue
            found = walk(view, array=array, last=last)
            if dense and not found.used:
                view, last = whole, ended
                found = walk(view, array=array, last=last)
            if found.pieces:
                yield [Cut(view[p.start : p.end], p.end - p.start, p.reason, not array) for p in found.pieces]
            self._window.drop(found.used)
            if found.closed or (last and found.used == len(view)):
                return
            if not found.used:
                yield [replace(self._long(view, array), alone=not array)]

    def _guess(self, view: bytes, array: bool) -> tuple[T, int] | None:
        """The last record that begins as the first one does is where the run may end; decoding proves it."""
        first = _FIRST.match(view)
        if first is None:
            return None
        end = len(view)
        for _ in range(_GUESSES):
            end = view.rfind(first[1], first.end(1), end)
            if end < 0:
                return None
            run = view[first.start(1) : end].rstrip(_SPACE)
            if run.endswith(b",") == array:
                proved = self._prove(run[:-1] if array else run, array)
                if proved is not None:
                    return proved, end
        return None

    def _long(self, view: bytes, array: bool) -> Cut:
        """A value that goes beyond the window: held up to the limit, then only followed to its end."""
        if view[:1] not in (b"{", b"["):
            self._window.drop(len(view))
            return Cut(view[:RAW_LIMIT], len(view), "json: not an object")
        nesting, parts, length, end, last = Nesting(), [b""], 0, None, False
        while end is None and not last and length <= MAX_RECORD_BYTES:
            view, last = self._window.fill(WINDOW_BYTES)
            end = nesting.end(view)
            parts.append(view if end is None else view[:end])
            length += len(parts[-1])
            self._window.drop(len(parts[-1]))
        held = b"".join(parts)
        if not begins_a_value(held):
            self._window.push(held)
            return self._broken(array)
        if length <= MAX_RECORD_BYTES:
            return Cut(held, length, "json: cut off or invalid" if end is None else None)
        while end is None and not last:
            view, last = self._window.fill(WINDOW_BYTES)
            end = nesting.end(view)
            length += len(view) if end is None else end
            self._window.drop(len(view) if end is None else end)
        return Cut(held[:RAW_LIMIT], length, f"json: longer than {MAX_RECORD_BYTES} bytes")

    def _broken(self, array: bool) -> Cut:
        """What begins here is no value, although its first megabyte may look like one."""
        view, _ = self._window.fill(WINDOW_BYTES)
        end = after_broken(view, view.decode("latin-1"), 0, array)
        self._window.drop(end)
        return Cut(view[:end], end, "json: invalid")

    def _enter(self, start: int) -> int | None:
        """Index after the `[` of the array that holds the records; None: this object has none."""
        for size in (WINDOW_BYTES, MAX_RECORD_BYTES):
            view, last = self._window.fill(size)
            found, inside = _array_at(view.decode("latin-1"), start, self._path, last)
            if found is not Found.INCOMPLETE:
                break
        return inside if found is Found.VALUE else None

    def _leave(self) -> bool:
        """Skip what follows the array in its object; False: that is nothing that could follow it."""
        view, last = self._window.fill(WINDOW_BYTES)
        following = view.lstrip(_SPACE)
        if following[:1] == b",":
            following = following[1:].lstrip(_SPACE)
            if following[:1] != b'"':
                return False
        elif following[:1] not in (b"}", b""):
            return False
        nesting = Nesting(len(self._path))
        while True:
            end = nesting.end(view)
            self._window.drop(len(view) if end is None else end)
            if end is not None or last:
                return True
            view, last = self._window.fill(WINDOW_BYTES)


def is_dense(text: bytes) -> bool:
    """Does it hold very many objects? `bytes.count` takes five times as long."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == _OPEN)) > DENSE


def _array_at(text: str, at: int, path: Keys, last: bool) -> tuple[Found, int]:
    """Key by key to the array at `path`: VALUE and the index after its `[`, BROKEN where there is none."""
    wanted = path[0].encode().decode("latin-1")
    while True:
        at = blank(text, at + 1)  # after { or ,
        found, end = value_at(text, at, last)
        if found is not Found.VALUE or text[at] != '"':
            return (found if found is Found.INCOMPLETE else Found.BROKEN), at
        key = text[at + 1 : end - 1]
        at = blank(text, blank(text, end) + 1)  # after the colon
        if at >= len(text):
            return Found.INCOMPLETE, at
        if key == wanted and len(path) > 1 and text[at] == "{":
            return _array_at(text, at, path[1:], last)
        if key == wanted and len(path) == 1 and text[at] == "[":
            return Found.VALUE, at + 1
        found, end = value_at(text, at, last)
        if found is not Found.VALUE:
            return found, at
        at = blank(text, end)
        if text[at : at + 1] != ",":
            return (Found.INCOMPLETE if at == len(text) else Found.BROKEN), at

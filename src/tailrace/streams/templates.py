"""Templates of messages: words that change from one message to the next are left out, what stays tells them apart.

After Drain: messages of as many words with the same first one are compared word by word. What was learned is kept in a
file that only grows, so that a message keeps its template over restarts and whoever decodes it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

MASK = "<*>"
_MOST_WORDS = 200
"Words of a message that are looked at."
_MOST_BESIDE = 1000
"Templates of one length and first word: each new message is held against all of them."
_MOST_SIGNS = 64 << 20
"Characters of messages whose template is remembered."
Codes = npt.NDArray[np.int64]
_ANY = hash(MASK)


class Template(msgspec.Struct):
    """What messages have in common; its id is that of the first of them and stays."""

    id: str
    text: str


class _Leaf:
    """Templates of one length and first word, in the order in which they were found."""

    def __init__(self, length: int) -> None:
        self.members: list[int] = []
        self.codes: Codes = np.empty((4, length), np.int64)

    def add(self, number: int, codes: Codes) -> None:
        count = len(self.members)
        if count == len(self.codes):
            self.codes = np.concatenate((self.codes, np.empty_like(self.codes)))
        self.codes[count] = codes
        self.members.append(number)

    def nearest(self, codes: Codes, least: float) -> int | None:
        """Place of the first that covers it, else of the most similar one, if it is similar enough."""
        known = self.codes[: len(self.members)]
        equal = known == codes
        covering = (equal | (known == _ANY)).all(axis=1)
        if covering.any():
            return int(covering.argmax())
        shares = equal.mean(axis=1)
        best = int(shares.argmax()) if len(shares) else 0
        return best if len(shares) and shares[best] >= least else None


@dataclass(slots=True)
class Templates:
    """All that were found, `most` of them at the most; a message is held against those of its length and first word."""

    least: float = 0.5
    "Share of equal words from which messages have one template."
    branches: int = 100
    "First words that are told apart, for each length."
    most: int = 100_000
    file: Path | None = None
    _all: list[Template] = field(default_factory=list)
    _places: dict[str, tuple[_Leaf, int]] = field(default_factory=dict)
    _leaves: dict[tuple[int, str], _Leaf] = field(default_factory=dict)
    _firsts: dict[int, int] = field(default_factory=dict)
    _known: dict[str, Template] = field(default_factory=dict)
    _signs: int = 0
    "Characters in `_known`."
    _read: int = 0

    def of(self, masked: Sequence[str]) -> list[Template]:
        """The template of each message, whose variable parts are masked already."""
        if any(text not in self._known for text in masked):
            self._learn(masked)
        return [self._known[text] for text in masked]

    def _learn(self, masked: Iterable[str]) -> None:
        if len(self._known) > self.most or self._signs > _MOST_SIGNS:
            self._known.clear()
            self._signs = 0
        if self.file is None:
            self._find(masked)
            return
        handle = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            self._catch_up(handle)
            if news := self._find(masked):
                self._note(handle, news.values())
        finally:
            os.close(handle)

    def _note(self, handle: int, news: Iterable[Template]) -> None:
        """What could not be written down was not learned: it would be something else after a restart."""
        rest = memoryview(b"".join(msgspec.json.encode(one) + b"\n" for one in news))
        try:
            while rest:
                rest = rest[os.write(handle, rest) :]
        except OSError:
            for held in (self._all, self._places, self._leaves, self._firsts, self._known):
                held.clear()
            self._signs = self._read = 0
            raise
        self._read = os.fstat(handle).st_size

    def _catch_up(self, handle: int) -> None:
        """What others have learned meanwhile, and before."""
        size = os.fstat(handle).st_size
        if size < self._read:  # it was taken away, and is begun anew
            self._read = 0
        data = os.pread(handle, size - self._read, self._read)
        if data and not data.endswith(b"\n"):
            data += b"\n"  # a line that was cut off: it is no JSON, and what follows begins a new one
            os.write(handle, b"\n")
        for line in data.splitlines():
            with suppress(msgspec.MsgspecError):
                self._take(msgspec.json.decode(line, type=Template))
        self._read += len(data)

    def _take(self, given: Template) -> None:
        words = given.text.split(" ")
        if given.id in self._places:
            self._widen(given.id, words)
        elif len(self._all) < self.most:
            self._add(given.id, words, self._leaf(words))

    def _find(self, masked: Iterable[str]) -> dict[str, Template]:
        """Those that are new, or became wider."""
        news: dict[str, Template] = {}
        for text in masked:
            if text in self._known:
                continue
            found, is_new = self._place(text)
            self._known[text] = found
            self._signs += len(text)
            if is_new:
                news[found.id] = found
        return news

    def _place(self, text: str) -> tuple[Template, bool]:
        words = text.split(None, _MOST_WORDS)[:_MOST_WORDS] or [""]
        leaf = self._leaf(words)
        at = leaf.nearest(_codes(words), self.least)
        if at is not None:
            found = self._all[leaf.members[at]]
            return found, self._widen(found.id, words)
        own = hashlib.blake2b(" ".join(words).encode(), digest_size=8).hexdigest()
        if len(self._all) >= self.most or len(leaf.members) >= _MOST_BESIDE:
            return Template(own, " ".join(words)), False
        return self._add(own, words, leaf), True

    def _leaf(self, words: list[str]) -> _Leaf:
        length, first = len(words), words[0]
        found = self._leaves.get((length, first))
        if found is None:
            if self._firsts.get(length, 0) >= self.branches:
                first = MASK
                found = self._leaves.get((length, first))
            else:
                self._firsts[length] = self._firsts.get(length, 0) + 1
        return found or self._leaves.setdefault((length, first), _Leaf(length))

    def _add(self, id_: str, words: list[str], leaf: _Leaf) -> Template:
        made = Template(id_, " ".join(words))
        self._places[id_] = leaf, len(leaf.members)
        leaf.add(len(self._all), _codes(words))
        self._all.append(made)
        return made

    def _widen(self, id_: str, words: list[str]) -> bool:
        """Words that differ are none of the template; did it change?"""
        leaf, at = self._places[id_]
        mine = self._all[leaf.members[at]]
        before = mine.text.split(" ")
        if len(before) != len(words):
            return False
        after = [word if word == other else MASK for word, other in zip(before, words, strict=True)]
        if after == before:
            return False
        mine.text = " ".join(after)
        leaf.codes[at] = _codes(after)
        return True


def _codes(words: Sequence[str]) -> Codes:
    return np.fromiter(map(hash, words), np.int64, len(words))

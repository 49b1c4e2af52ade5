"""What is remembered of a file's bytes, to know it again: all of them where they are few, else parts of them.

The first and the last 64 KiB before the offset, and between them samples at places that do not depend on the
offset, so that they can be taken as the bytes come by and need not be read again.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable

EDGE = 64 * 1024
"Bytes at the beginning, and before the offset."
SAMPLE = 4 * 1024
_PER_DOUBLING = 4
_KEPT = 1024 * 1024
"How far back of the last byte an offset may lie: what an engine leaves is smaller, as a rule."
LEAD = 1024
"So much of the beginning is hashed by itself, to find a file among many."
_LINES = 4
_PART = "-"

ReadAt = Callable[[int, int], bytes]
"From an offset so many bytes, fewer only at the end."


class Trace:
    """Bytes that come by in order, and what has to be kept of them."""

    def __init__(self) -> None:
        self.position = 0
        self.head = b""
        self.ends_line = True
        self._samples: list[bytes] = []
        self._partial = b""
        "Of the sample that has begun."
        self._recent: deque[bytes] = deque()
        self._held = 0

    @classmethod
    def begun(cls, read_at: ReadAt, span: int) -> Trace | None:
        """As if the first `span` bytes had come by; None if there are fewer."""
        trace = cls()
        trace.head = read_at(0, min(span, EDGE))
        while (at := _sample_at(len(trace._samples))) + SAMPLE <= span:
            trace._samples.append(read_at(at, SAMPLE))
        trace._partial = read_at(at, span - at) if at < span else b""
        tail = read_at(span - EDGE, EDGE) if span > EDGE else trace.head
        trace.position = span
        trace._keep(tail)
        whole = len(trace.head) == len(tail) == min(span, EDGE) and len(trace._partial) == max(span - at, 0)
        return trace if whole and all(len(sample) == SAMPLE for sample in trace._samples) else None

    def feed(self, block: bytes) -> None:
        """The next bytes."""
        start = self.position
        if start < EDGE:
            self.head += block[: EDGE - start]
        while (at := _sample_at(len(self._samples)) + len(self._partial)) < start + len(block):
            self._partial += block[at - start : at - start + SAMPLE - len(self._partial)]
            if len(self._partial) < SAMPLE:
                break
            self._samples.append(self._partial)
            self._partial = b""
        self.position += len(block)
        self._keep(block)

    def _keep(self, block: bytes) -> None:
        if not block:
            return
        self.ends_line = block.endswith(b"\n")
        self._recent.append(block)
        self._held += len(block)
        while self._held - len(self._recent[0]) >= _KEPT + EDGE:
            self._held -= len(self._recent.popleft())

    def before(self, span: int) -> bytes | None:
        """The last bytes before an offset; None: they have been forgotten."""
        first = self.position - self._held
        start = max(span - EDGE, 0)
        if start < first or span > self.position:
            return None
        return b"".join(self._recent)[start - first : span - first]

    def fingerprint(self, span: int) -> str | None:
        """Of the bytes before an offset; None: it lies too far back."""
        tail = self.before(span)
        if tail is None:
            return None
        digest = hashlib.sha256(self.head[:span])  # in hardware, as a rule: twice as fast as others
        for number, sample in enumerate(self._samples):
            if _sample_at(number) + SAMPLE <= span:
                digest.update(sample)
        digest.update(tail[max(2 * EDGE - span, 0) :])
        return _PART.join((str(span), lead_of(self.head[: min(span, LEAD)]), digest.hexdigest()[:32]))

    def lines(self, span: int, ruling: bytes) -> str:
        """Hashes of the first and the last lines before an offset, without those that say how to read them."""
        first = [line for line in self.head[:span].split(b"\n")[: _LINES * 4] if _tells(line, ruling)]
        last = [line for line in (self.before(span) or b"").split(b"\n")[-_LINES * 4 :] if _tells(line, ruling)]
        return _PART.join(map(_hash, [*first[:_LINES], *last[-_LINES:]]))


def _sample_at(number: int) -> int:
    return int(EDGE * 2 ** ((number + 1) / _PER_DOUBLING))


def _tells(line: bytes, ruling: bytes) -> bool:
    """Headers and directives are the same in every file of a kind."""
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith(b"#") and stripped not in ruling


def _hash(line: bytes) -> str:
    return hashlib.blake2b(line.rstrip(b"\r"), digest_size=4).hexdigest()


def lead_of(head: bytes) -> str:
    """Hash of the first bytes."""
    return hashlib.blake2b(head, digest_size=8).hexdigest()


def span_of(fingerprint: str) -> int:
    """How many bytes it is of."""
    return int(fingerprint.partition(_PART)[0])


def lead_in(fingerprint: str) -> str:
    """The part that is of the first bytes alone."""
    return fingerprint.split(_PART)[1]


def verified(read_at: ReadAt, fingerprint: str) -> Trace | None:
    """The trace of a file that begins with the bytes that the fingerprint is of; None: it begins otherwise."""
    span = span_of(fingerprint)
    trace = Trace.begun(read_at, span)
    return trace if trace is not None and trace.fingerprint(span) == fingerprint else None


def verified_stream(blocks: Iterable[bytes], fingerprint: str) -> bool:
    """Does what comes block by block begin with those bytes?"""
    span = span_of(fingerprint)
    trace = Trace()
    for block in blocks:
        trace.feed(block[: span - trace.position])
        if trace.position == span:
            break
    return trace.fingerprint(span) == fingerprint


def resembles(read_at: ReadAt, lines: str, span: int) -> bool:
    """Are most of the lines still there that were remembered? Then a file was changed, and is no other one."""
    near = max(span - 2 * EDGE, 0)
    parts = (read_at(0, EDGE), read_at(near, 3 * EDGE))
    there = {_hash(line) for part in parts for line in part.split(b"\n")}
    remembered = lines.split(_PART) if lines else []
    return not remembered or 2 * sum(line in there for line in remembered) > len(remembered)

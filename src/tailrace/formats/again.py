"""Records that were refused once, decoded again from the bytes that were kept of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec
import numpy as np

from tailrace.core import Delimited, Format, Grok, Json, Jsonl, Layout, Pairs, Regex, Syslog, Table
from tailrace.formats import decoder
from tailrace.formats.base import RAW_LIMIT, Bad, Batch, Dated, Decoder, Positions, Stream
from tailrace.formats.feed import Once
from tailrace.formats.json_scan import why_invalid

LINES = "lines"
_JSON, _START, _QUOTED = "json ", "start ", "quoted "
_TOGETHER = 1024 * 1024
"Bytes of records that are decoded in one call."
_MANY = 10_000
_RAW = msgspec.json.Decoder(msgspec.Raw)
_INCOMPLETE = ("artifact: ", "member: ", "line: ", "json: cut off", "json: longer")
"Reasons of what is no record as a whole: more of its artifact has to be there."
_END = b"\r\n"
"After each line: it takes the line's own last \\r, if it has one, for part of the line."


def framing(fmt: Format) -> str | None:
    """How a format cuts records out of a stream; None where one of them says too little without the rest.

    Records that were cut out in one way can be decoded by any format that cuts in the same way, and keep their place.
    """
    if isinstance(fmt, Jsonl):
        return None if fmt.unwrap else LINES
    if isinstance(fmt, Json):
        return None if fmt.unwrap else f"{_JSON}{fmt.records}"
    if isinstance(fmt, Layout):
        return None if fmt.header or fmt.dialect == "vpc" else LINES
    if isinstance(fmt, Grok | Regex):
        return LINES if fmt.start is None else f"{_START}{fmt.start}"
    if isinstance(fmt, Syslog):
        return f"{_START}syslog"
    if isinstance(fmt, Delimited):
        by_itself = fmt.fields and not fmt.header and not fmt.optional and fmt.new_line is None
        return f"{_QUOTED}{fmt.quote}{fmt.escape}" if by_itself else None
    return LINES if isinstance(fmt, Pairs) else None


def is_whole(length: int, reason: str) -> bool:
    """Are the bytes that were kept of a record all there are of it?"""
    return length <= RAW_LIMIT and not reason.startswith(_INCOMPLETE)


@dataclass(frozen=True, slots=True)
class Again:
    """One format over kept records; reused for all of a task."""

    cut: str
    decoder: Decoder
    after: Decoder
    "For records that stand behind the first: no header is looked for."
    quote: bytes = b""

    def decode(self, raws: Sequence[bytes], positions: Positions, moment: datetime | None) -> Iterator[Batch]:
        """Batches with the places that the records had in their artifact. The bytes of a batch's rows are theirs."""
        if self.cut.startswith(_JSON):
            yield from self._values(raws, positions)
            return
        together: list[int] = []
        size = 0
        for number, raw in enumerate(raws):
            if self._is_apart(raw, int(positions[number])):
                first = not positions[number]
                yield from self._run([raw], positions[number : number + 1], moment, first=first)
                continue
            together.append(number)
            size += len(raw)
            if size > _TOGETHER or len(together) >= _MANY:
                yield from self._run([raws[n] for n in together], positions[together], moment)
                together, size = [], 0
        if together:
            yield from self._run([raws[n] for n in together], positions[together], moment)

    def _is_apart(self, raw: bytes, position: int) -> bool:
        """Beside others it could be taken for a part of them."""
        if self.cut == LINES:
            return False
        return self.cut.startswith(_START) or position == 0 or b"\n" in raw or bool(self.quote and self.quote in raw)

    def _run(
        self, raws: Sequence[bytes], positions: Positions, moment: datetime | None, *, first: bool = False
    ) -> Iterator[Batch]:
        sizes = np.array([len(raw) + len(_END) for raw in raws])
        starts = np.cumsum(sizes) - sizes
        stream: Stream = Once(b"".join([piece for raw in raws for piece in (raw, _END)]))
        if moment is not None:
            stream = Dated(stream, moment)

        def place(found: Positions) -> Positions:
            number = np.searchsorted(starts, found, side="right") - 1
            placed: Positions = positions[number] + found - starts[number]
            return placed

        for batch in (self.decoder if first else self.after).decode(stream):
            yield _moved(batch, place(batch.positions), place(np.array([b.position for b in batch.bad], np.int64)))

    def _values(self, raws: Sequence[bytes], positions: Positions) -> Iterator[Batch]:
        """Each is one record, whatever path led to it: as an array all fit the table's format."""
        valid = [number for number, raw in enumerate(raws) if _is_json(raw)]
        for start in range(0, len(valid), _MANY // 10):
            some = valid[start : start + _MANY // 10]
            yield from self._array([raws[n] for n in some], positions[some])
        for number in sorted(set(range(len(raws))).difference(valid)):
            alone = list(self._array([raws[number]], positions[number : number + 1]))
            if sum(batch.rows + len(batch.bad) for batch in alone) == 1:
                yield from alone
            else:
                bad = Bad(int(positions[number]), raws[number], len(raws[number]), why_invalid(raws[number]))
                yield Batch({}, np.empty(0, np.int64), bytes, bad=[bad])

    def _array(self, raws: Sequence[bytes], positions: Positions) -> Iterator[Batch]:
        last = len(raws) - 1
        for batch in self.decoder.decode(Once(b"[" + b",".join(raws) + b"]")):
            bad = np.array([b.position for b in batch.bad], np.int64)
            yield _moved(batch, positions[np.minimum(batch.positions, last)], positions[np.minimum(bad, last)])


def again(table: Table, fmt: Format) -> Again:
    """The engine that decodes kept records of a table; the format has a framing."""
    cut = framing(fmt)
    assert cut is not None
    made = decoder(table, fmt)
    if isinstance(fmt, Delimited):
        return Again(cut, made, decoder(table, replace(fmt, header=False)), fmt.quote.encode())
    return Again(cut, made, made)


def _moved(batch: Batch, positions: Positions, bad: Positions) -> Batch:
    refused = [replace(b, position=place) for b, place in zip(batch.bad, bad.tolist(), strict=True)]
    return replace(batch, positions=positions, bad=refused)


def _is_json(raw: bytes) -> bool:
    try:
        _RAW.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True

"""JSON documents and JSON lines → batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, Raw, UnsetType

from tailrace.core import Json, Jsonl, Table
from tailrace.formats.base import RAW_LIMIT, Bad, Batch, Decoder, Positions, Stream
from tailrace.formats.fronts import as_sent, has_fronts, moved_in, objects
from tailrace.formats.joining import joined
from tailrace.formats.json_cascade import RAW, RAWS, Cascade, Record, Rows
from tailrace.formats.json_cut import WINDOW_BYTES, Cut, Cutter, Window, is_dense
from tailrace.formats.json_fit import UNREADABLE, is_utf8
from tailrace.formats.json_shape import at_path
from tailrace.formats.json_unwrap import Tree, Unwrapped
from tailrace.formats.lines import LineBlock, cut_lines
from tailrace.formats.sniffing import Again
from tailrace.formats.tabular import records_in

WHOLE_BYTES = 4 * 1024 * 1024
"A document up to this size is decoded in one call."
_COMMAS = 400_000
"Beyond so many a text is not divided at once: it may be millions of bare numbers."
_LINES = 32_768
"A batch is handed on once it has so many rows."
_RUN_BYTES = 512 * 1024
"Text of the lines that are decoded at a time: what comes of more leaves the caches before its columns are made."
_FIRST_LINES = 500
"Lines that are decoded before all others: what is learned from them serves the rest."
_OPEN, _CLOSE = ord("{"), ord("}")
_BETWEEN = b"}{"


def json_decoder(table: Table, fmt: Json | Jsonl) -> Decoder:
    """The decoder of a table's JSON, set up once and used for many artifacts."""
    return DocumentDecoder(table, fmt) if isinstance(fmt, Json) else LineDecoder(table, fmt)


class DocumentDecoder:
    """Arrays, records under a path, single objects, and objects one after another."""

    def __init__(self, table: Table, fmt: Json) -> None:
        self._path = tuple(fmt.records.split(".")) if fmt.records else ()
        self._cascade = Cascade(table, fmt, self._path)
        self._keys = frozenset(path for path in fmt.unwrap if "." not in path)

    def decode(self, stream: Stream) -> Iterator[Batch]:
        """Batches of a document, in the order of its records; positions are ordinals."""
        window = Window(objects(records_in(stream, self._keys)))
        view, last = window.fill(WHOLE_BYTES)
        rows = self._whole(view) if last else None
        if rows is not None:
            yield self._cascade.batch(rows)
            return
        ordinal = 0

        def prove(run: bytes, array: bool) -> Rows | None:
            return self._run(b"[" + run + b"]" if array else run, array, ordinal)

        for run in Cutter(window, self._path, prove).runs():
            rows = self._singly(run, ordinal) if isinstance(run, list) else run
            ordinal += rows.records
            yield self._cascade.batch(rows)

    def _whole(self, view: bytes) -> Rows | None:
        """One call for all of a small document; None when it takes more than that."""
        if len(view) > WINDOW_BYTES and is_dense(view):
            return None
        head = view.lstrip()[:1]
        if head == b"[":
            return self._run(view, True, 0)
        return self._at_path(view) if head == b"{" and self._path else None

    def _at_path(self, view: bytes) -> Rows | None:
        cascade, path = self._cascade, self._path

        def structs() -> list[Any]:
            found: list[Any] | UnsetType = at_path(cascade.shape.document.decode(view), path)
            if isinstance(found, UnsetType):
                raise msgspec.DecodeError
            return found

        if is_utf8(view):
            rows = cascade.strict(structs, 0, lambda: at_path(cascade.raws_at.decode(view), path))
            if rows is not None:
                return rows
        if view.count(b",") > _COMMAS:
            return None
        try:
            raws = at_path(cascade.raws_at.decode(view), path)
        except UNREADABLE:
            return None
        return self._each(raws, 0) if raws is not UNSET else None

    def _each(self, records: Sequence[Record], first: int, *, strange: bool = False, opened: bool = False) -> Rows:
        """Records that did not fit as they came; `opened`: they were taken out of documents and may fit now."""
        found = self._cascade.unwrapped(records)
        if found is None and opened:
            found = Unwrapped([bytes(record) for record in records], {}, [])
        if found is not None:
            return self._cascade.inner(found, range(first, first + len(found.records)), strange=strange)
        return self._cascade.each(records, range(first, first + len(records)), strange=strange)

    def _run(self, text: bytes, array: bool, first: int) -> Rows | None:
        """Decode an array of records, or records one after another; None: it is not JSON."""
        cascade = self._cascade
        divide: Callable[[bytes], list[Raw]] = RAWS.decode if array else RAW.decode_lines
        lenient = self._path and not array and not cascade.shape.forbids  # a document would pass for an empty record
        rows = None
        if is_utf8(text):
            if self._path and not array:
                rows = self._documents(text, first)
            if rows is None and not lenient:
                rows = cascade.strict(lambda: self._decoded(text, array), first, lambda: divide(text))
        if rows is not None or text.count(b",") > _COMMAS:
            return rows
        try:
            raws = divide(text)
        except UNREADABLE:
            return None
        if array or not self._path:
            return self._each(raws, first)
        records = self._records_in(raws)
        opened = any(record is not raw for record, raw in zip(records, raws, strict=False))
        return self._each(records, first, strange=True, opened=opened)

    def _decoded(self, text: bytes, array: bool) -> list[Any]:
        shape = self._cascade.shape
        return shape.array.decode(text) if array else shape.record.decode_lines(text)

    def _documents(self, text: bytes, first: int) -> Rows | None:
        """Small documents one after another, if each of them holds records that fit."""
        cascade, path = self._cascade, self._path

        def structs() -> list[Any]:
            found = [at_path(document, path) for document in cascade.shape.document.decode_lines(text)]
            if any(records is UNSET for records in found):
                raise msgspec.DecodeError
            return [record for records in found for record in records]

        return cascade.strict(structs, first, lambda: self._records_in(RAW.decode_lines(text)))

    def _records_in(self, values: Sequence[Record]) -> list[Record]:
        """Values of the top level: an object that holds records stands for them."""
        if not self._path:
            return list(values)
        records: list[Record] = []
        for value in values:
            try:
                inner = at_path(self._cascade.raws_at.decode(value), self._path)
            except UNREADABLE:
                inner = UNSET
            records += [value] if inner is UNSET else inner
        return records

    def _singly(self, cuts: list[Cut], ordinal: int) -> Rows:
        """Values that were cut out one by one, and stretches that are none."""
        records: list[Record] = []
        positions: list[int] = []
        envelopes: dict[int, Tree] = {}
        bad: list[Bad] = []
        for cut in cuts:
            if cut.reason is not None:
                bad.append(Bad(ordinal, cut.raw[:RAW_LIMIT], cut.length, cut.reason))
                ordinal += 1
                continue
            inner: Sequence[Record] = self._records_in([cut.raw]) if cut.alone else [cut.raw]
            found = self._cascade.unwrapped(inner)
            if found is not None:
                envelopes |= {len(records) + row: envelope for row, envelope in found.envelopes.items()}
                inner = found.records
            positions += range(ordinal, ordinal + len(inner))
            records += inner
            ordinal += len(inner)
        strange = bool(self._path) and cuts[0].alone
        rows = self._cascade.each(records, positions, strange=strange, envelopes=envelopes)
        rows.bad = sorted(rows.bad + bad, key=lambda b: b.position)
        rows.records += len(bad)
        return rows


class LineDecoder:
    """One object per line."""

    def __init__(self, table: Table, fmt: Jsonl) -> None:
        self._cascade = Cascade(table, fmt)
        self._step = _FIRST_LINES

    def decode(self, stream: Stream) -> Iterator[Batch]:
        """Batches of lines; positions are their byte offsets."""
        whole = Again(stream)
        fronts = has_fronts(whole)
        for sent in cut_lines(whole):
            block = moved_in(sent) if fronts else sent
            batches: list[Batch] = []
            start = 0
            while start < len(block) or not start:
                end = min(start + self._step, len(block))
                rows = self._rows(block, start, end)
                rows.bad = block.bad + rows.bad if start == 0 else rows.bad
                batch = self._cascade.batch(rows)
                batches.append(as_sent(batch, sent) if fronts else batch)
                start, self._step = max(end, 1), _run_of(block)
                if sum(batch.rows for batch in batches) >= _LINES:
                    yield joined(batches)
                    batches = []
            if batches:
                yield joined(batches)

    def _rows(self, block: LineBlock, first: int, end: int) -> Rows:
        starts, ends = block.starts[first:end], block.ends[first:end]
        filled = np.flatnonzero(ends > starts)
        rows = self._strict(block, first, starts[filled], ends[filled], filled) if not block.originals else None
        if rows is None:
            numbers = [n for n in range(first, end) if block.raw(n).strip()]
            rows = self._each([block.raw(n) for n in numbers], block.positions[numbers].tolist())
            rows.skipped = end - first - len(numbers)
        else:
            rows.skipped = end - first - rows.records
        return rows

    def _each(self, lines: Sequence[bytes], offsets: list[int]) -> Rows:
        if any(_BETWEEN in line for line in lines):
            divided = [
                (record, at + n) for line, at in zip(lines, offsets, strict=True) for n, record in _divided(line)
            ]
            lines, offsets = [record for record, _ in divided], [place for _, place in divided]
        found = self._cascade.unwrapped(lines)
        if found is None:
            return self._cascade.each(lines, offsets)
        # A line has more bytes than it can hold records: the places stay apart.
        return self._cascade.inner(found, [offsets[line] + part for line, part in found.origins])

    def _strict(
        self, block: LineBlock, first: int, starts: Positions, ends: Positions, filled: Positions
    ) -> Rows | None:
        """All lines in one call. Each must be one object: no value has a line end between } and {."""
        data = np.frombuffer(block.buffer, np.uint8)
        if not len(filled) or (data[starts] != _OPEN).any() or (data[ends - 1] != _CLOSE).any():
            return None
        text = block.buffer[starts[0] : ends[-1]]
        rows = self._cascade.strict(
            lambda: self._cascade.shape.record.decode_lines(text),
            block.positions[first + filled],
            lambda: [block.raw(first + n) for n in filled.tolist()],
        )
        return rows if rows is not None and len(rows.structs) == len(filled) else None


def _divided(line: bytes) -> list[tuple[int, bytes]]:
    """Objects that a line holds one right after another, with their places: some writers leave out the line ends."""
    try:
        found = [bytes(raw) for raw in RAW.decode_lines(line)] if _BETWEEN in line else [line]
    except UNREADABLE:
        found = [line]
    if len(found) < 2 or any(raw[:1] != b"{" for raw in found):
        return [(0, line)]
    starts = accumulate(map(len, found), initial=0)
    return list(zip(starts, found, strict=False))


def _run_of(block: LineBlock) -> int:
    """How many of its lines are decoded at a time."""
    return max(1, min(_LINES, _RUN_BYTES * len(block) // (len(block.buffer) + 1)))

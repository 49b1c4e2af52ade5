"""The XML engine: elements of one name, wherever they stand → batches of a table's columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.parsers import expat

import msgspec

from tailrace.core import Json, Table, Xml
from tailrace.formats.base import RAW_LIMIT, Bad, Batch, Stream
from tailrace.formats.json_cascade import Cascade
from tailrace.formats.json_unwrap import Unwrapped
from tailrace.formats.xml_cut import Cutter, Piece
from tailrace.formats.xml_tree import Builder

_AT_ONCE = 2_000
_DECLARED = re.compile(rb"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_UTF8 = frozenset({"utf-8", "utf8", "us-ascii", "utf-16", "utf-16le", "utf-16be"})
"Streams in UTF-16 have been recoded before."


class XmlDecoder:
    """Reads records cut out of any document; positions are their byte offsets."""

    def __init__(self, table: Table, fmt: Xml) -> None:
        self._record = fmt.record
        self._builder = Builder(fmt.named)
        self._cascade = Cascade(table, Json(keys=fmt.keys, field_map=fmt.field_map))

    def decode(self, stream: Stream) -> Iterator[Batch]:
        """Batches in order of the stream."""
        waiting: list[Piece] = []
        cutter = Cutter(self._record)
        encoding: str | None = None
        for piece in cutter.cut(stream):
            encoding = encoding or _encoding(cutter.head)
            waiting.append(piece)
            if len(waiting) >= _AT_ONCE or cutter.fresh:
                yield self._batch(waiting, encoding)
                waiting = []
        if waiting:
            yield self._batch(waiting, encoding or "utf-8")

    def _batch(self, pieces: list[Piece], encoding: str) -> Batch:
        records: list[bytes] = []
        sent: dict[int, bytes] = {}
        bad: list[Bad] = []
        for piece in pieces:
            if piece.reason is None:
                try:
                    tree = self._builder.build(_recoded(piece.raw, encoding))
                    records.append(msgspec.json.encode(tree))
                    sent[piece.position] = piece.raw
                    continue
                except (expat.ExpatError, RecursionError) as error:
                    reason = f"xml: {error}"
            else:
                reason = piece.reason
            bad.append(Bad(piece.position, piece.raw[:RAW_LIMIT], piece.length, reason))
        rows = self._cascade.inner(Unwrapped(records, {}, []), list(sent))
        batch = self._cascade.batch(rows)
        positions = batch.positions
        batch.raw = lambda row: sent[int(positions[row])]
        batch.bad = sorted(batch.bad + bad, key=lambda b: b.position)
        return batch


def _encoding(head: bytes) -> str:
    declared = _DECLARED.match(head)
    name = declared[1].decode().lower() if declared else "utf-8"
    try:
        b"".decode(name)
    except LookupError:
        return "utf-8"
    return "utf-8" if name in _UTF8 else name


def _recoded(raw: bytes, encoding: str) -> bytes:
    if encoding == "utf-8":
        return raw
    return raw.decode(encoding, errors="replace").encode()

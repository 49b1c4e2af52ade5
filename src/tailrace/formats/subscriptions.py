"""Lines as CloudWatch Logs hands them on: inside JSON as `message`, or with the time of each before it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tailrace.core import Common, Json, Table, col
from tailrace.formats.base import Bad, Stream
from tailrace.formats.fronts import EXPORTED, exported
from tailrace.formats.json_decode import json_decoder

_FORMAT = Json(records="logEvents", unwrap=("events",))
_EVENTS = Table("subscription", "", _FORMAT, (col("message"),), Common(time=()))


class Messages:
    """The messages of a subscription, a command's answer or an export, a line each; any other stream as it is."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.bad: list[Bad] = []
        "What is no document, known once the lines have ended."

    @property
    def truncated(self) -> bool:
        return self._stream.truncated

    def __iter__(self) -> Iterator[bytes]:
        blocks = iter(self._stream)
        first = next(blocks, b"")
        whole = _Blocks(chain([first], blocks))
        if first.lstrip()[:1] == b"{":
            return self._lines(whole)
        return iter(exported(whole) if EXPORTED.match(first) else whole)

    def _lines(self, documents: _Blocks) -> Iterator[bytes]:
        for batch in json_decoder(_EVENTS, _FORMAT).decode(documents):
            self.bad += batch.bad
            texts = [text for text in batch.columns["message"].to_pylist() if text] if batch.rows else []
            if texts:
                yield "\n".join((*texts, "")).encode()


class _Blocks:
    truncated = False

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks

    def __iter__(self) -> Iterator[bytes]:
        return self._blocks

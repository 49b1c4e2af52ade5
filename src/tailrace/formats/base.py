"""What every engine speaks: a stream of bytes goes in, batches of typed columns come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Positions = npt.NDArray[np.int64]
RAW_LIMIT = 64 * 1024
"How much of a bad record is kept in the quarantine."


class CorruptStream(Exception):
    """The bytes cannot be what they claim (bad checksum, broken member): nothing of the artifact may be stored."""


class Bomb(CorruptStream):
    """Out of all proportion to the bytes stored: nothing more of the artifact is read, other members included."""


class Stream(Protocol):
    """Decompressed bytes of one artifact or archive member, in blocks of at most 4 MB."""

    @property
    def truncated(self) -> bool:
        """Set once the blocks have ended and the compressed data was cut off before its own end."""

    def __iter__(self) -> Iterator[bytes]: ...


@dataclass(frozen=True, slots=True)
class Dated:
    """A stream whose artifact has a time of its own, which tells the year where lines leave it out."""

    stream: Stream
    moment: datetime
    "UTC, without zone."

    @property
    def truncated(self) -> bool:
        return self.stream.truncated

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.stream)


class Growing:
    """A stream that more may be written to: engines leave what may not be whole yet to a later reading."""

    def __init__(self, stream: Stream, is_final: Callable[[], bool], ruling: bytes = b"") -> None:
        self.stream = stream
        self.ruling = ruling
        "Header lines that rule the first records, and, once it was read, those that rule what comes after."
        self.rest: int | None = None
        "Where that begins which was left; None: everything was read."
        self.goes_on = True
        "Whether a later reading can begin where this one ended."
        self._is_final = is_final
        self._final: bool | None = None

    @property
    def truncated(self) -> bool:
        return self.stream.truncated

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.stream)

    def leaves(self, position: int) -> bool:
        """At the end: is what begins there left? Else it is a record, as it is."""
        if self._final is None:
            self._final = self._is_final()
        if not self._final:
            self.rest = position
        return not self._final


def growing(stream: Stream) -> Growing | None:
    """The stream, if it is one that grows."""
    while not isinstance(stream, Growing):
        inner = getattr(stream, "stream", None)
        if inner is None:
            return None
        stream = inner
    return stream


def moment_of(stream: Stream) -> datetime:
    """The artifact's own time, or now."""
    while not isinstance(stream, Dated):
        inner = getattr(stream, "stream", None)
        if inner is None:
            return datetime.now(UTC).replace(tzinfo=None)
        stream = inner
    return stream.moment


@dataclass(frozen=True, slots=True)
class Bad:
    """A record that cannot be stored: where it stands, its bytes (at most RAW_LIMIT of them) and why."""

    position: int
    raw: bytes
    length: int
    "Bytes of the whole record."
    reason: str
    "A stable word and detail: `json: invalid`, `layout: no match`, `line: longer than 16777216 bytes`."


@dataclass(slots=True)
class Batch:
    """Rows decoded together. `rows + len(bad) + skipped` is the number of records read."""

    columns: dict[str, pa.Array]
    """By table column name, in its stored type (constant columns may be dictionary arrays of it);
    plus, as text, the source fields that `sql` columns refer to."""
    positions: Positions
    "Per row: byte offset of its line in the decompressed stream, or ordinal of its JSON record."
    raw: Callable[[int], bytes]
    """The bytes of row i as they were sent: called only for rows that are refused later, so it may be slow;
    valid until the next batch is asked for."""
    extra: pa.Array | None = None
    "JSON text per row with fields that have no column and `tp_misfit`; None = no row has any."
    flagged: int = 0
    "Rows whose extra holds `tp_misfit`."
    bad: list[Bad] = field(default_factory=list)
    skipped: int = 0
    "Header, comment and blank lines."
    fields: tuple[str, ...] | None = None
    "What the records have, where a header or the format names it."

    @property
    def rows(self) -> int:
        return len(self.positions)


class Decoder(Protocol):
    """One engine, set up for one table and format; reused for every artifact of a task."""

    def decode(self, stream: Stream) -> Iterator[Batch]: ...

"""A task that decodes what listeners have taken in: bodies that are in memory, with who sent them and when."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import Artifact, Format, Json, Jsonl, Otlp, Parquet, Syslog, Table, TailraceError
from tailrace.core.arrivals import JSON, OTLP, SYSLOG, Arrived, Sent
from tailrace.core.arrow import arrow_type
from tailrace.formats.again import LINES, framing
from tailrace.formats.base import RAW_LIMIT, Bad, Batch, Dated
from tailrace.formats.feed import Feed, read_blocks
from tailrace.formats.syslog import is_start
from tailrace.pipeline.job import Job, Outcome, Unit, UnitResult
from tailrace.pipeline.shape import ARRIVED, Origin
from tailrace.pipeline.unit import Task

WORKSPACE, SENDER = "workspace_id", "source_ip"
"Columns, where a table has them, that the listener knows."
_MOMENT = pa.timestamp("ms")
_TIME = pa.timestamp("us")


def live_format(table: Table, form: str, given: Format | None) -> Format:
    """How bodies of a form are read: as the sink says, else as the table does where that can be, else as they come."""
    own = table.format
    if form == OTLP:
        return Otlp()
    if form not in (JSON, SYSLOG):
        return Parquet()
    if given is not None:
        return given
    if form == JSON:
        if isinstance(own, Json):
            return Jsonl(own.keys, own.field_map, own.unwrap)
        return own if isinstance(own, Jsonl) else Jsonl()
    is_text = framing(own) is not None and not isinstance(own, Json | Jsonl)
    return own if is_text else Syslog()


@dataclass(frozen=True, slots=True)
class Piece:
    """What one call of an engine decodes."""

    data: bytes
    starts: Sequence[int]
    "Positions, as the engine counts them, at which something begins that was sent by itself."
    sent: Sequence[Sent]


def pieces(arrived: Arrived, fmt: Format, *, apart: bool) -> Iterator[Piece]:
    """As few as may be: small bodies are joined where the format cannot take one for a part of another."""
    if arrived.starts is not None:
        (data,) = arrived.bodies
        yield Piece(data, arrived.starts, arrived.sent)
        return
    together: list[tuple[bytes, Sent]] = []
    for body, sent in zip(arrived.bodies, arrived.sent, strict=True):
        if not apart and _joins(body, arrived.form, fmt):
            together.append((body, sent))
        else:
            yield Piece(body, [0], [sent])
    if together:
        sizes = np.fromiter((len(body) + 1 for body, _ in together), np.int64, len(together))
        starts = (np.cumsum(sizes) - sizes).tolist()
        yield Piece(b"\n".join(body for body, _ in together), starts, [sent for _, sent in together])


def _joins(body: bytes, form: str, fmt: Format) -> bool:
    if form == JSON:
        return isinstance(fmt, Jsonl)
    if form == OTLP or b"\n" in body:
        return False
    return is_start(body) if isinstance(fmt, Syslog) else framing(fmt) == LINES


@dataclass(frozen=True, slots=True)
class Live:
    """What came to one listener in one form, and how much came before."""

    arrived: Arrived
    base: int
    "No position of a row so far is as great."

    @property
    def size(self) -> int:
        """What positions grow by."""
        return sum(len(body) + 1 for body in (*self.arrived.bodies, *(bad.raw for bad in self.arrived.refused)))


class LiveTask(Task):
    """One unit whose artifacts are what came to listeners. `apart`: a body that no engine can bear is found."""

    def __init__(self, job: Job, unit: Unit, given: Sequence[Live], *, apart: bool) -> None:
        super().__init__(job, unit, {}, verify=False)
        self.given = given
        self.apart = apart
        self.facts = _Facts(job.table)
        self.waste.says_all = False  # decoded again, rows would be whose they claim to be

    def _read(self, number: int, artifact: Artifact, outcome: Outcome) -> None:
        live, origin = self.given[number], self.origin(number, None)
        base = live.base
        for piece in pieces(live.arrived, self.job.formats[number], apart=self.apart):
            if not self.apart or self._is_borne(number, piece, origin, base):
                for batch in self._decoded(number, piece):
                    self.take(origin, self.facts.added(batch, piece, base))
            base += len(piece.data) + 1
        for raw, reason in live.arrived.refused:
            self._refuse(origin, base, raw, reason)
            base += len(raw) + 1

    def _decoded(self, number: int, piece: Piece) -> Iterable[Batch]:
        moment = datetime.fromtimestamp(piece.sent[-1].received_at / 1000, UTC).replace(tzinfo=None)
        return self.decoders[number].decode(Dated(Feed(read_blocks(io.BytesIO(piece.data))), moment))

    def _is_borne(self, number: int, piece: Piece, origin: Origin, base: int) -> bool:
        """Can it be decoded to its end? If not it is refused as a whole, before a row of it is taken."""
        try:
            for _ in self._decoded(number, piece):
                continue
        except Exception as error:
            self._refuse(origin, base, piece.data, f"artifact: {type(error).__name__}: {error}")
            return False
        return True

    def _refuse(self, origin: Origin, position: int, raw: bytes, reason: str) -> None:
        bad = Bad(position, raw[:RAW_LIMIT], len(raw), reason)
        self.take(origin, Batch({}, np.empty(0, np.int64), bytes, bad=[bad]))


class _Facts:
    """What is known of rows beside what they say."""

    def __init__(self, table: Table) -> None:
        columns = {c.name: c for c in table.columns}
        self.types = {n: arrow_type(columns[n].type) if n in columns else pa.string() for n in (WORKSPACE, SENDER)}

    def added(self, batch: Batch, piece: Piece, base: int) -> Batch:
        """The batch with its places in all that ever came, and with what the listener knows of its rows."""
        which = np.searchsorted(np.asarray(piece.starts, np.int64), batch.positions, side="right") - 1
        received = pa.array([sent.received_at for sent in piece.sent], pa.int64()).cast(_MOMENT).cast(_TIME)
        facts = {ARRIVED: _taken(received, which)}
        workspaces = pa.array([sent.workspace for sent in piece.sent], pa.uint64())
        # A tenant is who the listener knows, whatever the rows say of themselves.
        facts[WORKSPACE] = _taken(_fit(workspaces, self.types[WORKSPACE]), which)
        senders = _fit(pa.array([sent.source_ip for sent in piece.sent], pa.string()), self.types[SENDER])
        facts[SENDER] = _taken(senders, which)
        if SENDER in batch.columns:
            facts[SENDER] = pc.coalesce(batch.columns[SENDER], facts[SENDER])
        bad = [replace(one, position=one.position + base) for one in batch.bad]
        return replace(batch, columns={**batch.columns, **facts}, positions=batch.positions + base, bad=bad)


def _fit(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Null throughout where a column of that name can hold no such thing."""
    try:
        return values.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(values), kind)


def _taken(values: pa.Array, which: npt.NDArray[np.int64]) -> pa.Array:
    return values.take(pa.array(which))


def run_live(job: Job, unit: Unit, given: Sequence[Live]) -> UnitResult:
    """Decodes and writes; what an engine fails at is refused, and holds up nothing else."""
    for apart in (False, True):
        task = LiveTask(job, unit, given, apart=apart)
        try:
            return task.run()
        except BaseException as error:
            task.discard()
            if apart or isinstance(error, TailraceError | OSError) or not isinstance(error, Exception):
                raise
    raise AssertionError

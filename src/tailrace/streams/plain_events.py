"""Events whose payload is their `properties` and nothing else: few objects each, made into columns by thousands."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.streams.kinds import EVENT_TYPES
from tailrace.streams.line_ids import binary, optional_ids, required_ids

_KNOWN = frozenset(EVENT_TYPES)
_OPENING = ord("{")


class PlainEvent(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, gc=False):
    """An event without anything that would have to be merged into its payload."""

    type: str
    device_id: str
    properties: msgspec.Raw
    timestamp: int | None = None
    event: str | None = None
    session_id: str | None = None


_DECODER = msgspec.json.Decoder(PlainEvent)


def plain_events(body: bytes) -> list[PlainEvent] | None:
    """The lines of a body; None = some are not plain, or no events at all."""
    try:
        return _DECODER.decode_lines(body)
    except (msgspec.MsgspecError, RecursionError):
        return None


def plain_columns(lines: Sequence[PlainEvent], arrived: npt.NDArray[np.int64]) -> dict[str, pa.Array] | None:
    """Their columns; an event without a time has that of its arrival. None = one of them is not plain after all."""
    devices = required_ids([line.device_id for line in lines])
    payload = _payload([line.properties for line in lines])
    try:
        moments = pa.array([line.timestamp for line in lines], pa.int64())
    except (OverflowError, pa.ArrowException):
        return None
    if devices is None or payload is None:
        return None
    types = [line.type for line in lines]
    if not _KNOWN.issuperset(types):
        types = [name if name in _KNOWN else EVENT_TYPES[0] for name in types]
    return {
        "timestamp": pc.coalesce(moments, pa.array(arrived)) if moments.null_count else moments,
        "event_type": pa.array(types, pa.string()),
        "event_name": pa.array([line.event for line in lines], pa.string()),
        "device_id": binary(devices),
        "session_id": optional_ids([line.session_id for line in lines]),
        "payload": payload,
        "document": payload,
    }


def _payload(given: Sequence[msgspec.Raw]) -> pa.Array | None:
    """Documents as they were sent, if all are objects."""
    whole = b"".join(given)
    offsets = np.zeros(len(given) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, given), np.int32, len(given)), out=offsets[1:])
    if (np.frombuffer(whole, np.uint8)[offsets[:-1]] != _OPENING).any():
        return None
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(whole)]
    return pa.Array.from_buffers(pa.binary(), len(given), buffers, null_count=0)

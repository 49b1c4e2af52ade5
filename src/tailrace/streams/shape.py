"""Decoded rows → rows of a sink: times held against the rules, payloads in the sink's form, sorted by file and time."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.streams.flat_batches import undecodable
from tailrace.streams.kinds import EVENTS, schema
from tailrace.streams.ordering import taken
from tailrace.streams.sink_options import SinkOptions

AHEAD = 86_400_000
"Milliseconds that a time may lie behind its arrival."
PERIOD = "period"
_ANY = msgspec.json.Decoder(msgspec.Raw)
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
Moments = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Shaped:
    """Rows of a kind in the columns of the sink and `period`, sorted by workspace, period and time."""

    table: pa.Table
    refused: pa.Table
    "Decoded rows that may not be stored, with `reason`."
    late: int
    "Rows whose period was over when they arrived."


def shape(kind: str, decoded: pa.Table, options: SinkOptions) -> Shaped:
    """Rows that may be stored, and those that may not."""
    stamps = decoded["timestamp"].to_numpy()
    arrived = decoded["batch_timestamp"].to_numpy()
    reasons = _refusals(stamps, arrived, options)
    good = reasons == 0
    refused = decoded.filter(pa.array(~good)).append_column("reason", _words(reasons[~good]))
    kept = decoded if good.all() else decoded.filter(pa.array(good))
    stamps, arrived = stamps[good], arrived[good]
    by_arrival = options.partition_by == "processing_time"
    period = (arrived if by_arrival else stamps) // options.period * options.period
    table = _stored(kind, kept, options).append_column(PERIOD, pa.array(period, pa.int64()))
    order = np.lexsort((stamps, period, kept["workspace_id"].to_numpy()))
    late = int(np.count_nonzero(period + options.period <= arrived))
    return Shaped(taken(table, order), refused, late)


_REASONS = (
    "",
    "time: none",
    "time: outside of what can be stored",
    "time: more than a day ahead",
    "time: later than max_lateness",
)


def _refusals(stamps: Moments, arrived: Moments, options: SinkOptions) -> npt.NDArray[np.int8]:
    lateness = int(options.max_lateness.total_seconds() * 1000)
    reasons = np.zeros(len(stamps), np.int8)
    if options.partition_by == "event_time":
        reasons[stamps < arrived - lateness] = 4
        reasons[stamps > arrived + AHEAD] = 3
    reasons[stamps < 0] = 2
    reasons[stamps == 0] = 1
    return reasons


def _words(reasons: npt.NDArray[np.int8]) -> pa.Array:
    return pa.array(_REASONS, pa.string()).take(pa.array(reasons.astype(np.int32)))


def _stored(kind: str, rows: pa.Table, options: SinkOptions) -> pa.Table:
    wanted = schema(kind, options.workspace_id_type, options.data_format)
    if options.data_format == "json":
        documents = as_json(rows["payload"].combine_chunks(), rows["document"].combine_chunks())
        if kind == EVENTS:
            documents = _with_service(documents, rows["service"].combine_chunks())
        rows = rows.set_column(rows.schema.get_field_index("payload"), "payload", documents)
    return rows.select(wanted.names).cast(wanted)


def as_json(payload: pa.Array, document: pa.Array) -> pa.Array:
    """Payloads that are JSON as they are; text as `{"message": …}`, other bytes as `{"base64": …}`."""
    if not document.null_count:
        return document
    unknown = document.is_null()
    given = payload.filter(unknown)
    return pc.replace_with_mask(document, unknown, given if _all_json(given) else _as_json_each(given))


def _all_json(texts: pa.Array) -> bool:
    """Is each of them JSON? Looked at together, which tells nothing where line ends stand inside."""
    if not len(texts) or pc.min(pc.binary_length(texts)).as_py() == 0:
        return False
    if pc.any(pc.match_substring(texts, b"\n")).as_py() or undecodable(texts).any():
        return False
    (joined,) = pc.binary_join(pa.ListArray.from_arrays([0, len(texts)], texts), b"\n")
    try:
        return len(_ANY.decode_lines(joined.as_buffer())) == len(texts)
    except (msgspec.MsgspecError, RecursionError):
        return False


def _as_json_each(texts: pa.Array) -> pa.Array:
    given = texts.to_pylist()
    wrapped = (_wrapped(text, bool(bad)) for text, bad in zip(given, undecodable(texts), strict=True))
    return pa.array([text if new is None else new for text, new in zip(given, wrapped, strict=True)], pa.binary())


def _wrapped(text: bytes, is_binary: bool) -> bytes | None:
    """None = it is JSON already."""
    if is_binary:
        return msgspec.json.encode({"base64": base64.b64encode(text).decode()})
    if not text:
        return b"{}"
    try:
        _ANY.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return msgspec.json.encode({"message": text.decode()})
    return None


def _with_service(documents: pa.Array, service: pa.Array) -> pa.Array:
    """The service of an event has no column: it joins the payload, unless something of that name is there."""
    given = service.is_valid()
    if not pc.any(given).as_py():
        return documents
    plain = pc.and_(given, pc.starts_with(documents, b'{"'))
    plain = pc.and_(plain, pc.invert(pc.match_substring(documents, b'"service"')))
    coded = service.filter(plain).dictionary_encode()
    encoded = [msgspec.json.encode(name) for name in coded.dictionary.to_pylist()]
    names = pa.array(encoded, pa.binary()).take(coded.indices)
    # `binary_slice` without an end asks for a negative number of bytes once there are many values.
    rests = pc.binary_replace_slice(documents.filter(plain), start=0, stop=1, replacement=b"")
    fronts = [pa.scalar(b'{"service":', pa.binary()), names, pa.scalar(b",", pa.binary()), rests]
    joined = pc.binary_join_element_wise(*fronts, pa.scalar(b"", pa.binary()))
    documents = pc.replace_with_mask(documents, plain, joined)
    odd = pc.and_(given, pc.invert(plain))
    others = zip(documents.filter(odd).to_pylist(), service.filter(odd).to_pylist(), strict=True)
    return pc.replace_with_mask(documents, odd, pa.array([_merged(text, name) for text, name in others], pa.binary()))


def _merged(text: bytes, service: str) -> bytes:
    try:
        fields = _FIELDS.decode(text)
    except msgspec.MsgspecError:  # JSON, but no object
        fields = {"value": msgspec.Raw(text)}
    fields.setdefault("service", msgspec.Raw(msgspec.json.encode(service)))
    return msgspec.json.encode(fields)

"""OTLP logs as nested Arrow → OTAP tables: what is nested is there already, and is told apart by its offsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats import otlp_wire as wire
from tailrace.windows import schema
from tailrace.windows.schema import ATTRS, BODY, EMPTY, LOGS, NANOS, RESOURCE, SCOPE, VALUE_FIELDS, Tables
from tailrace.windows.values import as_cbor

Ints = npt.NDArray[np.int64]
_CODES = {
    "str": schema.STR, "bool": schema.BOOL, "int": schema.INT, "double": schema.DOUBLE, "bytes": schema.BYTES,
    "array": schema.SLICE, "kvlist": schema.MAP,
}  # fmt: skip
_WIDTHS = {"trace_id": 16, "span_id": 8}


class Odd(Exception):
    """Something that is not stored as it is: whoever reads field by field says what and why."""


@dataclass(frozen=True, slots=True)
class _Lists:
    """What is in lists, and whose each is."""

    values: pa.StructArray
    owner: Ints

    @classmethod
    def of(cls, lists: pa.ListArray) -> _Lists:
        offsets = lists.offsets.to_numpy()
        held = lists.values.slice(offsets[0], offsets[-1] - offsets[0])
        return cls(held, np.repeat(np.arange(len(lists)), np.diff(offsets)))


def flattened(resources: pa.RecordBatch) -> Tables:
    """The logs of a run of resources; ids count from zero."""
    scopes = _Lists.of(resources["scopes"])
    records = _Lists.of(scopes.values.field("records"))
    columns, log_attrs = _logs(records.values)
    resource, resource_attrs = _resources(resources)
    scope, scope_attrs = _scopes(scopes.values)
    columns |= {
        "resource": resource.take(pa.array(scopes.owner[records.owner])),
        "scope": scope.take(pa.array(records.owner)),
        "schema_url": _said(scopes.values.field("schema_url")).take(pa.array(records.owner)),
    }
    kept = np.flatnonzero(np.bincount(records.owner))
    return Tables(
        pa.table([columns[field.name] for field in LOGS], schema=LOGS),
        log_attrs,
        of_owners(resource_attrs, np.unique(scopes.owner[kept])),
        of_owners(scope_attrs, kept),
    )


def _logs(records: pa.StructArray) -> tuple[dict[str, pa.Array], pa.Table]:
    pairs = _Lists.of(records.field("attributes"))
    having = np.zeros(len(records), bool)
    having[pairs.owner] = True
    ids = np.where(having, np.cumsum(having) - 1, -1)
    columns = {
        "id": pa.array(ids, mask=~having).cast(pa.uint32()),
        "time_unix_nano": records.field("time").view(NANOS),
        "observed_time_unix_nano": records.field("observed").view(NANOS),
        **{name: _identifiers(records.field(name), width) for name, width in _WIDTHS.items()},
        "severity_number": _severities(records.field("severity_number")),
        "severity_text": _said(records.field("severity_text")),
        "body": _bodies(records.field("body")),
        "dropped_attributes_count": records.field("dropped"),
        "event_name": _said(records.field("event_name")),
        "flags": records.field("flags"),
    }
    return columns, _attributes(pairs, ids[pairs.owner])


def _resources(resources: pa.RecordBatch) -> tuple[pa.StructArray, pa.Table]:
    held = resources["resource"]
    pairs = _Lists.of(held.field("attributes"))
    columns = [
        pa.array(np.arange(len(held)), pa.uint32()),
        _said(resources["schema_url"]),
        _where(held, held.field("dropped")),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(RESOURCE)), _attributes(pairs, pairs.owner)


def _scopes(scopes: pa.StructArray) -> tuple[pa.StructArray, pa.Table]:
    held = scopes.field("scope")
    pairs = _Lists.of(held.field("attributes"))
    columns = [
        pa.array(np.arange(len(held)), pa.uint32()),
        *(_said(_where(held, held.field(name))) for name in ("name", "version")),
        _where(held, held.field("dropped")),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(SCOPE)), _attributes(pairs, pairs.owner)


def of_owners(attributes: pa.Table, owners: Ints) -> pa.Table:
    """Those of resources or scopes that have logs."""
    parents = attributes["parent_id"].to_numpy().astype(np.int64)
    wanted = np.zeros(int(parents.max(initial=-1)) + 1, bool)
    wanted[owners[owners < len(wanted)]] = True
    return attributes if (inside := wanted[parents]).all() else attributes.filter(pa.array(inside))


def _attributes(pairs: _Lists, parents: Ints) -> pa.Table:
    columns = _values(pairs.values.field("value"))
    values = [columns[field.name] for field in VALUE_FIELDS]
    return pa.table([pa.array(parents, pa.uint32()), pairs.values.field("key"), *values], schema=ATTRS)


def _bodies(values: pa.StructArray) -> pa.StructArray:
    columns = _values(values)
    empty = pc.equal(columns["type"], pa.scalar(EMPTY, pa.uint8()))
    return pa.StructArray.from_arrays([columns[f.name] for f in VALUE_FIELDS], fields=list(BODY), mask=empty)


def _values(values: pa.StructArray) -> dict[str, pa.Array]:
    """Columns of values; Odd where one of them has several."""
    held = {name: _once(values.field(name)) for name in _CODES}
    types = np.full(len(values), EMPTY, np.uint8)
    told = 0
    for name, array in held.items():
        if count := len(array) - array.null_count:
            types[array.is_valid().to_numpy(zero_copy_only=False)] = _CODES[name]
            told += count
    if told != np.count_nonzero(types):
        raise Odd
    return {
        "type": pa.array(types),
        **{name: held[name] for name in ("str", "int", "double", "bool", "bytes")},
        "ser": _serialised(held["array"], held["kvlist"]),
    }


def _once(values: pa.Array) -> pa.Array:
    """Lists and maps are told piece by piece; Odd where one has several."""
    if not pa.types.is_list(values.type):
        return values
    lengths = np.diff(values.offsets.to_numpy())
    there = lengths == 1
    if (lengths > 1).any():
        raise Odd
    if not there.any():
        return pa.nulls(len(values), values.type.value_type)
    return values.flatten().take(pa.array(np.cumsum(there) - 1, mask=~there))


def _serialised(lists: pa.Array, maps: pa.Array) -> pa.Array:
    parts = []
    for bodies, number in ((lists, wire.ARRAY), (maps, wire.KVLIST)):
        if bodies.null_count < len(bodies):
            made = as_cbor(bodies, number)
            if made.null_count > bodies.null_count:
                raise Odd
            parts.append(made)
    if not parts:
        return pa.nulls(len(lists), pa.binary())
    return parts[0] if len(parts) == 1 else pc.coalesce(*parts)


def _said(texts: pa.Array) -> pa.Array:
    """Texts; an empty one is none."""
    empty = pc.equal(pc.binary_length(texts), 0)
    if not empty.true_count:
        return texts
    return pc.if_else(empty, pa.scalar(None, texts.type), texts)


def _where(held: pa.StructArray, values: pa.Array) -> pa.Array:
    """Null where what it belongs to is not there."""
    return pc.if_else(held.is_valid(), values, pa.scalar(None, values.type)) if held.null_count else values


def _severities(values: pa.Array) -> pa.Array:
    numbers = values.to_numpy()
    return pa.array(numbers, mask=numbers == 0)


def _identifiers(values: pa.Array, width: int) -> pa.Array:
    """Bytes of ids; one of zeros is none. Odd where one has another length."""
    sizes = pc.binary_length(values).to_numpy(zero_copy_only=False)
    filled = sizes == width
    if not (filled | (sizes == 0)).all():
        raise Odd
    size = int(filled.sum())
    if not size:
        return pa.nulls(len(values), pa.binary(width))
    # Empty ones take no room: those that are there lie behind each other.
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset :]
    data = np.frombuffer(values.buffers()[2], np.uint8)[offsets[0] : offsets[0] + size * width].reshape(size, width)
    spread = np.zeros((len(values), width), np.uint8)
    spread[filled] = data
    zero = ~spread.any(axis=1)
    valid = None if not zero.any() else pa.array(~zero).buffers()[1]
    return pa.Array.from_buffers(pa.binary(width), len(values), [valid, pa.py_buffer(spread)])

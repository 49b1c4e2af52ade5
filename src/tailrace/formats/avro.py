"""The Avro engine: records of object container files → batches of a table's columns."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import fastavro
import msgspec
from fastavro.read import LOGICAL_READERS

from tailrace.core import Avro, Json, Table
from tailrace.formats.avro_container import Block, read_blocks, read_header
from tailrace.formats.base import RAW_LIMIT, Bad, Batch, CorruptStream, Stream
from tailrace.formats.byte_window import ByteWindow
from tailrace.formats.json_cascade import Cascade
from tailrace.formats.json_unwrap import Unwrapped

_UNREADABLE = (ValueError, TypeError, KeyError, IndexError, EOFError, OverflowError, ArithmeticError, MemoryError)
"What fastavro raises when bytes are no record."
_NO_BYTES = "null"


def _or_plain(read: Callable[..., Any]) -> Callable[..., Any]:
    """A time that Python does not know stays the number that it is: the records behind it can be read."""

    @functools.wraps(read)
    def tolerant(value: Any, *schemas: Any) -> Any:
        try:
            return read(value, *schemas)
        except (ValueError, OverflowError):
            return value

    return tolerant


LOGICAL_READERS.update({name: _or_plain(read) for name, read in LOGICAL_READERS.items()})


class AvroDecoder:
    """Reads whole files; positions are the numbers of records."""

    def __init__(self, table: Table, fmt: Avro) -> None:
        self._cascade = Cascade(table, Json(keys=fmt.keys, field_map=fmt.field_map))

    def decode(self, stream: Stream) -> Iterator[Batch]:
        """A batch per block of the file."""
        window = ByteWindow(stream)
        if not window.peek(1):
            return
        header = read_header(window)
        schema = _schema(header.schema)
        ordinal = 0
        for block in read_blocks(window, header):
            batch, records = self._batch(block, schema, ordinal)
            ordinal += records
            yield batch

    def _batch(self, block: Block, schema: Any, first: int) -> tuple[Batch, int]:
        records, reason = ([], block.reason) if block.reason else _records(block, schema)
        rows = self._cascade.inner(Unwrapped(records, {}, []), range(first, first + len(records)))
        batch = self._cascade.batch(rows)
        if reason is not None:
            batch.bad.append(Bad(first + len(records), block.raw[:RAW_LIMIT], block.length, reason))
        return batch, len(records) + (reason is not None)


def _schema(text: bytes) -> Any:
    try:
        given = json.loads(text)
        _check(given, {}, ())
        return fastavro.parse_schema(given)
    except (ValueError, TypeError, KeyError, RecursionError, fastavro.schema.SchemaParseException) as error:
        raise CorruptStream(f"avro: the schema cannot be read: {error}") from None


def _check(schema: Any, weights: dict[str, bool], around: tuple[str, ...]) -> bool:
    """Does a value of this schema have bytes? Raises where a few bytes could stand for any amount of values."""
    if isinstance(schema, str):
        if schema.rpartition(".")[2] in around:
            raise ValueError("it holds itself")
        return weights.get(schema.rpartition(".")[2], schema != _NO_BYTES)
    if isinstance(schema, list):
        for branch in schema:
            _check(branch, weights, around)
        return True
    kind = schema["type"]
    if kind == "array":
        if not _check(schema["items"], weights, around):
            raise ValueError("an array of nothing")
        return True
    if kind == "map":
        _check(schema["values"], weights, around)
        return True
    if kind in ("record", "error"):
        name = str(schema["name"]).rpartition(".")[2]
        inner = [_check(field["type"], weights, (*around, name)) for field in schema["fields"]]
        weights[name] = any(inner)
        return weights[name]
    if kind == "fixed":
        weights[str(schema["name"]).rpartition(".")[2]] = schema["size"] > 0
        return bool(schema["size"] > 0)
    return True if kind == "enum" else _check(kind, weights, around)


def _records(block: Block, schema: Any) -> tuple[list[bytes], str | None]:
    """The records of a block as JSON, and why there are not as many as it says."""
    data = io.BytesIO(block.raw)
    found: list[bytes] = []
    if block.count > max(len(block.raw), 1):
        return [], f"avro: {block.count} records in {len(block.raw)} bytes"
    for number in range(block.count):
        try:
            record = fastavro.schemaless_reader(data, schema, None)
            found.append(msgspec.json.encode(record, enc_hook=str))
        except _UNREADABLE as error:
            return found, f"avro: record {number + 1} of {block.count}: {error}"
    return found, None

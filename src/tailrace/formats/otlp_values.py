"""OpenTelemetry's log records as msgspec reads them from JSON, and its values as plain JSON."""

from __future__ import annotations

import base64
import binascii
import math
from typing import Any

import msgspec
from msgspec import Raw, Struct

Number = int | str | None
"64-bit numbers are strings in the protocol's JSON; many senders write them as numbers."
_INT64 = range(-(2**63), 2**64)
_encode = msgspec.json.encode


class AnyValue(Struct, gc=False, forbid_unknown_fields=True, rename="camel"):
    """A value of any type; none of the fields = null."""

    string_value: str | None = None
    int_value: Number = None
    bool_value: bool | None = None
    double_value: float | str | None = None
    array_value: ArrayValue | None = None
    kvlist_value: KeyValues | None = None
    bytes_value: str | None = None


class ArrayValue(Struct, gc=False, forbid_unknown_fields=True):
    """Several values."""

    values: list[AnyValue] | None = None


class KeyValue(Struct, gc=False, forbid_unknown_fields=True):
    """A named value."""

    key: str = ""
    value: AnyValue | None = None


class KeyValues(Struct, gc=False, forbid_unknown_fields=True):
    """Several named values."""

    values: list[KeyValue] | None = None


Attributes = list[KeyValue] | None


class LogRecord(Struct, gc=False, forbid_unknown_fields=True, rename="camel", omit_defaults=True):
    """One log record."""

    time_unix_nano: Number = None
    observed_time_unix_nano: Number = None
    severity_number: Number = None
    severity_text: str | None = None
    body: AnyValue | None = None
    attributes: Attributes = None
    dropped_attributes_count: Number = None
    flags: Number = None
    trace_id: str | None = None
    span_id: str | None = None
    event_name: str | None = None


class ScopeLogs(Struct, gc=False, forbid_unknown_fields=True, rename="camel"):
    """The records of one scope."""

    scope: Raw = Raw()
    log_records: list[LogRecord] | None = None
    schema_url: str | None = None


class ResourceLogs(Struct, gc=False, forbid_unknown_fields=True, rename="camel"):
    """The scopes of one resource."""

    resource: Raw = Raw()
    scope_logs: list[ScopeLogs] | None = None
    schema_url: str | None = None


class Message(Struct, gc=False, forbid_unknown_fields=True, rename="camel"):
    """What is sent at once."""

    resource_logs: list[ResourceLogs]


def value_of(value: AnyValue | None) -> Any:
    """The value as Python has it; numbers that JSON cannot hold stay the texts that they were sent as."""
    if value is None:
        return None
    if value.string_value is not None:
        return value.string_value
    if value.int_value is not None:
        return _integer(value.int_value)
    if value.bool_value is not None:
        return value.bool_value
    if value.double_value is not None:
        return value.double_value
    if value.kvlist_value is not None:
        return {pair.key: value_of(pair.value) for pair in value.kvlist_value.values or ()}
    if value.array_value is not None:
        return [value_of(inner) for inner in value.array_value.values or ()]
    return value.bytes_value


_KINDS = frozenset(field.encode_name for field in msgspec.structs.fields(AnyValue))


def unwrapped(value: Any) -> AnyValue:
    """A value in which maps may stand without their wrapping, as some senders write them.

    Raises `msgspec.ValidationError` where that does not explain it either.
    """
    try:
        return msgspec.convert(value, AnyValue)
    except msgspec.ValidationError:
        match value:
            case {"kvlistValue": {"values": [*pairs]}} if len(value) == 1:
                named = [(pair.get("key"), pair.get("value")) for pair in pairs if isinstance(pair, dict)]
            case dict() if not _KINDS & value.keys():
                named = list(value.items())
            case _:
                raise
    return AnyValue(kvlist_value=KeyValues([KeyValue(str(key), unwrapped(inner)) for key, inner in named]))


def _integer(number: int | str) -> int | str:
    try:
        found = int(number) if len(str(number)) <= 20 else None
    except ValueError:
        found = None
    return found if found is not None and found in _INT64 else str(number)


def attributes_text(pairs: Attributes) -> bytes | None:
    """Attributes as one JSON object."""
    if not pairs:
        return None
    return _encode({pair.key: value_of(pair.value) for pair in pairs})


def body_text(body: AnyValue | None) -> str | None:
    """A text as it is, other values as JSON."""
    if body is None:
        return None
    if body.string_value is not None:
        return body.string_value
    value = value_of(body)
    return value if value is None or isinstance(value, str) else _encode(value).decode()


SEVERITIES = {
    f"SEVERITY_NUMBER_{word}{number or ''}": first + max(number - 1, 0)
    for first, word in zip((1, 5, 9, 13, 17, 21), ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"), strict=True)
    for number in (0, 2, 3, 4)
} | {"SEVERITY_NUMBER_UNSPECIFIED": 0}
"The names of severities, which some senders write in place of their numbers."


def hexadecimal(text: str | None, size: int) -> str | None:
    """An id of `size` bytes in hexadecimal; also from base64, as generic protobuf libraries write it.

    None for one that is empty or zero; raises ValueError for what is no id.
    """
    if not text:
        return None
    if len(text) == 2 * size:
        found = bytes.fromhex(text)
    else:
        try:
            found = base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise ValueError(str(error)) from None
    if len(found) != size:
        raise ValueError("another length")
    return found.hex() if any(found) else None


def spelled(number: float) -> float | str:
    """What JSON has no number for is a text, as the protocol writes it."""
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"

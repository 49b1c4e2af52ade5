"""Nested values: what is written is read back, and what others write is read too."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.formats.otlp_wire import ARRAY, KVLIST
from tailrace.windows.cbor import DEEPEST, decode, encode
from tailrace.windows.nested import read_nested, write_value

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=8) | st.binary(max_size=8)
    | st.floats(allow_nan=False)
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(st.text(max_size=3), inner), max_size=3).map(tuple),
    max_leaves=8,
)


def told(value: Any) -> str:
    """Told apart: 1, True and 1.0, 0.0 and -0.0."""
    return repr(value)


@given(VALUES)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert told(decode(encode(value))) == told(value)


@given(st.lists(VALUES, max_size=3))
def test_through_protobuf_too(values: list[Any]) -> None:
    pairs = tuple((str(number), value) for number, value in enumerate(values))
    body = write_value(values)
    assert told(read_nested(body[len(body) - _length(body) :], ARRAY)) == told(values)
    body = write_value(pairs)
    assert told(read_nested(body[len(body) - _length(body) :], KVLIST)) == told(pairs)


def _length(field: bytes) -> int:
    value = shift = 0
    for byte in field[1:]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return value


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("f93e00", 1.5), ("fa47c35000", 100000.0), ("fbc010666666666666", -4.1), ("f97c00", math.inf), ("f7", None),
        ("9f01820203ff", [1, [2, 3]]), ("bf616101616202ff", (("a", 1), ("b", 2))), ("a201020304", (("1", 2), ("3", 4))),
        ("7f657374726561646d696e67ff", "streaming"), ("5f42010243030405ff", b"\x01\x02\x03\x04\x05"),
        ("1bffffffffffffffff", 2**64 - 1), ("3b7fffffffffffffff", -(2**63)), ("c11a514b67b0", 1363896240),
    ],
)  # fmt: skip
def test_what_others_write(data: str, value: Any) -> None:
    assert told(decode(bytes.fromhex(data))) == told(value)


def test_every_bit_of_a_number_is_kept() -> None:
    odd = struct.unpack(">d", bytes.fromhex("7ff8000000001234"))[0]
    assert encode(odd).hex() == "fb7ff8000000001234"


@pytest.mark.parametrize("data", ["", "18", "9f01", "62c3", "f8ff", "0101", "ff", "1c", "a101", "81" * (DEEPEST + 2)])
def test_what_is_no_cbor(data: str) -> None:
    with pytest.raises(ValueError, match="CBOR"):
        decode(bytes.fromhex(data))

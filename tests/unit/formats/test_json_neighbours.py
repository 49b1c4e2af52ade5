"""What becomes of a value does not depend on the values beside it, though all of a column are read at once."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonread import Bytes, table

from tailrace.core import Json, Jsonl, col, struct
from tailrace.formats.json_decode import json_decoder

T = table(
    col("at", "timestamp", time="epoch", null_if="never"),
    col("seconds", "timestamp", time="epoch_s"),
    col("spelled", "timestamp"),
    col("millis", "bigint", time="iso"),
    col("tags", "varchar[]", null_if="-"),
    col("parts", "varchar[]", list_separator=","),
    col("counts", "integer[]"),
    col("shares", "double[]"),
    col("flags", "boolean[]"),
    col("days", "timestamp[]"),
    col("inner", struct(col("a", "integer"))),
)
NUMBERS = st.sampled_from(
    [0, -1, 1714557600, 1714557600123, 1714557600123456789, 2**63, -(2**63) - 1, 2**70, 260 * 10**9]
)
FRACTIONS = st.sampled_from([0.5, -0.0, 1714557600.25, 1714557600123.75, 1e18, 1e300, 253402300800.0])
TEXTS = st.sampled_from(
    ["2024-05-01T10:00:00Z", "2024-05-01T10:00:00", "2024-05-01 10:00:00.123456789", "2024-05-01", "2024", "soon", "",
     "never", "-", "a, b", "1714557600", "1714557600.5", "260000000000", "1e9", "infinity", "9" * 30,
     "0000-01-01T00:00:00Z"]
)  # fmt: skip
LEAVES = st.none() | st.booleans() | NUMBERS | FRACTIONS | TEXTS
VALUES = LEAVES | st.lists(LEAVES, max_size=3) | st.dictionaries(st.sampled_from("ab"), LEAVES, max_size=2)
NAMES = [column.name for column in T.columns]


def decoded(records: list[dict[str, Any]], fmt: Json | Jsonl) -> list[Any]:
    text = "".join(json.dumps(record) + "\n" for record in records).encode()
    found: list[Any] = []
    for batch in json_decoder(T, fmt).decode(Bytes(text)):
        extra = batch.extra.to_pylist() if batch.extra is not None else [None] * batch.rows
        assert not batch.bad
        found += zip(map(repr, pa.table(batch.columns).to_pylist()), extra, strict=True)
    return found


@settings(deadline=None, max_examples=60)
@given(st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5), min_size=2, max_size=6))
def test_together_as_alone(records: list[dict[str, Any]]) -> None:
    assert decoded(records, Jsonl()) == [row for record in records for row in decoded([record], Jsonl())]


REST = st.dictionaries(st.sampled_from(["x", 'q"', "é", "inner"]), VALUES, max_size=3)


@settings(deadline=None, max_examples=10)
@given(st.lists(REST, min_size=1, max_size=4))
def test_fields_without_a_column(records: list[dict[str, Any]]) -> None:
    """Once they are learned they are put together in other ways."""
    alone = [row for record in records for row in decoded([record], Jsonl())]
    assert decoded(records * 150, Jsonl()) == alone * 150
    assert decoded(records * 150, Json()) == alone * 150

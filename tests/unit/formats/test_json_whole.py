"""JSON records are stored whole, and learning changes nothing but the cost."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonread import Bytes, extra, table

from tailrace.core import Json, Jsonl, col, struct
from tailrace.formats.base import Batch
from tailrace.formats.json_cascade import Cascade
from tailrace.formats.json_decode import LineDecoder, json_decoder

LEARNABLE = table(
    col("a", "bigint"),
    col("b"),
    col("w", struct(col("x", "integer"), col("y"))),
    col("l", "integer[]"),
    col("j", "json"),
)


@pytest.mark.parametrize("odd", [1, 2, 50, 140])
def test_learning_changes_nothing_but_the_cost(odd: int) -> None:
    strange = {"a": "?", "b": {"k": 1}, "w": {"x": "1", "new": [1]}, "l": 4, "extra": {"q": 2}, "j": "s"}
    lines = [json.dumps(strange if i % odd == 0 else {"a": i, "b": "t", "w": {"x": i}}) for i in range(3_000)]
    learning = LineDecoder(LEARNABLE, Jsonl())
    pieces = ["\n".join(lines[start : start + 500]).encode() for start in range(0, 3_000, 500)]
    learned = [batch for piece in pieces for batch in learning.decode(Bytes(piece))]
    assert learning._cascade.shape._learned
    fresh = [batch for piece in pieces for batch in LineDecoder(LEARNABLE, Jsonl()).decode(Bytes(piece))]
    for one_batch, other in zip(learned, fresh, strict=True):
        assert one_batch.columns == other.columns
        assert one_batch.extra == other.extra
        assert one_batch.flagged == other.flagged


def test_learning_stops_at_its_limit() -> None:
    cascade = Cascade(table(col("a")), Jsonl())
    for start in range(0, 100, 10):
        keys = {f"k{start + n}": 1 for n in range(10)}
        raw = json.dumps(keys).encode()
        cascade.batch(cascade.each([raw] * 50, list(range(50))))
    assert len(cascade.shape._learned) == 32


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
TYPES = (
    "boolean",
    "tinyint",
    "bigint",
    "ubigint",
    "double",
    "float",
    "varchar",
    "json",
    "uuid",
    "inet",
    "date",
)
TYPES += ("timestamp", "decimal(18,3)", "varchar[]", "bigint[]", "json[]", "timestamp[]", "blob")
ALL = table(
    *(col(t.split("(")[0].replace("[]", "s"), t) for t in TYPES),
    col("epoch", "timestamp", time="epoch"),
    col("nested", struct(col("a", "integer"), col("b", struct(col("c"))))),
)
names = st.sampled_from([c.name for c in ALL.columns]) | st.sampled_from(["a", "b", "", "tp_misfit", "é", '"', "\\"])
records = st.dictionaries(names, values, max_size=8)


def survives(record: dict[str, Any], row: dict[str, Any], kept: dict[str, Any]) -> None:
    misfits = kept.get("tp_misfit", {})
    for key, value in record.items():
        if key == "tp_misfit":
            assert misfits[key] == value
        elif ALL.column(key) is None:
            assert kept[key] == value
        elif value is not None and not (key == "nested" and isinstance(value, dict)):
            assert row[key] is not None or misfits[key] == value


ENGINE = json_decoder(ALL, Json())


def whole(documents: list[dict[str, Any]]) -> Batch:
    (batch,) = ENGINE.decode(Bytes(json.dumps(documents).encode()))
    return batch


@settings(deadline=None, max_examples=40)
@given(st.lists(records, min_size=1, max_size=6))
def test_any_records_are_stored_whole(documents: list[dict[str, Any]]) -> None:
    batch = whole(documents)
    assert batch.rows == len(documents)
    table = pa.table(batch.columns).to_pylist()
    for number, (record, row) in enumerate(zip(documents, table, strict=True)):
        survives(record, row, extra(batch, number) or {})
    singly = [whole([record]) for record in documents]
    assert pa.concat_tables([pa.table(b.columns) for b in singly]).equals(pa.table(batch.columns))

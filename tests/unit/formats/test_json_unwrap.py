"""Records inside envelopes come out as if they had been sent alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonblocks import TABLE, Blocks

from tailrace.core import Json, Jsonl
from tailrace.core.registry import find_table, table_names
from tailrace.formats.base import Batch
from tailrace.formats.json_decode import json_decoder
from tailrace.formats.json_struct import top_level

PATHS = ("records", "detail", "properties.log", "logEvents.message", "Message")
DOCUMENTS = Json(records="Records", unwrap=PATHS)
LINES = Jsonl(unwrap=PATHS)
ANN: dict[str, Any] = {"name": "Ann", "n": 1, "who": {"id": "x"}}
BOB: dict[str, Any] = {"name": "Bob", "more": {"detail": '"', "Message": "{"}}


def decode(text: str, fmt: Json | Jsonl = DOCUMENTS) -> list[Batch]:
    return list(json_decoder(TABLE, fmt).decode(Blocks(text.encode())))


def rows(batches: list[Batch]) -> list[tuple[str | None, int | None]]:
    return [
        pair for b in batches for pair in zip(b.columns["name"].to_pylist(), b.columns["n"].to_pylist(), strict=True)
    ]


def extras(batches: list[Batch]) -> list[Any]:
    texts = [t for b in batches for t in (b.extra.to_pylist() if b.extra is not None else [None] * b.rows)]
    return [json.loads(text) if text else None for text in texts]


def positions(batches: list[Batch]) -> list[int]:
    return [int(p) for b in batches for p in b.positions]


@pytest.mark.parametrize("fmt", [DOCUMENTS, LINES])
@pytest.mark.parametrize(
    ("envelope", "around"),
    [
        ({"detail": ANN}, None),
        ({"detail": ANN, "id": "7"}, {"id": "7"}),
        ({"detail": json.dumps(ANN)}, None),
        ({"Message": json.dumps({"detail": ANN, "id": 7}), "Type": "Notification"}, {"Type": "Notification", "id": 7}),
        ({"properties": {"log": json.dumps(ANN) + "\n", "pod": "p"}, "a": [1]}, {"properties": {"pod": "p"}, "a": [1]}),
        ({"logEvents": [{"id": "1", "message": json.dumps(ANN)}], "owner": "o"},
         {"owner": "o", "logEvents": {"id": "1"}}),
        ({"records": [{"properties": {"log": json.dumps(ANN)}}]}, None),
        ({"records": json.dumps([ANN])}, None),
    ],
)  # fmt: skip
def test_a_record_is_found_in_its_envelope(envelope: Any, around: Any, fmt: Json | Jsonl) -> None:
    batches = decode(json.dumps(envelope), fmt)
    assert rows(batches) == [("Ann", 1)]
    assert extras(batches) == [{"tp_envelope": around} if around else None]


def test_records_under_a_path_may_be_envelopes() -> None:
    text = json.dumps({"Records": [{"detail": ANN}, BOB, {"detail": BOB}, {"records": [ANN, ANN]}]})
    batches = decode(text)
    assert [name for name, _ in rows(batches)] == ["Ann", "Bob", "Bob", "Ann", "Ann"]
    assert positions(batches) == [0, 1, 2, 3, 4]


def test_a_record_that_only_looks_like_an_envelope_is_none() -> None:
    batches = decode(json.dumps(BOB) + "\n" + json.dumps({"name": "Eve", "detail": 7, "properties": {"log": None}}))
    assert [name for name, _ in rows(batches)] == ["Bob", "Eve"]
    assert extras(batches) == [None, {"detail": 7, "properties": {"log": None}}]


def test_misfits_and_unknown_fields_inside_stand_beside_the_envelope() -> None:
    batches = decode(json.dumps({"id": 1, "detail": {"name": "Ann", "n": "many", "id": 2}}))
    assert extras(batches) == [{"id": 2, "tp_envelope": {"id": 1}, "tp_misfit": {"n": "many"}}]


def test_what_is_no_record_inside_is_quarantined_by_itself() -> None:
    events = [{"message": json.dumps(ANN)}, {"message": "checking health"}, {"message": json.dumps(BOB)}]
    (batch,) = decode(json.dumps({"logEvents": events}), LINES)
    assert rows([batch]) == [("Ann", 1), ("Bob", None)]
    assert [(bad.raw, bad.reason) for bad in batch.bad] == [(b"checking health", "json: invalid")]
    assert (batch.rows, len(batch.bad), batch.skipped) == (2, 1, 0)


def test_texts_that_only_together_are_json_are_not_taken_together() -> None:
    halves = ['{"name":"Ann"},{"more":[{}', '{}]}', '{"name":"Bob"}\n{"name":"Eve"}']  # fmt: skip
    (batch,) = decode(json.dumps({"logEvents": [{"message": half} for half in halves]}))
    assert batch.rows == 0
    assert len(batch.bad) == 3


def test_places_of_lines_stay_apart() -> None:
    lines = [json.dumps({"records": [ANN, BOB]}), "", json.dumps({"records": [BOB]})]
    batches = decode("\n".join(lines), LINES)
    assert positions(batches) == [0, 1, len(lines[0]) + 2]
    assert sum(b.skipped for b in batches) == 1


@given(
    st.lists(
        st.recursive(
            st.integers(0, 99).map(lambda n: (1, {"name": str(n), "n": n})),
            lambda inner: st.one_of(
                inner.map(lambda x: (x[0], {"detail": x[1], "id": "e"})),
                inner.map(lambda x: (x[0], {"Message": json.dumps(x[1])})),
                inner.map(lambda x: (x[0], {"properties": {"log": json.dumps(x[1]), "pod": "ü"}})),
                st.lists(inner, min_size=1, max_size=3).map(
                    lambda xs: (sum(n for n, _ in xs), {"records": [x for _, x in xs]})
                ),
            ),
            max_leaves=4,
        ),
        min_size=1,
        max_size=5,
    ),
    st.booleans(),
)
def test_what_was_wrapped_comes_out_in_order(wrapped: list[tuple[int, Any]], lines: bool) -> None:
    text = "\n".join(json.dumps(value, ensure_ascii=False) for _, value in wrapped)
    batches = decode(text, LINES if lines else DOCUMENTS)
    deep = [value for _, value in wrapped if _depth(value) > 4]
    found = positions(batches) + [bad.position for b in batches for bad in b.bad]
    assert len(set(found)) == len(found)
    if not deep:
        assert [n for _, n in rows(batches)] == [n for _, value in wrapped for n in _numbers(value)]


def _depth(value: Any) -> int:
    inner = _inner(value)
    return 1 + max(map(_depth, inner)) if inner is not None else 0


def _numbers(value: Any) -> list[int]:
    inner = _inner(value)
    return [value["n"]] if inner is None else [n for one in inner for n in _numbers(one)]


def _inner(value: Any) -> list[Any] | None:
    if "records" in value:
        return list(value["records"])
    if "detail" in value:
        return [value["detail"]]
    if "Message" in value:
        return [json.loads(value["Message"])]
    return [json.loads(value["properties"]["log"])] if "properties" in value else None


@pytest.mark.parametrize("name", table_names())
def test_no_column_has_the_key_of_an_envelope(name: str) -> None:
    table = find_table(name)
    assert table is not None
    if isinstance(table.format, Json | Jsonl):
        taken = {path.split(".")[0] for path in table.format.unwrap}
        assert not taken & set(top_level(table, table.format).by_key)


@pytest.mark.parametrize("fmt", [DOCUMENTS, LINES])
def test_an_envelope_that_is_no_text_is_mended_and_told(fmt: Json | Jsonl) -> None:
    data = b'{"detail":{"name":"Ann","n":1},"id":"\xff"}\n{"detail":{"name":"Bob","n":2},"id":"7"}\n'
    batches = list(json_decoder(TABLE, fmt).decode(Blocks(data)))
    assert rows(batches) == [("Ann", 1), ("Bob", 2)]
    damaged, sound = extras(batches)
    assert damaged == {"tp_envelope": {"id": "\ufffd"}, "tp_misfit": {"tp_record": "invalid utf-8"}}
    assert sound == {"tp_envelope": {"id": "7"}}
    assert sum(batch.flagged for batch in batches) == 1

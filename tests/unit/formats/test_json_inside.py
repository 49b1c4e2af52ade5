"""Keys with capitals, columns of the envelope, and a column in a struct for what no other one takes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonread import Bytes

from tailrace.core import Common, Json, Table, col, struct
from tailrace.formats.json_decode import json_decoder

DETAILS = col("resource", struct(col("resource_type"), col("details", "json", src="*")))
FORMAT = Json(keys="camel", unwrap=("detail.findings",))
COLUMNS = (col("id"), col("created_at"), DETAILS, col("account", src="/tp_envelope/account"))
TABLE = Table("t", "", FORMAT, COLUMNS, Common(time=("created_at",)))
Row = tuple[dict[str, Any], dict[str, Any]]


def read(*records: Any) -> list[Row]:
    """Per record its columns without nulls, and what is told beside them."""
    text = "\n".join(json.dumps(record) for record in records).encode()
    rows: list[Row] = []
    for batch in json_decoder(TABLE, FORMAT).decode(Bytes(text)):
        assert not batch.bad
        for row in range(batch.rows):
            values = {name: array[row].as_py() for name, array in batch.columns.items()}
            extra = batch.extra[row].as_py() if batch.extra is not None else None
            rows.append(({n: v for n, v in values.items() if v is not None}, json.loads(extra or "{}")))
    return rows


def resource(**values: Any) -> Any:
    ((row, extra),) = read({"id": "a", "resource": values})
    assert not extra
    found = row["resource"]
    return found["resource_type"], json.loads(found["details"]) if found["details"] else None


def test_the_rest_of_an_object_has_a_column() -> None:
    assert resource(resourceType="Instance") == ("Instance", None)
    assert resource(resourceType="Instance", instanceDetails={"id": "i-1"}) == ("Instance", {"id": "i-1"})
    both = {"instanceDetails": {"id": "i-1"}, "lambdaDetails": {"name": "f"}}
    assert resource(resourceType="Instance", **both) == ("Instance", both)
    assert resource(count=3) == (None, {"count": 3})


def test_keys_with_capitals_are_the_same_keys() -> None:
    written = {"Id": "a", "Resource": {"ResourceType": "Instance", "InstanceDetails": {"Tags": [{"Key": "x"}]}}}
    ((row, extra),) = read(written)
    assert (row["id"], row["resource"]["resource_type"], extra) == ("a", "Instance", {})
    assert json.loads(row["resource"]["details"]) == {"tags": [{"key": "x"}]}


def test_a_capital_among_small_ones_is_a_key_of_its_own() -> None:
    assert read({"Id": "b", "id": "a"}) == [({"id": "a"}, {"Id": "b"})]


def test_the_envelope_has_columns_and_the_rest_of_it_is_kept() -> None:
    around = {"account": "1", "region": "r", "detail": {"findings": [{"id": "a"}, {}], "action": "x"}}
    assert read(around, {"id": "c"}) == [
        ({"id": "a", "account": "1"}, {"tp_envelope": {"region": "r", "detail": {"action": "x"}}}),
        ({"account": "1"}, {"tp_envelope": {"region": "r", "detail": {"action": "x"}}}),
        ({"id": "c"}, {}),
    ]


KEYS = st.sampled_from(["id", "Id", "createdAt", "CreatedAt", "resource", "Resource", "x", "X", "detail"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
def test_no_record_is_lost(record: dict[str, Any]) -> None:
    assert len(read(record)) == 1


def test_what_is_learned_of_the_rest_stays_in_its_column() -> None:
    one = {"id": "a", "resource": {"resourceType": "x", "lambdaDetails": {"name": "f"}}}
    two = {"id": "b", "resource": {"zone": 1, "lambdaDetails": {"name": "g"}, "new": None}}
    odd = {"id": "c", "resource": {"never": 7, "zone": 2}, "beside": 1}
    records = [one, two] * 300
    decoder = json_decoder(TABLE, FORMAT)
    for sent in (records, [*records, odd], [odd, one], records):
        text = "\n".join(json.dumps(record) for record in sent).encode()
        batches = list(decoder.decode(Bytes(text)))
        found = [value for batch in batches for value in batch.columns["resource"].to_pylist()]
        fresh = [row["resource"] for record in sent for row, _ in read(record)]
        assert found == fresh
        extra = [text for batch in batches for text in (batch.extra.to_pylist() if batch.extra else [])]
        assert [text for text in extra if text] == ['{"beside":1}'] * (odd in sent)
    learned = decoder._cascade.shape._learned  # type: ignore[attr-defined]
    assert ("resource", "lambdaDetails") in learned

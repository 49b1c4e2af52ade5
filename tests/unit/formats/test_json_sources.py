"""Fields that SQL columns read: as text, whatever they were sent as."""

from __future__ import annotations

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from tailrace.formats.json_fit import text_of
from tailrace.formats.json_texts import sent

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.lists(st.none() | VALUES, max_size=20), st.booleans())
def test_all_at_once_is_the_same_as_one_by_one(values: list[object], ascii_only: bool) -> None:
    """Lone surrogates are no text: they are refused before."""
    texts = [json.dumps(value, ensure_ascii=ascii_only).encode(errors="replace") for value in values]
    raws = [None if text == b"null" else msgspec.json.decode(text, type=Raw) for text in texts]
    assert sent(raws).to_pylist() == [text_of(raw) for raw in raws]

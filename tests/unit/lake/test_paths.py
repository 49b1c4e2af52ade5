from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.core.errors import LakeError
from tailrace.lake.paths import LONGEST_VALUE, Lake, data_path, decode_value, encode_value, stored_value
from tailrace.lake.place import LocalPlace

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=80)


@given(TEXT)
def test_directory_names_give_the_stored_value_back(value: str) -> None:
    name = encode_value(value)
    assert decode_value(name) == stored_value(value)
    assert name not in ("", ".", "..")
    assert "/" not in name
    assert len(name.encode()) <= LONGEST_VALUE
    assert stored_value(stored_value(value)) == stored_value(value)


def test_spellings() -> None:
    assert encode_value("a-b_c.D9") == "a-b_c.D9"
    assert encode_value("a b/c=%") == "a%20b%2Fc%3D%25"
    assert encode_value("größe 東") == "größe%20東"
    assert encode_value("..") == "%2E%2E"
    assert [encode_value(v) for v in (None, "", "__HIVE_DEFAULT_PARTITION__")] == ["default"] * 3


def test_long_values_are_cut_and_stay_apart() -> None:
    one, two = ("ü /" * 100 + tail for tail in "xy")
    assert encode_value(one) != encode_value(two)
    assert len(encode_value(one).encode()) <= LONGEST_VALUE
    assert stored_value("x" * LONGEST_VALUE) == "x" * LONGEST_VALUE


def test_nul_is_refused() -> None:
    with pytest.raises(LakeError) as error:
        encode_value("a\0b")
    assert error.value.code == "lake.bad-directory-value"


@pytest.mark.parametrize(
    "lake",
    [
        Lake(Path("/h"), "my space"),
        Lake(Path("/h%20h")),
        Lake(Path("/h"), "a/b"),
        Lake(Path("/h\\h")),
        Lake(Path("/two\nlines")),
    ],
)
def test_roots_that_delta_would_misread_are_refused(lake: Lake) -> None:
    for look in (lambda: lake.table_root("t"), lambda: lake.data_root):
        with pytest.raises(LakeError) as error:
            look()
        assert error.value.code == "lake.bad-root"


def test_roots() -> None:
    lake = Lake(Path("/h"), "my space")
    assert Lake(Path("/h h")).table_home("nginx") == LocalPlace("/h h/data/default/tp_table=nginx")
    assert lake.meta("ledger", "nginx", "a/b") == LocalPlace("/h/meta/my%20space/ledger/nginx/a%2Fb")
    elsewhere = Lake(Path("/h"), "my space", LocalPlace("/mnt/lake"))
    assert elsewhere.table_home("nginx") == LocalPlace("/mnt/lake/data/tp_table=nginx")
    assert elsewhere.meta("ledger", "nginx", "a/b") == LocalPlace("/mnt/lake/meta/ledger/nginx/a%2Fb")
    assert data_path("p", None, date(2024, 2, 29)) == "tp_partition=p/tp_index=default/tp_date=2024-02-29"

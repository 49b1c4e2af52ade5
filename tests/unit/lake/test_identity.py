from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tailrace.lake.identity import ID_LENGTH, PREFIX_LENGTH, artifact_prefix, tp_ids

POSITIONS = st.lists(st.integers(0, 2**50 - 1), unique=True, max_size=50)


@given(POSITIONS)
def test_ids_sort_as_positions_do_and_are_unique(positions: list[int]) -> None:
    prefix = artifact_prefix("file:///var/log/a.log")
    ids = tp_ids([prefix], np.zeros(len(positions), np.int32), np.array(positions, dtype=np.int64)).to_pylist()
    assert all(len(i) == ID_LENGTH and i.startswith(prefix) for i in ids)
    assert sorted(range(len(ids)), key=ids.__getitem__) == sorted(range(len(positions)), key=positions.__getitem__)
    assert len(set(ids)) == len(positions)


def test_prefix_is_stable_and_tells_members_apart() -> None:
    whole = artifact_prefix("s3://bucket/key.zip")
    assert len(whole) == PREFIX_LENGTH
    assert whole == artifact_prefix("s3://bucket/key.zip")
    members = {artifact_prefix("s3://bucket/key.zip", name) for name in "ab"}
    assert len({whole, *members}) == 3
    assert artifact_prefix("s3://bucket/key.zip", "a") == artifact_prefix("s3://bucket/key.zip!a")


def test_known_ids_never_change() -> None:
    ids = tp_ids(["0123456789abcdef"], np.zeros(7, np.int32), np.array([0, 1, 31, 32, 1023, 1024, 2**50 - 1]))
    assert [i.as_py()[16:] for i in ids] == [
        "0000000000",
        "0000000001",
        "000000000v",
        "0000000010",
        "00000000vv",
        "0000000100",
        "vvvvvvvvvv",
    ]
    ids.validate(full=True)


def test_no_rows_give_no_ids() -> None:
    assert len(tp_ids(["0123456789abcdef"], np.zeros(0, np.int32), np.array([], dtype=np.int64))) == 0


def test_odd_file_names_have_an_identity() -> None:
    assert len(artifact_prefix("file:///tmp/\udcff.log")) == PREFIX_LENGTH

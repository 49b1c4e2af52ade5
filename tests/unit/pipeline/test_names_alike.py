"""SQL does not tell case apart, logs do: fields whose names differ only so fill each other's gaps."""

from __future__ import annotations

import pyarrow as pa

from tailrace.core import col
from tailrace.pipeline.compute import Computer


def test_fields_that_differ_in_case_are_read_row_by_row() -> None:
    columns = {"Message": pa.array(["a", None, None]), "message": pa.array([None, "b", None])}
    refused, _ = Computer((col("text", sql="coalesce(Message, message)"),), None, ()).compute(columns, 3)
    assert not refused
    assert columns["text"].to_pylist() == ["a", "b", None]

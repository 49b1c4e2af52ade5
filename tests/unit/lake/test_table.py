from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from deltalake.table import TableAlterer

from tailrace.core.errors import LakeError
from tailrace.lake.commit import Change, PartitionWriter
from tailrace.lake.files import DataFile
from tailrace.lake.paths import Lake
from tailrace.lake.place import LocalPlace
from tailrace.lake.snapshot import snapshot, tables
from tailrace.lake.table import open_or_create, widen


def test_created_empty_with_metadata_and_properties(lake: Lake, schema: pa.Schema) -> None:
    delta = open_or_create(lake, "my_table", schema)
    assert delta.version() == 0
    assert delta.metadata().partition_columns == ["tp_partition", "tp_index", "tp_date"]
    assert int(delta.metadata().configuration["delta.checkpointInterval"]) <= 100
    assert tables(lake) == ["my_table"]
    seen = snapshot(lake, "my_table")
    assert seen.schema.equals(schema, check_metadata=True)
    assert seen.files.num_rows == 0
    assert open_or_create(lake, "my_table", schema).version() == 0


def test_losing_the_race_to_create_is_success(lake: Lake, schema: pa.Schema) -> None:
    with ThreadPoolExecutor(8) as pool:
        versions = list(pool.map(lambda _: open_or_create(lake, "t", schema).version(), range(8)))
    assert versions == [0] * 8


def test_columns_and_struct_fields_join(lake: Lake, schema: pa.Schema) -> None:
    nested = pa.struct([("a", pa.string()), ("in", pa.struct([("x", pa.int64())]))])
    open_or_create(lake, "t", schema.append(pa.field("s", nested)))
    wider = pa.struct([("b", pa.int32()), ("in", pa.struct([("y", pa.string())]))])
    added = pa.field("more", pa.string(), metadata={"tailrace.type": "json", "comment": "New."})
    open_or_create(lake, "t", schema.append(pa.field("s", wider)).append(added))
    seen = snapshot(lake, "t").schema
    assert seen.field("s").type == pa.struct(
        [("a", pa.string()), ("in", pa.struct([("x", pa.int64()), ("y", pa.string())])), ("b", pa.int32())]
    )
    assert seen.field("more").metadata == added.metadata
    assert open_or_create(lake, "t", schema).version() == 1


def test_two_that_widen_at_once_both_succeed(lake: Lake, schema: pa.Schema) -> None:
    open_or_create(lake, "t", schema)
    wider = [schema.append(pa.field(f"c{n // 2}", pa.int64())) for n in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda s: open_or_create(lake, "t", s), wider))
    assert {"c0", "c1", "c2"} <= set(snapshot(lake, "t").schema.names)


def test_a_type_never_changes_while_there_are_rows(
    lake: Lake, schema: pa.Schema, write_file: Callable[..., DataFile]
) -> None:
    struct = pa.field("s", pa.struct([("a", pa.string())]))
    wide = schema.append(struct)
    PartitionWriter(lake, "t", "p", "r", wide).commit(Change([], [write_file(lake, "r", ["u"], schema=wide)]))
    with pytest.raises(LakeError, match=r"column n is stored as long and cannot become string") as error:
        open_or_create(lake, "t", schema.set(1, pa.field("n", pa.string())))
    assert error.value.code == "lake.type-change"
    assert error.value.hint is not None
    assert "partition delete --for-good" in error.value.hint
    with pytest.raises(LakeError, match=r"column s\.a is stored as string and cannot become integer"):
        open_or_create(lake, "t", schema.append(pa.field("s", pa.struct([("a", pa.int32())]))))


def test_no_tables(lake: Lake, write_file: Callable[..., DataFile]) -> None:
    assert tables(lake) == []
    write_file(lake, "r", ["u"])
    assert tables(lake) == []


def test_a_server_that_takes_no_column_is_no_reason_for_another_type(
    lake: Lake, schema: pa.Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    delta = open_or_create(lake, "t", schema)

    def refused(*_: object) -> None:
        raise DeltaError("Generic S3 error: error sending request")

    monkeypatch.setattr(TableAlterer, "add_columns", refused)
    monkeypatch.setattr(LocalPlace, "is_local", False)
    with pytest.raises(LakeError, match="the connection broke"):
        widen(delta, schema.append(pa.field("later", pa.string())), lake.table_root("t"))
    assert DeltaTable(delta.table_uri).version() == 0

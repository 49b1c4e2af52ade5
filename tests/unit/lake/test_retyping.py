"""Tables without rows take other types; those of which rows can be brought back do not."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from deltalake.exceptions import CommitFailedError

from tailrace.core import TimeRange
from tailrace.core.errors import LakeError, UsageError
from tailrace.lake.commit import Change, PartitionWriter
from tailrace.lake.files import DataFile
from tailrace.lake.intents import read_ledger
from tailrace.lake.ledger import Entry
from tailrace.lake.paths import Lake
from tailrace.lake.retyping import retype
from tailrace.lake.runs import new_run_id
from tailrace.lake.snapshot import snapshot
from tailrace.lake.table import open_or_create
from tailrace.lake.undo import erase, restore
from tailrace.lake.vacuum import forget
from tailrace.lake.versions import open_at

WriteFile = Callable[..., DataFile]
MakeEntry = Callable[..., Entry]
NUMBER = 1
"Which column `n` is."


@pytest.fixture
def other(schema: pa.Schema) -> pa.Schema:
    return schema.set(NUMBER, pa.field("n", pa.int32(), metadata={"comment": "Fewer bits."}))


@pytest.fixture
def store(write_file: WriteFile, make_entry: MakeEntry) -> Callable[..., int]:
    def stored(lake: Lake, schema: pa.Schema, uri: str, partition: str = "p") -> int:
        run = new_run_id()
        writer = PartitionWriter(lake, "t", partition, run, schema)
        writer.recover()
        file = write_file(lake, run, [uri], partition=partition, schema=schema)
        version = writer.commit(Change([make_entry(uri)], [file])).version
        writer.finish()
        return version

    return stored


def type_of(lake: Lake) -> pa.DataType:
    return snapshot(lake, "t").schema.field("n").type


def is_refused(lake: Lake, schema: pa.Schema) -> bool:
    with pytest.raises(LakeError) as error:
        open_or_create(lake, "t", schema)
    return error.value.code == "lake.type-change"


def test_what_else_the_table_has_stays(lake: Lake, schema: pa.Schema, other: pa.Schema) -> None:
    wide = schema.append(pa.field("s", pa.struct([("a", pa.string())]))).append(pa.field("Case", pa.string()))
    before = open_or_create(lake, "t", wide)
    delta = open_or_create(lake, "t", other.append(pa.field("case", pa.string())).append(pa.field("new", pa.string())))
    found = pa.schema(delta.schema())
    assert found.names == [*schema.names, "s", "case", "new"]
    assert found.field("n").equals(other.field("n"), check_metadata=True)
    assert found.field("body").equals(schema.field("body"), check_metadata=True)
    told, now = before.metadata(), delta.metadata()
    assert (now.id, now.configuration, now.partition_columns) == (told.id, told.configuration, told.partition_columns)
    assert open_or_create(lake, "t", other).version() == delta.version()


def test_rows_that_can_be_brought_back_need_their_type(
    lake: Lake, schema: pa.Schema, other: pa.Schema, store: Callable[..., int]
) -> None:
    first = store(lake, schema, "r1")
    store(lake, schema, "r2", "q")
    erase(lake, "t", "p", TimeRange())
    erase(lake, "t", "q", TimeRange())
    assert is_refused(lake, other)
    restore(lake, "t", "p", first)
    assert is_refused(lake, other)
    erase(lake, "t", "p", TimeRange())
    forget(lake, "t", "q")
    assert is_refused(lake, other), "the last commit took files that are there"
    forget(lake, "t", "p")
    with pytest.raises(UsageError):
        restore(lake, "t", "p", first)
    open_or_create(lake, "t", other)
    assert type_of(lake) == pa.int32()


def test_the_ledger_goes_on(lake: Lake, schema: pa.Schema, other: pa.Schema, store: Callable[..., int]) -> None:
    store(lake, schema, "r1")
    erase(lake, "t", "p", TimeRange())
    forget(lake, "t", "p")
    before = read_ledger(lake, "t", "p")
    store(lake, other, "r2")
    after = read_ledger(lake, "t", "p")
    assert (after.sequence, set(after.known())) == (before.sequence + 1, {"r2"})
    assert type_of(lake) == pa.int32()
    assert is_refused(lake, schema), "now there are rows again"


def test_who_stores_rows_meanwhile_wins(
    lake: Lake, schema: pa.Schema, other: pa.Schema, store: Callable[..., int]
) -> None:
    stale = open_or_create(lake, "t", schema)
    store(lake, schema, "r")
    with pytest.raises(CommitFailedError):
        retype(stale, other)
    assert (type_of(lake), snapshot(lake, "t").files.num_rows) == (pa.int64(), 1)


def test_a_run_of_the_old_type_is_refused_when_rows_of_the_new_one_are_there(
    lake: Lake, schema: pa.Schema, other: pa.Schema, store: Callable[..., int], write_file: WriteFile
) -> None:
    slow = PartitionWriter(lake, "t", "slow", "s", schema)
    store(lake, other, "r")
    with pytest.raises(LakeError) as error:
        slow.commit(Change([], [write_file(lake, "s", ["s"], partition="slow", schema=schema)]))
    assert error.value.code == "lake.type-change"
    slow.finish()
    assert snapshot(lake, "t").files.num_rows == 1
    assert type_of(lake) == pa.int32()


def test_of_several_at_once_one_type_is_stored(
    lake: Lake, schema: pa.Schema, other: pa.Schema, store: Callable[..., int]
) -> None:
    """Whoever stores rows first has settled it; readers see rows of that type alone."""
    open_or_create(lake, "t", schema)

    refused: set[str] = set()

    def attempt(number: int) -> pa.DataType | None:
        mine = (schema, other)[number % 2]
        try:
            store(lake, mine, f"r{number}", f"p{number}")
        except LakeError as error:
            refused.add(error.code)
            return None
        return mine.field("n").type

    with ThreadPoolExecutor(6) as pool:
        stored = [found for found in pool.map(attempt, range(6)) if found is not None]
    assert refused <= {"lake.type-change", "lake.busy"}
    assert stored
    assert set(stored) == {type_of(lake)}
    assert snapshot(lake, "t").files.num_rows == len(stored)


def test_an_open_table_reads_on(lake: Lake, schema: pa.Schema, other: pa.Schema) -> None:
    reader = open_or_create(lake, "t", schema)
    open_or_create(lake, "t", other)
    assert pa.schema(reader.schema()).field("n").type == pa.int64()
    assert reader.to_pyarrow_table().num_rows == 0
    reader.update_incremental()
    assert pa.schema(reader.schema()).field("n").type == pa.int32()
    earlier = open_at(lake.table_root("t"), "t", 0)
    assert earlier is not None
    assert pa.schema(earlier.schema()).field("n").type == pa.int64()

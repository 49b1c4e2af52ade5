"""Statements about OTAP tables, their files and reconstruction; numbers are those of the list in docs/windows.md."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from otaprotations import rotated
from otaptables import simple, tables_of, told_by_tables, write
from otlprequests import (
    Told,
    told_by_request,
)
from upstreamfiles import Exporter
from windowruns import run

from tailrace.core.errors import DataError
from tailrace.lake.place import LocalPlace
from tailrace.windows.asking import ask
from tailrace.windows.files import file_number, new_name
from tailrace.windows.reading import read_parts
from tailrace.windows.schema import ATTRS, LOGS, TABLES
from tailrace.windows.writer import OtapWriter


def test_a06_only_whole_files_of_the_right_name_are_read(tmp_path: Path) -> None:
    write(tmp_path, simple("shop", ["a", "b"]))
    (whole,) = (tmp_path / "logs").rglob("*.parquet")
    for name in (f"{whole.name}#1", "_SUCCESS", f".{whole.name}.crc", ".hidden.parquet", "other.parquet"):
        (whole.parent / name).write_bytes(b"not a table")
    (tmp_path / "logs" / "_part_id=empty").mkdir()
    (tmp_path / "logs" / "_temporary").mkdir()
    assert told_by_tables(tmp_path) == told_by_request(simple("shop", ["a", "b"]))
    broken = whole.with_name(new_name())
    broken.write_bytes(whole.read_bytes()[:-20])
    with pytest.raises(DataError, match="not a whole Parquet file") as failure:
        told_by_tables(tmp_path)
    assert broken.name in str(failure.value)


@pytest.mark.parametrize("table", ["logs", "log_attrs"])
def test_a_file_that_is_gone_when_it_is_opened(table: str, tmp_path: Path) -> None:
    """As one is that is deleted between the two: here a link shows it, and leads nowhere."""
    write(tmp_path / "in", simple("shop", ["a", "b"]))
    (file,) = (tmp_path / "in" / table).rglob("*.parquet")
    file.unlink()
    file.symlink_to(tmp_path / "nowhere")
    with pytest.raises(DataError, match="the file is gone") as failure:
        run(tmp_path)
    assert (failure.value.code, file.name in str(failure.value)) == ("window.gone-file", True)


@pytest.mark.parametrize("column", ["time_unix_nano", "parent_id"])
def test_columns_of_another_type(column: str, tmp_path: Path) -> None:
    write(tmp_path / "in", simple("shop", ["a", "b"]))
    (file,) = (tmp_path / "in" / ("log_attrs" if column == "parent_id" else "logs")).rglob("*.parquet")
    table = pq.ParquetFile(file).read()
    pq.write_table(table.set_column(table.column_names.index(column), column, pa.array(["x"] * len(table))), file)
    with pytest.raises(DataError) as failure:
        run(tmp_path)
    assert (failure.value.code, file.name in str(failure.value)) == ("window.damaged-file", True)


def test_a07_an_absent_table_is_an_empty_one(tmp_path: Path) -> None:
    request = simple("shop", ["a", "b"], attributes=False)
    del request[0]["attributes"]
    del request[0]["scopes"][0]["attributes"]
    write(tmp_path, request)
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
    (part,) = read_parts(LocalPlace(str(tmp_path)))
    assert [len(part.tables.of(name)) for name in TABLES] == [2, 0, 0, 0]
    assert part.tables.log_attrs.schema == ATTRS
    assert told_by_tables(tmp_path) == told_by_request(request)
    assert list(read_parts(LocalPlace(str(tmp_path / "nothing")))) == []


def test_a08_files_of_different_writers_are_read_together(tmp_path: Path) -> None:
    plain, coded = Exporter(tmp_path, "one"), Exporter(tmp_path, "two", dictionaries=True, event_name=False)
    requests = [simple("shop", ["a", "b"]), simple("bank", ["c"], attributes=False), simple("post", ["d", "e"])]
    plain.export(tables_of(requests[0]))
    plain.flush()
    coded.export(tables_of(requests[2]))
    coded.flush()
    unidentified = Exporter(tmp_path, "three")
    unidentified.export(tables_of(requests[1]))
    unidentified.flush()
    write(tmp_path, simple("ours", ["f"]))
    types = {pq.read_schema(path).field("id").type for path in (tmp_path / "logs").rglob("*.parquet")}
    assert types == {pa.uint16(), pa.uint32()}
    parts = list(read_parts(LocalPlace(str(tmp_path))))
    assert {part.part_id for part in parts} >= {"one", "two", "three"}
    assert all(part.tables.logs.schema == LOGS for part in parts)
    assert {part.part_id: part.unresolved for part in parts if part.unresolved} == {"three": 1}
    told = told_by_tables(tmp_path)
    for request in (requests[0], requests[2], simple("ours", ["f"])):
        assert told_by_request(request) <= told
    assert told.total() == 6


def test_a10_attributes_are_found_by_id_not_by_name_or_time(tmp_path: Path) -> None:
    write(tmp_path, simple("shop", ["a"]), simple("bank", ["b"]), rows_per_file=1)
    for path in (tmp_path / "log_attrs").rglob("*.parquet"):
        created = int(path.name.split("-")[1])
        path.rename(path.with_name(path.name.replace(str(created), str(created + 600_000))))
    expected = told_by_request(simple("shop", ["a"])) + told_by_request(simple("bank", ["b"]))
    assert told_by_tables(tmp_path) == expected


def test_a11_whoever_sees_logs_sees_their_attributes(tmp_path: Path) -> None:
    """A writer rotates its files while a reader reads; a thousand rotations are in tests/long."""
    assert rotated(tmp_path, rotations=100) > 1
    assert list(told_by_tables(tmp_path).values()) == [100]


@pytest.mark.parametrize("resources", [1, 2, 4])
def test_a21_upstream_files_resources_are_recovered(resources: int, tmp_path: Path) -> None:
    dice = random.Random(resources)
    exporter = Exporter(tmp_path, "core-0")
    expected: Told = Counter()
    total = 0
    for batch in range(50):
        request = [
            simple(f"{batch}/{number}", ["x"] * dice.randrange(1, 6))[0]
            for number in range(dice.randrange(1, resources + 1))
        ]
        expected += told_by_request(request)
        tables = tables_of(request)
        total += len(tables.logs)
        exporter.export(tables)
        if dice.random() < 0.2:
            exporter.flush()
    exporter.flush()
    assert sum(part.unresolved for part in read_parts(LocalPlace(str(tmp_path)))) == 0
    assert told_by_tables(tmp_path) == expected
    # The join of the specification is right in the first batch only.
    joined = duckdb.sql(
        f"""select count(*) from read_parquet('{tmp_path}/logs/*/*.parquet') l
        join read_parquet('{tmp_path}/resource_attrs/*/*.parquet') r on r.parent_id = l.resource.id
        join read_parquet('{tmp_path}/log_attrs/*/*.parquet') a on a.parent_id = l.id and a.key = 'of'
        where r.str = a.str"""
    ).fetchall()
    assert joined[0][0] <= 5 * resources < total


def test_a21_what_cannot_be_told_is_counted_and_never_wrong(tmp_path: Path) -> None:
    dice = random.Random(5)
    exporter = Exporter(tmp_path, "core-0")
    expected: Told = Counter()
    for batch in range(60):
        request = [
            simple(f"{batch}/{n}", ["x"] * dice.randrange(1, 4), attributes=dice.random() < 0.7)[0]
            for n in range(dice.randrange(1, 4))
        ]
        expected += told_by_request(request)
        exporter.export(tables_of(request))
    exporter.flush()
    (part,) = read_parts(LocalPlace(str(tmp_path)))
    assert 0 < part.unresolved < len(part.tables.logs)
    told = told_by_tables(tmp_path)
    wrong = told - expected
    assert wrong.total() == part.unresolved
    assert not [record for record in wrong if "service.name" in record]


def test_a_writer_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def interrupted() -> None:
        with OtapWriter(LocalPlace(str(tmp_path))) as writer:
            writer.write(tables_of(simple("shop", ["a"])))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [name for _, _, names in os.walk(tmp_path) for name in names] == []


def test_files_whose_logs_would_have_the_same_ids_are_refused(tmp_path: Path) -> None:
    names = (
        "part-1790000099111-4fcb1801-1686-49e0-9f55-5ffba8bc29e9.parquet",
        "part-1790000211270-00795aac-30c1-4ce2-917b-8d3c555015f9.parquet",
    )
    assert file_number(names[0]) == file_number(names[1])
    for _ in names:
        write(tmp_path / "in", simple("shop", ["a"], attributes=False))
    first, second = sorted((tmp_path / "in" / "logs").iterdir())
    for folder, name in zip((first, second), names, strict=True):
        (file,) = folder.iterdir()
        file.rename(folder / name)
    # In partitions of their own they do no harm.
    base = LocalPlace(str(tmp_path / "in"))
    assert len(ask(base, "select distinct _part_id, id from logs")) == 2
    (second / names[1]).rename(first / names[1])
    for read in (lambda: ask(base, "select * from logs"), lambda: run(tmp_path)):
        with pytest.raises(DataError, match=f"{names[0]} and {names[1]}") as refused:
            read()
        assert (refused.value.code, refused.value.where) == ("window.same-ids", str(first))
    (first / names[1]).rename(first / names[1].replace("f9.parquet", "f8.parquet"))
    assert len(ask(base, "select distinct id from logs")) == 2
    assert run(tmp_path).state.logs == 2

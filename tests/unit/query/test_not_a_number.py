"""NaN is above all numbers, and is found: in files of the lake by whoever reads them, and in those of answers."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from world import World

from tailrace.config.tables import tables_for
from tailrace.lake.bounded import bounded
from tailrace.lake.rewrite import copy_without
from tailrace.lake.snapshot import files_of, snapshot
from tailrace.query.engine import Engine
from tailrace.query.files import Destination, form_of

TABLE = """
table "t" {
  column "tp_timestamp" { source = "at" }
  column "n" { type = "integer" }
  column "took" { type = "double" }
  column "load" { type = "float" }
}
"""
NAN = float("nan")
WHERES = ["isnan(took)", "took > 5", "not took <= 5", "took = 'nan'", "isnan(load)", "load > 5", "5 < load"]


@pytest.fixture
def collected(world: World, tmp_path: Path) -> World:
    logs = tmp_path / "logs"
    logs.mkdir()
    for number, place in enumerate((0, 2)):
        real = [1.0, 2.0, 3.0]
        real[place] = NAN
        rows = {
            "at": [f"2024-05-01T0{number}:00:0{n}Z" for n in range(3)],
            "n": pa.array([1, 2, 3], pa.int32()),
            "took": real,
            "load": pa.array(real, pa.float32()),
        }
        pq.write_table(pa.table(rows), logs / f"{number}.parquet")
    source = f'source "file" {{\n paths = ["{logs}"]\n format = format.parquet.default\n }}'
    world.write_config(f'partition "t" "p" {{\n {source}\n }}\n' + TABLE)
    (report,) = world.collect()
    assert report.counts.stored == 6
    return world


def engine(world: World) -> Engine:
    return Engine(world.lake, lambda: {"t": tables_for(world.config(), "t")})


def files(world: World) -> list[str]:
    seen = snapshot(world.lake, "t")
    return [seen.root.address(file.path) for file in files_of(seen.files, "p")]


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("where", WHERES)
def test_in_files_of_the_lake(collected: World, where: str, merged: bool) -> None:
    if merged:
        collected.compact()
    (result,) = engine(collected).run(f"select count(*) from t where {where}")
    assert list(result.rows) == [(2,)]
    found = duckdb.connect().execute(f"from read_parquet({files(collected)}) select n where {where}")
    assert len(found.fetchall()) == 2


@pytest.mark.parametrize("where", WHERES)
def test_in_a_file_written_anew(collected: World, where: str) -> None:
    seen = snapshot(collected.lake, "t")
    file = files_of(seen.files, "p")[0]
    with pq.ParquetFile(seen.root.address(file.path)) as source:
        marks = [pc.equal(source.read_row_group(group, ["n"]).column("n"), 2) for group in range(source.num_row_groups)]
        made = copy_without(source, marks, seen.root, "tp_partition=p/anew.parquet", file)
    sql = f"from read_parquet('{seen.root.address(made.path)}') select n where {where}"
    assert len(duckdb.connect().execute(sql).fetchall()) == made.rows // 2


def test_in_the_file_of_an_answer(collected: World, tmp_path: Path) -> None:
    path = tmp_path / "answer.parquet"
    with Destination(form_of(path), path) as destination:
        (result,) = engine(collected).run("from t select n, took, {'load': load} as s", as_arrow=True)
        destination.write(result)
    for where in ("took > 5", "s.load > 5", "isnan(s.load)"):
        assert len(duckdb.connect().execute(f"from '{path}' where {where}").fetchall()) == 2
    group = pq.read_metadata(path).row_group(0)
    assert group.column(0).statistics.max == 3, "of all others there are bounds"


def test_bounds_of_structs_but_not_of_lists() -> None:
    inner = pa.struct([("a", pa.int8()), ("b", pa.float64()), ("c", pa.struct([("d.e", pa.string())]))])
    words = pa.dictionary(pa.int32(), pa.string())
    fields = [("s", inner), ("x", pa.float32()), ("l", pa.list_(pa.int8())), ("w", words), ("m", pa.decimal128(9, 2))]
    assert bounded(pa.schema(fields)) == ["s.a", "s.c.d.e", "w", "m"]

"""Answers in files and in every form, as rows come."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from commandline import Home

from tailrace.core import QueryError, UsageError
from tailrace.lake.paths import Lake
from tailrace.query.answering import answer
from tailrace.query.engine import Engine, Result
from tailrace.query.files import FORMS, Destination, form_of
from tailrace.query.render import Style

SQL = "select i as n, 'a|b' || chr(9) || i as t, case when i = 1 then null else i / 2 end as half from range(3) r(i)"
KILOBYTES = 1024
"Of a megabyte."


@pytest.fixture
def made(tmp_path: Path) -> Engine:
    return Engine(Lake(tmp_path / "home"))


def write(made: Engine, path: Path, sql: str = SQL, style: Style | None = None) -> list[str]:
    told: list[str] = []
    with Destination(form_of(path), path, style=style or Style()) as destination:
        times = answer(made, sql, destination, told.append, timing=True)
    return told + times


def shown(made: Engine, form: str, sql: str = SQL) -> str:
    out = io.StringIO()
    answer(made, sql, Destination(form, None, out), lambda _: None)
    return out.getvalue()


@pytest.mark.parametrize(
    "name", ["x.csv", "x.CSV.gz", "x.tsv", "x.json", "x.jsonl", "x.ndjson.gz", "x.parquet", "x.arrow"]
)
def test_a_file_holds_the_answer(made: Engine, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    told = write(made, path)
    assert told[0].startswith("3 rows in ")
    content = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    expected = [(0, "a|b\t0", 0.0), (1, "a|b\t1", None), (2, "a|b\t2", 1.0)]
    if ".csv" in name.lower():
        rows = list(csv.reader(io.StringIO(content.decode())))
        assert rows == [["n", "t", "half"], ["0", "a|b\t0", "0.0"], ["1", "a|b\t1", ""], ["2", "a|b\t2", "1.0"]]
    elif ".tsv" in name:
        assert content.decode() == "n\tt\thalf\n0\ta|b\\t0\t0.0\n1\ta|b\\t1\t\\N\n2\ta|b\\t2\t1.0\n"
    elif "json" in name:
        found = json.loads(content) if name == "x.json" else [json.loads(line) for line in content.splitlines()]
        assert [tuple(row.values()) for row in found] == expected
    else:
        table = pq.read_table(path) if name == "x.parquet" else feather.read_table(path)
        assert list(zip(*table.to_pydict().values(), strict=True)) == expected
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == [name], "nothing else is left"


def test_markdown(made: Engine) -> None:
    assert shown(made, "markdown", "select 1 as n, 'a|b <x>' as t, null::varchar as z") == (
        "| n | t | z |\n| ---: | --- | --- |\n| 1 | a\\|b &lt;x> |  |\n"
    )


def test_headers_and_separators(made: Engine, tmp_path: Path) -> None:
    write(made, tmp_path / "x.csv", "select 1 as a, 'x;y' as b, 'p,q' as c", Style(header=False, separator=";"))
    assert (tmp_path / "x.csv").read_text() == '1;"x;y";"p,q"\n'
    write(made, tmp_path / "x.tsv", "select 1 as a", Style(header=False))
    assert (tmp_path / "x.tsv").read_text() == "1\n"


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("parquet", "arrow", "chart")])
def test_an_answer_without_rows(made: Engine, form: str) -> None:
    shown(made, form, "select 1 as a, 2 as b limit 0")


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
def test_an_empty_file_has_columns(made: Engine, tmp_path: Path, name: str) -> None:
    write(made, tmp_path / name, "select 1 as a, 'x' as b limit 0")
    table = pq.read_table(tmp_path / name) if name == "x.parquet" else feather.read_table(tmp_path / name)
    assert (table.num_rows, table.column_names) == (0, ["a", "b"])


def test_what_is_created_on_the_way_is_no_answer(made: Engine, tmp_path: Path) -> None:
    created = "create macro one() as 1; create view v as select one() as a; create table t as from v; from t"
    assert shown(made, "csv", created) == "a\n1\n"
    write(made, tmp_path / "x.parquet", created.replace("create", "create or replace"))
    assert pq.read_table(tmp_path / "x.parquet").to_pydict() == {"a": [1]}
    assert made.answering("create type mood as enum ('good'); insert into t values (2); pivot t on a") == 2


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.csv.gz"])
def test_a_file_is_whole_or_as_it_was(made: Engine, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("before")
    fails_late = "select case when i = 200000 then error('late') else i end as n from range(300000) t(i)"
    with pytest.raises(QueryError, match="late"):
        write(made, tmp_path / name, fails_late)
    assert (tmp_path / name).read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == [name]


def test_a_link_is_followed(made: Engine, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    for name in ("there.csv", "absent.csv"):
        (tmp_path / name).symlink_to(tmp_path / "far" / name)
    (tmp_path / "far" / "there.csv").write_text("before")
    for name in ("there.csv", "absent.csv"):
        write(made, tmp_path / name, "select 1 as a")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "far" / name).read_text() == "a\n1\n"
    assert sorted(entry.name for entry in (tmp_path / "far").iterdir()) == ["absent.csv", "there.csv"]


def test_what_is_no_plain_file_is_written_into(made: Engine, tmp_path: Path) -> None:
    """Whoever is root could otherwise put a file in the place of /dev/null."""
    pipe, link = tmp_path / "pipe.csv", tmp_path / "link.csv"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            write(made, path, "select 1 as a")
            assert os.read(reader, 100) == b"a\n1\n"
        finally:
            os.close(reader)
        assert pipe.is_fifo()
    assert sorted(entry.name for entry in tmp_path.iterdir() if not entry.is_dir()) == ["link.csv", "pipe.csv"]


def test_parquet_holds_one_answer(made: Engine, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="parquet holds one answer"):
        write(made, tmp_path / "x.parquet", "select 1; select 2")
    write(made, tmp_path / "x.jsonl", "select 1 as a; select 2 as b")
    assert (tmp_path / "x.jsonl").read_text() == '{"a": 1}\n{"b": 2}\n'


def test_what_parquet_cannot_hold(made: Engine, tmp_path: Path) -> None:
    with pytest.raises(QueryError) as raised:
        write(made, tmp_path / "x.parquet", "select interval 1 month as i")
    assert "cast the column" in (raised.value.hint or "")


def test_names_that_tell_no_form_and_places_that_are_not_there(made: Engine, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="tells no form"):
        form_of(tmp_path / "x.doc")
    with pytest.raises(UsageError, match="cannot write"):
        write(made, tmp_path / "absent" / "x.csv")


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "arrow"])
@pytest.mark.parametrize("rows", [1, 50_000])
def test_a_disk_that_is_full(made: Engine, form: str, rows: int) -> None:
    """A small answer fails when the file is closed, a large one before."""
    with pytest.raises(UsageError) as raised, Destination(form, Path("/dev/full")) as destination:
        answer(made, f"select i, md5(i::varchar) as t from range({rows}) r(i)", destination, lambda _: None)
    assert raised.value.code == "usage.cannot-write"
    assert raised.value.message == "cannot write /dev/full: No space left on device"
    assert Path("/dev/full").is_char_device()


def test_names_full_of_quotes(made: Engine, tmp_path: Path) -> None:
    path = tmp_path / 'it\'s "x"; drop table.csv'
    write(made, path, 'select 1 as "a\'b""c; drop"')
    assert path.read_text() == '"a\'b""c; drop"\n1\n'


def test_arrow_on_a_pipe_is_a_stream(tmp_path: Path) -> None:
    with Home(tmp_path).start("query", SQL, "--output", "arrow") as process:
        assert process.stdout is not None
        table = pa.ipc.open_stream(process.stdout.buffer).read_all()
    assert (process.returncode, table.column("n").to_pylist()) == (0, [0, 1, 2])


_PROGRAM = """
import sys
from tailrace.cli.main import run
try:
    run()
finally:
    sys.stderr.write(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_memory_does_not_grow_with_the_answer(tmp_path: Path, form: str) -> None:
    """400 MB of rows; other forms, and ten million rows, are in `tests/long/test_large_answers.py`."""
    sql = "select i, repeat(md5((i % 1000)::varchar), 60) as t from range(200000) r(i)"
    with open("/dev/null", "wb") as nowhere:
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, "query", sql, "--output", form],
            env=Home(tmp_path).environment(), stdout=nowhere, stderr=subprocess.PIPE, text=True, timeout=240,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stderr.split()[-2]) < 380 * KILOBYTES, done.stderr


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
def test_pieces_of_a_file_are_neither_tiny_nor_huge(made: Engine, tmp_path: Path, name: str) -> None:
    """Narrow rows by the hundred thousand, wide ones by bytes; JSON, lists and structs among them."""
    row = "i, repeat('x', {width}) as t, to_json(i) as j, [i] as l, {{'a': i}} as s"
    for width, rows in ((10, 200_000), (15_000, 5_000)):
        sql = f"select {row.format(width=width)} from range({rows}) r(i)"
        write(made, tmp_path / name, sql)
        if name == "x.parquet":
            told = pq.ParquetFile(tmp_path / name).metadata
            pieces = [told.row_group(n).num_rows for n in range(told.num_row_groups)]
        else:
            file = pa.ipc.open_file(tmp_path / name)
            pieces = [file.get_batch(n).num_rows for n in range(file.num_record_batches)]
        assert sum(pieces) == rows
        assert 2 <= len(pieces) <= 4, pieces


def test_duckdb_reads_what_was_written(made: Engine, tmp_path: Path) -> None:
    write(made, tmp_path / "x.parquet")
    assert duckdb.sql(f"select sum(n) from '{tmp_path}/x.parquet'").fetchall() == [(3,)]


@pytest.mark.parametrize("name", ["x.parquet.gz", "x.arrow.gz", "X.PARQUET.GZ"])
def test_a_name_that_promises_gzip(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="would not be gzip") as raised:
        form_of(tmp_path / name)
    assert "leave out .gz" in (raised.value.hint or "")


@pytest.mark.parametrize(("count", "expected"), [(0, "[]\n"), (1, [[{"a": 0}]]), (3, [[{"a": n}] for n in range(3)])])
def test_several_answers_are_one_document(count: int, expected: object) -> None:
    out = io.StringIO()
    with Destination("json", None, out, several=True) as destination:
        for number in range(count):
            destination.write(Result(("a",), ("INTEGER",), iter([(number,)])))
    assert out.getvalue() == expected if count == 0 else json.loads(out.getvalue()) == expected

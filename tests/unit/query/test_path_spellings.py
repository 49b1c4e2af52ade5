"""A path is what DuckDB makes of it, however it is spelled."""

from __future__ import annotations

import glob
from pathlib import Path

import pytest
from smalllake import answer, engine, made_in
from world import World

from tailrace.core import QueryError
from tailrace.query.limits import Limits


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> World:
    return made_in(tmp_path_factory.mktemp("spellings"))


@pytest.mark.parametrize("spelling", ["{}", "file:{}", "file://{}", "file://localhost{}"])
def test_the_lake_is_not_written_by_its_urls(
    filled: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    monkeypatch.chdir(tmp_path)
    target = filled.home / "data" / "x.csv"
    with pytest.raises(QueryError, match="belongs to the lake"):
        answer(engine(filled, limits=Limits(writable=(".",))), f"copy hits to '{spelling.format(target)}'")
    elsewhere = spelling.format(tmp_path.parent / "x.csv")
    with pytest.raises(QueryError, match="SQL may not write"):
        answer(engine(filled, limits=Limits(writable=(".",))), f"copy hits to '{elsewhere}'")
    assert not target.exists()


@pytest.mark.parametrize("spelling", ["FILE://{}", "File:{}", "duckdb:{}", "DuckDB:FILE://{}", "duckdb:file:{}"])
def test_nor_is_it_by_the_names_of_kinds_of_databases(
    filled: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    monkeypatch.chdir(tmp_path)
    made = engine(filled, limits=Limits(writable=(".",)))
    lake, elsewhere = filled.home / "data" / "x.db", tmp_path.parent / "x.db"
    for target, why in ((lake, "belongs to the lake"), (elsewhere, "SQL may not write")):
        with pytest.raises(QueryError, match=why):
            answer(made, f"attach '{spelling.format(target)}' as x")
        assert not target.exists()


def test_a_place_that_is_no_path_has_to_be_named(
    filled: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named = f"duckdb:{tmp_path}/own"
    for target in ("s3://bucket/x.csv", "duckdb:x.db", f"{named}/../x.db", f"{named}er/x.db"):
        with pytest.raises(QueryError, match="SQL may not write"):
            answer(engine(filled, limits=Limits(writable=(".", named))), f"copy hits to '{target}'")
    (tmp_path / "own").mkdir()
    answer(engine(filled, limits=Limits(writable=(f"{named}/",))), f"attach '{named}/x.db' as x; detach x")
    assert (tmp_path / "own" / "x.db").exists()


@pytest.mark.parametrize("sql", [
    "from '{}'", "from 'FILE:{}'", "from 'file:{}'", "from 'file://{}'", "from 'file://localhost{}'",
    "summarize $${}$$", "summarize E'{}'", "with x as (summarize $a${}$a$) from x", "explain analyze summarize $${}$$",
])  # fmt: skip
def test_a_sandbox_does_not_read_files_of_the_lake(filled: World, sql: str) -> None:
    file = glob.glob(f"{filled.lake.data_root}/tp_table=hits/**/*.parquet", recursive=True)[0]
    with pytest.raises(QueryError, match="by their names"):
        answer(engine(filled, limits=Limits(sandboxed=True)), sql.format(file))


def refused(filled: World, sql: str) -> bool:
    """Is it ours to refuse, and not that DuckDB finds no such file?"""
    with pytest.raises(QueryError) as told:
        answer(engine(filled, limits=Limits(sandboxed=True)), sql)
    return "by their names" in str(told.value)


def test_names_of_several_parts_are_paths(tmp_path: Path) -> None:
    """Of a table that it does not know DuckDB opens the file; `~/.tailrace` has a dot in its path."""
    filled = made_in(tmp_path / ".hidden")
    file = glob.glob(f"{filled.lake.data_root}/tp_table=hits/**/*.parquet", recursive=True)[0]
    before, after = file.removesuffix(".parquet").split("/.hidden/")
    for name in (
        f'"{before}/"."hidden/{after}"."parquet"',
        f'"{before}/" . /* so */ "hidden/{after}".parquet',
        f'"{before}/"."hidden/{after}.parquet"',
        f'"file:{before}/"."hidden/{after}.parquet"',
        f'"{before}/.hidden/{after}".parquet',
    ):
        assert refused(filled, f"select count(*) from {name}"), name
        assert refused(filled, f"with x as (from {name}) select 1 from hits, x"), name
    with_alias = 'select h."n", tailrace.hits.account from tailrace."hits" h, hits where h.n = 0 limit 0'
    assert answer(engine(filled, limits=Limits(sandboxed=True)), with_alias) == []


@pytest.mark.parametrize(
    "prefix", ["", "main.", "memory.main.", "tailrace.", "system.main.", "system.", '"System".', "pg_catalog."]
)
@pytest.mark.parametrize("function", ["histogram", "histogram_values"])
def test_no_table_is_named_by_a_value(filled: World, prefix: str, function: str) -> None:
    """DuckDB has functions that run `query_table` on their argument, which may be computed."""
    file = glob.glob(f"{filled.lake.data_root}/tp_table=hits/**/*.parquet", recursive=True)[0]
    named = f"'{file[:9]}' || '{file[9:]}'"
    for call in (f"{function}({named}, n)", f"{function}({named}, n, bin_count := 3)"):
        with pytest.raises(QueryError, match=r"by their names|not in the catalog|does not exist"):
            answer(engine(filled, limits=Limits(sandboxed=True)), f"from {prefix}{call}")
    assert answer(engine(filled), f"select count(*) > 0 from {function}({named}, n)") == [(True,)]


def test_a_histogram_of_a_column_may_be_asked_for(filled: World) -> None:
    sql = "select histogram(n % 2) from hits"
    assert answer(engine(filled, limits=Limits(sandboxed=True)), sql) == [({0: 36, 1: 36},)]


def test_from_within_the_lake_no_file_is_read_either(filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path(glob.glob(f"{filled.lake.data_root}/tp_table=hits/**/*.parquet", recursive=True)[0])
    monkeypatch.chdir(file.parent)
    for name in (f"'{file.name}'", f'"{file.stem}".parquet', "'*.parquet'", '"*".parquet', "'[0-9]*.parquet'", '"?*"'):
        assert refused(filled, f"select count(*) from {name}"), name


def test_what_was_fetched_for_others_is_the_lake_too(
    filled: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sandbox over a lake in an object store may open files in the cache directory."""
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    assert refused(filled, f"select count(*) from '{tmp_path}/cache/lake/sessions/*/*.parquet'")


def test_texts_of_any_kind_are_values_in_a_sandbox(filled: World) -> None:
    sql = "select $$a/b$$, E'c', 'x' is distinct from $$x$$"
    assert answer(engine(filled, limits=Limits(sandboxed=True)), sql) == [("a/b", "c", False)]

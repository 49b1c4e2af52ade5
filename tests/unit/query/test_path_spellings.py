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


@pytest.mark.parametrize("sql", [
    "from '{}'", "from 'file:{}'", "from 'file://{}'", "from 'file://localhost{}'", "summarize $${}$$",
    "summarize E'{}'", "with x as (summarize $a${}$a$) from x", "explain analyze summarize $${}$$",
])  # fmt: skip
def test_a_sandbox_does_not_read_files_of_the_lake(filled: World, sql: str) -> None:
    file = glob.glob(f"{filled.lake.data_root}/tp_table=hits/**/*.parquet", recursive=True)[0]
    with pytest.raises(QueryError, match="by their names"):
        answer(engine(filled, limits=Limits(sandboxed=True)), sql.format(file))


def test_texts_of_any_kind_are_values_in_a_sandbox(filled: World) -> None:
    sql = "select $$a/b$$, E'c', 'x' is distinct from $$x$$"
    assert answer(engine(filled, limits=Limits(sandboxed=True)), sql) == [("a/b", "c", False)]

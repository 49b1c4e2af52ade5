"""What is wrong with SQL is told with the line where it stands, and with the file."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from commandline import Home

from tailrace.core import QueryError
from tailrace.lake.paths import Lake
from tailrace.query.engine import Engine
from tailrace.query.failures import refused

SQL = "select 1;\n\n-- what comes now\n" + "\n" * 7 + "select 1,\n nope;\nselect 2"


def test_lines_are_those_of_all_sql(tmp_path: Path) -> None:
    with pytest.raises(QueryError) as raised:
        list(Engine(Lake(tmp_path)).run(SQL))
    *_, line, mark = raised.value.message.splitlines()
    assert (line, mark) == ("LINE 12:  nope;", " " * len("LINE 12:  ") + "^^^^")


@pytest.mark.parametrize("form", ["table", "json"])
@pytest.mark.parametrize(("sql", "line"), [(SQL, 12), ("select 1;\nselec 2", 2)])
def test_a_file_is_named(tmp_path: Path, sql: str, line: int, form: str) -> None:
    file = tmp_path / "report.sql"
    file.write_text(sql)
    done = Home(tmp_path / "home").run("query", str(file), "--output", form)
    assert done.code == 1
    assert f"error[query]: {file}:{line}: " in done.err


def test_a_mistake_of_duckdbs_own_says_what_to_do() -> None:
    for error in (duckdb.InternalException("INTERNAL Error: x"), duckdb.FatalException("FATAL Error: invalidated")):
        assert ".quit" in (refused(error).hint or "")

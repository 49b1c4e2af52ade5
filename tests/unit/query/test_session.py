"""A conversation: commands and SQL, without the terminal."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from smalllake import engine, expected, made_in
from world import World

from tailrace.core import QueryError, TailraceError, UsageError
from tailrace.query.limits import Limits
from tailrace.query.shell.commands import COMMANDS
from tailrace.query.shell.session import Session, converse, is_whole, obey

HITS = sum(row.table == "hits" for row in expected())


class Talk:
    """A session and what it says."""

    def __init__(self, world: World, limits: Limits | None = None) -> None:
        self.out, self.told = io.StringIO(), list[str]()
        self.session = Session(engine(world, limits=limits), self._shown, self.told.append)

    @contextmanager
    def _shown(self) -> Iterator[TextIO]:
        yield self.out

    def says(self, text: str) -> str:
        self.out.seek(0)
        self.out.truncate()
        self.session.enter(text)
        return self.out.getvalue()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> World:
    return made_in(tmp_path_factory.mktemp("session"))


@pytest.fixture
def talk(filled: World) -> Talk:
    return Talk(filled)


def test_sql(talk: Talk) -> None:
    assert f"│ {HITS:>2} │" in talk.says("select count(*) as n\nfrom hits;")
    assert talk.says("  ;;") == ""


def test_a_pager_that_is_left_early_ends_the_answer_only(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    class Left(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    @contextmanager
    def pager() -> Iterator[TextIO]:
        with suppress(BrokenPipeError):
            yield Left()

    with monkeypatch.context() as now:
        now.setattr(talk.session, "shown", pager)
        talk.session.timing = True
        assert talk.says("from hits;") == ""
    assert f"│ {HITS:>2} │" in talk.says("select count(*) as n from hits;")


def test_tables(talk: Talk) -> None:
    assert [line.split()[1:4:2] for line in talk.says(".tables").splitlines()[3:5]] == [["calls", "36"], ["hits", "72"]]
    assert talk.says(".inspect") == talk.says(".tables;")
    assert "hits" in talk.says(".tables H*")
    assert "calls" not in talk.says(".tables H*")


def test_inspect(talk: Talk) -> None:
    assert "│ n " in talk.says(".inspect HITS")
    assert talk.told[0].startswith("hits: 72 rows of api-1, web, 2024-03-29 to 2024-04-01, 24 files, ")
    with pytest.raises(UsageError) as raised:
        talk.says(".inspect hist")
    assert raised.value.hint == "did you mean 'hits'?"


def test_schema_is_sql(talk: Talk, tmp_path: Path) -> None:
    import duckdb

    for command in (".schema hits", ".schema"):
        connection = duckdb.connect()
        connection.execute(talk.says(command))
        columns = [row[0] for row in connection.execute("describe hits").fetchall()]
        assert {"n", "account", "tp_timestamp"} <= set(columns)


def test_output(talk: Talk) -> None:
    talk.says(".output json")
    assert json.loads(talk.says("select 1 as a")) == [{"a": 1}]
    assert json.loads(talk.says(".tables"))[1]["table"] == "hits"
    talk.says(".output csv")
    talk.says(".header off")
    talk.says(".separator ';'")
    assert talk.says("select 1, 2") == "1;2\n"
    talk.says(".separator |")
    talk.says(".separator ;")
    assert talk.says("select 1, 2") == "1;2\n"
    with pytest.raises(UsageError) as raised:
        talk.says(".output parquet")
    assert ".export FILE" in (raised.value.hint or "")
    talk.says(".output")
    assert talk.told == ["csv"]


def test_timing(talk: Talk) -> None:
    talk.says(".timing on")
    talk.says("select 1; select 2 limit 0")
    talk.says(".timing")
    talk.says("select 1")
    first, one, none, last = talk.told
    assert (first, last) == ("timing is on", "timing is off")
    assert one.startswith("0.")
    assert none.startswith("0.")
    talk.says(".output csv")
    talk.says(".timing on")
    talk.says("select 2 limit 0")
    assert talk.told[-1].startswith("0 rows in 0.")


def test_explain_and_chart_and_export_take_the_last_statement(talk: Talk, tmp_path: Path) -> None:
    for command in (".explain", ".chart", f".export {tmp_path}/x.csv"):
        with pytest.raises(UsageError, match="nothing has been asked yet"):
            talk.says(command)
    talk.says("select tp_date, count(*) from hits group by all;")
    assert "╭" in talk.says(".explain")
    assert "ms" in talk.says(".explain analyze").lower() or talk.says(".explain analyze select 1")
    assert talk.says(".chart").splitlines()[0].startswith("2024-03-29 │██")
    assert talk.says(".chart select 'x', 3").startswith("x │")
    talk.says(f".export {tmp_path}/x.csv")
    assert (tmp_path / "x.csv").read_text().count("\n") == 5
    talk.says(f".export {tmp_path}/y.jsonl select 1 as a")
    assert (tmp_path / "y.jsonl").read_text() == '{"a": 1}\n'
    with pytest.raises(QueryError, match="belongs to the lake"):
        talk.says(f".export {talk.session.engine.tables.lake.data_root}/x.csv")


def test_open_and_read(talk: Talk, tmp_path: Path) -> None:
    import duckdb

    (tmp_path / "it's.csv").write_text("n,word\n1,one\n2,two\n")
    talk.says(f'.open "{tmp_path}/it\'s.csv"')
    assert "│ one  │" in talk.says('select word from hits join "it\'s" using (n) order by n')
    with duckdb.connect(tmp_path / "own.duckdb") as own:
        own.execute("create table t as select 7 as n")
    talk.says(f".open {tmp_path}/own.duckdb mine")
    assert "│ 7 │" in talk.says("select n from mine.t")
    (tmp_path / "a.sql").write_text("select 1 as a; select 2 as b")
    assert "│ 2 │" in talk.says(f".read {tmp_path}/a.sql")
    taken = f".open {tmp_path}/own.duckdb HITS", f".open {tmp_path}/a.sql hits"
    quotes = ".open 'x", ".separator '"
    for command in (".open", f".open {tmp_path}/absent.csv", f".read {tmp_path}/absent.sql", *taken, *quotes):
        with pytest.raises(UsageError):
            talk.says(command)


def test_what_is_wrong_in_a_file_is_told_with_its_name(talk: Talk, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("select 1;\nselect nope")
    with pytest.raises(QueryError) as raised:
        talk.says(f".read {tmp_path}/a.sql")
    assert raised.value.where == f"{tmp_path}/a.sql:2"


def test_a_file_that_is_no_text_does_not_end_the_conversation(talk: Talk, tmp_path: Path) -> None:
    (tmp_path / "utf16.sql").write_text("select 1", encoding="utf-16")
    with pytest.raises(QueryError, match="bytes that are no text"):
        talk.says(f".read {tmp_path}/utf16.sql")


@pytest.mark.parametrize("line", [".open {}/x.csv", ".read {}/x.sql", ".export {}/y.csv select 1", ".output {}/y.csv"])
def test_a_sandbox_neither_reads_nor_writes_files(filled: World, tmp_path: Path, line: str) -> None:
    (tmp_path / "x.csv").write_text("n\n1\n")
    (tmp_path / "x.sql").write_text("select 1")
    with pytest.raises(TailraceError) as raised:
        Talk(filled, Limits(sandboxed=True)).says(line.format(tmp_path))
    # `.output` knows forms alone, wherever it is used.
    assert raised.value.code == ("usage.no-form" if line.startswith(".output") else "query.not-allowed")
    assert not (tmp_path / "y.csv").exists()


def test_a_sandbox_shows(filled: World) -> None:
    talk = Talk(filled, Limits(sandboxed=True))
    assert "hits" in talk.says(".tables")
    assert "│ n " in talk.says(".inspect hits")


def test_help_and_quit(talk: Talk) -> None:
    told = talk.says(".help")
    assert all(command.usage in told for command in COMMANDS.values())
    with pytest.raises(UsageError) as raised:
        talk.says(".tabels")
    assert raised.value.hint == "did you mean '.tables'?"
    talk.says(".exit")
    assert talk.session.is_over


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("select 1;", True), ("select 1", False), ("select ';", False), ("select 1; -- x", True), ("", True),
        ("select 1;  ", True), (".tables", True), ("select 1 -- ;", False), ("select $$;", False),
        ("select 1;\n\n", True), ("-- only this", True),
    ],
)  # fmt: skip
def test_where_sql_ends(text: str, whole: bool) -> None:
    assert is_whole(text) == whole


@given(st.text(max_size=30))
def test_any_text_is_whole_or_not(text: str) -> None:
    if "\0" not in text and text.isprintable():
        assert is_whole(text) in (True, False)


def test_lines_of_a_pipe(talk: Talk) -> None:
    obey(
        talk.session,
        [".output jsonl", "select 1 as a,", "2 as b;", "select 3 as c; select 4 as d", ";", "select 5 as e"],
    )
    assert [json.loads(line) for line in talk.out.getvalue().splitlines()] == [
        {"a": 1, "b": 2}, {"c": 3}, {"d": 4}, {"e": 5},
    ]  # fmt: skip


def test_a_pipe_ends_with_the_first_error(talk: Talk) -> None:
    with pytest.raises(QueryError):
        obey(talk.session, ["select nonsense;", "select 1;"])
    assert talk.out.getvalue() == ""


def test_errors_and_interrupts_do_not_end_a_conversation(talk: Talk) -> None:
    answers: list[str | type[BaseException]] = ["select nonsense;", KeyboardInterrupt, "select 1 as a;", EOFError]
    errors: list[TailraceError] = []

    def ask() -> str:
        given = answers.pop(0)
        if isinstance(given, str):
            return given
        raise given

    converse(talk.session, ask, errors.append)
    assert (len(errors), answers) == (1, [])
    assert "│ 1 │" in talk.out.getvalue()


def test_rows_that_are_collected_meanwhile_are_seen(tmp_path: Path) -> None:
    world = made_in(tmp_path)
    talk = Talk(world)
    talk.says(".output csv")
    assert talk.says("select count(*) as n from hits") == f"n\n{HITS}\n"
    (tmp_path / "logs" / "hits" / "web" / "b.jsonl").write_text(
        '{"at": "2024-04-05T00:00:00Z", "account": "123456789012", "n": 999}\n'
    )
    assert all(report.clean for report in world.collect())
    assert talk.says("select count(*) as n from hits") == f"n\n{HITS + 1}\n"


def test_times_stand_behind_the_answer(filled: World) -> None:
    """What a screen holds back is shown when it is whole."""
    events: list[str] = []

    @contextmanager
    def screen() -> Iterator[TextIO]:
        out = io.StringIO()
        yield out
        events.append(out.getvalue())

    session = Session(engine(filled), screen, events.append, timing=True)
    session.enter("select n from hits limit 4;")
    table, told = events
    assert table.endswith("4 rows\n")
    assert told.startswith("0.")
    assert "row" not in told


def test_help_fits_on_a_terminal(talk: Talk) -> None:
    lines = talk.says(".help").splitlines()
    assert max(map(len, lines)) < 80
    assert len(lines) < 30
    assert all(any(line.startswith(command.usage) for line in lines) for command in COMMANDS.values())


@pytest.mark.parametrize(
    "sql",
    [
        "delete from hits", "update tailrace.hits set n = 1", 'insert into "hits" values (1)', "drop view hits",
        "drop table hits", "truncate hits", "alter table hits add column x int", "  DELETE FROM hits where n = 1",
    ],
)  # fmt: skip
def test_the_lake_is_read_only_and_that_is_said(talk: Talk, sql: str) -> None:
    with pytest.raises(QueryError) as raised:
        talk.says(f"{sql};")
    assert "the lake is read-only" in (raised.value.hint or "")


def test_tables_of_ones_own_are_not_the_lakes(talk: Talk) -> None:
    with pytest.raises(QueryError) as raised:
        talk.says("delete from mine;")
    assert "read-only" not in (raised.value.hint or "")
    talk.says("create table mine as from hits; delete from mine;")
    assert "│ 0 │" in talk.says("select count(*) as n from mine;")

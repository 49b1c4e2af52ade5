"""Lists and single things in every form."""

from __future__ import annotations

import csv
import io
import json
from datetime import date

import pytest

from tailrace.cli.listing import show_one, show_rows, show_several
from tailrace.config import Secret

ROWS: list[dict[str, object]] = [
    {"name": "a,b", "size": 1234, "first": date(2024, 1, 2), "more": ["x", "y"], "hidden": 1},
    {"name": "ü\n", "size": None, "first": None, "more": [], "hidden": 2},
]
COLUMNS = ("name", "size", "first", "more")


def test_plain(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(ROWS, COLUMNS, "plain")
    assert capsys.readouterr().out.splitlines() == [
        "NAME    SIZE  FIRST       MORE",
        "a,b   1.2 kB  2024-01-02  x, y",
        "ü\\n        -  -           -",
    ]


@pytest.mark.parametrize("output", ["table", "pretty"])
def test_table(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(ROWS, COLUMNS, output)
    top, head, rule, first, second, bottom = capsys.readouterr().out.splitlines()
    assert (top[0], top[-1], rule[0], bottom[0]) == ("┌", "┐", "├", "└")
    assert head.split("│")[1:-1] == [" NAME ", " SIZE   ", " FIRST      ", " MORE "]
    assert len({len(line) for line in (top, head, rule, first, second, bottom)}) == 1


def test_json_holds_everything(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(ROWS, COLUMNS, "json")
    assert [row["hidden"] for row in json.loads(capsys.readouterr().out)] == [1, 2]
    show_rows(ROWS, COLUMNS, "jsonl")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == {"name": "a,b", "size": 1234, "first": "2024-01-02", "more": ["x", "y"], "hidden": 1}


def test_csv_is_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(ROWS, COLUMNS, "csv")
    head, first, second = csv.reader(io.StringIO(capsys.readouterr().out))
    assert head == list(COLUMNS)
    assert first == ["a,b", "1234", "2024-01-02", '["x", "y"]']
    assert second == ["ü\n", "", "", "[]"]


def test_line(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(ROWS[:1], COLUMNS, "line")
    assert capsys.readouterr().out.splitlines()[1:3] == ["name  | a,b", "size  | 1.2 kB"]


@pytest.mark.parametrize("output", ["table", "plain", "line", "csv", "json", "jsonl"])
def test_one_thing_with_records_and_a_secret(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_one({"name": "x", "token": Secret("s3cr3t"), "args": {"key": Secret("s3cr3t")}, "rows": ROWS}, output)
    said = capsys.readouterr().out
    assert "s3cr3t" not in said
    assert said.count("***") == 2
    assert "a,b" in said


def test_several_things(capsys: pytest.CaptureFixture[str]) -> None:
    show_several([{"name": "x"}, {"name": "y"}], "json", as_list=True)
    assert json.loads(capsys.readouterr().out) == [{"name": "x"}, {"name": "y"}]
    show_several([{"name": "x"}, {"name": "y"}], "plain", as_list=True)
    assert capsys.readouterr().out == "name  x\n\nname  y\n"


@pytest.mark.parametrize("output", ["table", "plain", "csv", "line", "json", "jsonl"])
def test_an_empty_list(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_rows([], COLUMNS, output)
    assert capsys.readouterr().out.count("\n") == {"table": 4, "plain": 1, "csv": 1, "json": 1}.get(output, 0)


def test_numbers_that_are_names_are_not_grouped(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows([{"pid": 20842, "part_id": 12345, "rows": 20842}], ("pid", "part_id", "rows"), "plain")
    assert capsys.readouterr().out.split() == ["PID", "PART", "ID", "ROWS", "20842", "12345", "20,842"]


def on_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("tailrace.cli.listing._columns", lambda: columns)


SOURCES: list[dict[str, object]] = [
    {"name": "one", "size": 1234, "where": f"{'a' * 90}.tpc:1", "layout": None},
    {"name": "two", "size": 5, "where": f"{'b' * 90}.tpc:2", "layout": "%{DATA}.log"},
]


@pytest.mark.parametrize("output", ["table", "plain"])
def test_tables_inside_fold_where_a_terminal_is_narrow(
    output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_terminal(monkeypatch, 100)
    show_one({"name": "x", "sources": SOURCES}, output)
    assert capsys.readouterr().out.splitlines() == [
        "name  x",
        "",
        "sources:",
        "  name   one",
        "  size   1.2 kB",
        f"  where  {'a' * 90}.tpc:1",
        "",
        "  name    two",
        "  size    5 B",
        f"  where   {'b' * 90}.tpc:2",
        "  layout  %{DATA}.log",
    ]
    on_terminal(monkeypatch, 160)
    show_one({"name": "x", "sources": SOURCES}, output)
    assert "NAME" in capsys.readouterr().out


def test_nothing_is_told_in_words_and_programs_get_their_form(capsys: pytest.CaptureFixture[str]) -> None:
    for output in ("table", "plain", "line"):
        show_rows([], COLUMNS, output, nothing="there is none")
        told = capsys.readouterr()
        assert (told.out, told.err) == ("", "there is none\n")
    for output, text in (("json", "[]\n"), ("jsonl", ""), ("csv", "name,size,first,more\n")):
        show_rows([], COLUMNS, output, nothing="there is none")
        assert capsys.readouterr().out == text

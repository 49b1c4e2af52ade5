"""The shell as a person sees it, in tmux: every key waits for the screen that it belongs to."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commandline import Home
from smalllake import made_in
from tmux import Terminal

ENDLESS = "select count(*) from range(1000000000000) a, range(1000) b;"
COUNTED = """\
tailrace> select account, count(*) as n
      ... from hits
      ... group by all order by all;
┌──────────────┬────┐
│ account      │ n  │
├──────────────┼────┤
│ 123456789012 │ 24 │
│ 210987654321 │ 24 │
│ dev[1]       │ 24 │
└──────────────┴────┘
3 rows
tailrace>"""
EXPORT = """\
tailrace> .export {0}/counts.csv
written to {0}/counts.csv
tailrace>"""
COUNTS = "account,n\n123456789012,24\n210987654321,24\ndev[1],24\n"
CHART = """\
tailrace> .chart
2024-03-29 │████████████████████████████████████████████████████████████████ 18
2024-03-30 │████████████████████████████████████████████████████████████████ 18
2024-03-31 │████████████████████████████████████████████████████████████████ 18
2024-04-01 │████████████████████████████████████████████████████████████████ 18
tailrace>"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(made_in(tmp_path_factory.mktemp("shell")).home)


@pytest.fixture
def opened(filled: Home, tmp_path: Path) -> Callable[..., Terminal]:
    def start(*options: str, size: tuple[int, int] = (80, 24), **env: str) -> Terminal:
        command = [sys.executable, "-m", "tailrace.cli.main", "query", *options]
        environment = filled.environment(TERM="xterm-256color", LC_ALL="C.UTF-8", TAILRACE_PAGER="less -SRX", **env)
        terminal = Terminal(tmp_path, command, environment, size)
        terminal.wait_for(r"^tailrace>$")
        return terminal

    return start


def tail(screen: str, start: str) -> str:
    """From the last line that begins so."""
    return screen[screen.rindex(start) :]


def test_sql_of_several_lines(opened: Callable[..., Terminal]) -> None:
    with opened() as terminal:
        assert "SQL ends with a semicolon; .help says more." in terminal.screen()
        terminal.enter("select account, count(*) as n")
        terminal.enter("from hits")
        terminal.enter("group by all order by all;")
        screen = terminal.wait_for(r"^3 rows\n(tailrace>)$")
        assert tail(screen, "tailrace> select") == COUNTED


def test_colours(opened: Callable[..., Terminal], filled: Home) -> None:
    with opened() as terminal:
        terminal.type("select 'text'")
        terminal.wait_for("'text'")
        assert "\x1b[1m\x1b[34mselect" in terminal.screen(colours=True)
    with opened("--no-color") as terminal:
        terminal.type("select 'text'")
        terminal.wait_for("'text'")
        assert "\x1b[34m" not in terminal.screen(colours=True)


def test_completion(opened: Callable[..., Terminal]) -> None:
    with opened() as terminal:
        terminal.type("select max(n) as most from hi")
        terminal.press("Tab", for_="from hits$")
        terminal.type(" where accou")
        terminal.press("Tab", for_="where account$")
        terminal.enter(" = 'dev[1]';")
        assert "│   71 │" in terminal.wait_for("^1 row$")


def test_ctrl_c_stops_a_statement(opened: Callable[..., Terminal]) -> None:
    with opened() as terminal:
        terminal.enter(ENDLESS)
        terminal.wait_for_work()
        terminal.press("C-c", for_=r"^cancelled\ntailrace>$")
        terminal.type("select nonsense that is given up")
        terminal.press("C-c", for_=r"given up\ntailrace>$")
        terminal.enter("select 41 + 1 as answer;")
        terminal.wait_for(r"│     42 │")


def test_errors_do_not_end_it(opened: Callable[..., Terminal]) -> None:
    with opened(size=(140, 60)) as terminal:
        terminal.enter("select * from hist;")
        terminal.wait_for(r"hint: did you mean 'hits'\?")
        terminal.enter(".inspect hits")
        terminal.wait_for(r"24 files, .* bytes(.*\n)+tailrace>$")
        terminal.enter(".quit")
        terminal.wait_for_end()


def test_charts(opened: Callable[..., Terminal]) -> None:
    with opened() as terminal:
        terminal.enter("select tp_date, count(*) from hits group by all;")
        terminal.wait_for("^4 rows$")
        terminal.enter(".chart")
        assert tail(terminal.wait_for(r"^2024-04-01 │.*\ntailrace>$"), "tailrace> .chart") == CHART


def test_export(opened: Callable[..., Terminal], tmp_path: Path) -> None:
    with opened(size=(140, 24)) as terminal:
        terminal.enter("select account, count(*) as n from hits group by all order by all;")
        terminal.wait_for("^3 rows$")
        terminal.enter(f".export {tmp_path}/counts.csv")
        assert tail(terminal.wait_for(r"^written to .*\ntailrace>$"), "tailrace> .export") == EXPORT.format(tmp_path)
    assert (tmp_path / "counts.csv").read_text() == COUNTS


@pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")
def test_long_answers_are_paged(opened: Callable[..., Terminal]) -> None:
    with opened() as terminal:
        terminal.enter("select i from range(5000000) t(i);")
        screen = terminal.wait_for(r"^:$")
        assert "│ 0 │" in screen.replace(" ", "").replace("│0│", "│ 0 │")
        terminal.press("Space", for_=r"│ +3\d │")
        terminal.press("q", for_=r"^tailrace>$")
        terminal.enter("select 41 + 1 as answer;")
        terminal.wait_for(r"│     42 │")


def test_history(opened: Callable[..., Terminal], filled: Home) -> None:
    with opened() as terminal:
        terminal.enter("select 'first' as a;")
        terminal.wait_for("│ first │")
        terminal.enter("select 'second' as a;")
        terminal.wait_for("│ second │")
    assert (filled.path / "shell_history").stat().st_mode & 0o777 == 0o600
    with opened() as terminal:
        terminal.press("Up", for_="^tailrace> select 'second' as a;$")
        terminal.press("C-c", for_="'second' as a;\ntailrace>$")
        terminal.press("C-r", for_="I-search backward:")
        terminal.type("fir")
        terminal.wait_for("select 'first' as a;")
        terminal.press("Enter", for_="^tailrace> select 'first' as a;$")
        terminal.press("Enter", for_="│ first │")

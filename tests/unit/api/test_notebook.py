"""What a notebook shows, in a real shell of IPython."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cells import notebook, run
from IPython.core.interactiveshell import InteractiveShell
from weblake import made_web

import tailrace
from tailrace.api.collecting import Reports
from tailrace.core import UsageError


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_web(tmp_path_factory.mktemp("notebook")).home


@pytest.fixture
def shell(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("TAILRACE_HOME", str(home))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    with notebook() as opened:
        opened.run_line_magic("load_ext", "tailrace")
        yield opened


def test_a_cell_of_sql(shell: InteractiveShell) -> None:
    answer = run(shell, "%%tailrace\nselect count(*) as n from nginx_access_log")
    assert isinstance(answer, tailrace.Answer)
    assert answer.rows() == [(200,)]
    shown = shell.display_formatter.format(answer)[0]["text/html"]
    assert ">200</td>" in shown
    assert "1 row" in shown
    assert run(shell, "%tailrace select 6 * 7 as answer").rows() == [(42,)]


def test_options_and_variables(shell: InteractiveShell) -> None:
    run(shell, "least = 500")
    run(shell, "%%tailrace failed --from 2024-05-02 --partition web\nfrom nginx_access_log where status >= $least")
    assert run(shell, "len(failed)") == 10
    at = "--at nginx_access_log=2024-01-01"
    assert run(shell, f"%%tailrace --schema first_day {at}\nselect count(*) from nginx_access_log").rows() == [(0,)]
    assert run(shell, "%%tailrace --at 2024-01-01\nselect count(*) from nginx_access_log").rows() == [(0,)]


def test_the_lake_of_the_notebook_is_asked(shell: InteractiveShell, tmp_path: Path) -> None:
    run(shell, f"import tailrace; lake = tailrace.open({str(tmp_path / 'elsewhere')!r})")
    assert run(shell, "%tailrace select count(*) from nginx_access_log").rows() == [(0,)]


def test_options_that_do_not_exist(shell: InteractiveShell) -> None:
    with pytest.raises(UsageError, match="unrecognized"):
        run(shell, "%%tailrace --nothing\nselect 1")


def test_a_cell_that_is_wrong_has_failed(shell: InteractiveShell) -> None:
    """Not only when its answer is shown: cells after it would run."""
    for text in ("%%tailrace\nselect $nope", "%tailrace select nothing from nginx_access_log"):
        assert not shell.run_cell(text).success
    assert not shell.run_cell("%%tailrace kept\nselect 1 as").success
    assert "kept" not in shell.user_ns


def test_what_a_log_holds_is_text(home: Path) -> None:
    lake = tailrace.open(home)
    script = "<script>alert(1)</script>"
    answer = lake.sql(f"""select '{script}' as "<b>", {{'a': [1, null]}} as s, null as n, repeat('x', 999) as l""")
    shown = answer._repr_html_()
    assert "<script" not in shown
    assert "<b>" not in shown
    assert "&lt;script&gt;" in shown
    assert "{&quot;a&quot;: [1, null]}" in shown
    assert f"{'x' * 300}…" in shown


def test_long_answers_are_cut(home: Path) -> None:
    answer = tailrace.open(home).sql("from range(1000)")
    assert answer._repr_html_().count("<tr>") == 81
    assert "the first 80 rows" in answer._repr_html_()
    assert "the first 40 rows" in repr(answer)
    answer.arrow()
    assert "the first 80 rows of 1,000" in answer._repr_html_()


def test_lists_and_reports_are_tables(home: Path) -> None:
    from tailrace.pipeline.report import PartitionReport

    lake = tailrace.open(home)
    assert "nginx_access_log.web" in lake.partitions()._repr_html_()
    assert "2024-05-02" in lake.partitions()._repr_html_()
    assert lake.tables("nginx_*")._repr_html_().count("<tr>") == 3
    assert "a.b" in Reports([PartitionReport("a.b")])._repr_html_()


def test_numbers_stand_right_and_the_style_once(home: Path) -> None:
    shown = tailrace.open(home).sql("select range as n, 'x' as t, true as b, 1.5::decimal(4, 1) as d from range(80)")
    text = shown._repr_html_()
    assert text.count("text-align: right") == 1
    assert '<tr><td class="n">7</td><td>x</td><td>True</td><td class="n">1.5</td></tr>' in text
    assert len(text) < 80 * 100


def test_bytes_look_as_on_the_command_line(home: Path) -> None:
    assert r"<td>\xFFa</td>" in tailrace.open(home).sql(r"select '\xFFa'::blob")._repr_html_()

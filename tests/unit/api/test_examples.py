"""Examples of the documentation and of docstrings, run as they stand."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest
from cells import notebook, run
from weblake import made_web

import tailrace

PAGE = Path(__file__).parents[3] / "docs" / "python.md"
MODULES = ("tailrace", "tailrace.api.lake", "tailrace.api.answer")


def examples(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_web(tmp_path_factory.mktemp("examples")).home


@pytest.fixture
def at_home(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_HOME", str(home))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))


@pytest.mark.usefixtures("at_home")
def test_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, object] = {}
    blocks = examples("python")
    assert len(blocks) >= 6
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), found)
    assert found["frame"].to_dict("list") == {"status": [200, 500], "requests": [180, 20]}  # type: ignore[attr-defined]
    assert found["rows"] == 200
    assert sorted(found["failed"].rows()) == sorted(found["same"].rows())  # type: ignore[attr-defined]
    assert [found[name].rows() for name in ("day", "some")] == [[(100,)], [(200,)]]  # type: ignore[attr-defined]
    assert found["by_page"].sum() == 100  # type: ignore[attr-defined]
    assert found["names"] == ["nginx_access_log", "nginx_error_log"]
    assert found["stale"] == []
    assert capsys.readouterr().out == "200 180\n500 20\nquery did you mean 'nginx_access_log'?\n"


@pytest.mark.usefixtures("at_home")
def test_its_cells() -> None:
    with notebook() as shell:
        for cell in examples("ipython"):
            run(shell, cell)
        assert len(shell.user_ns["failures"]) == 10


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    known = {"tailrace": tailrace, "lake": tailrace.open()}
    tested = doctest.testmod(importlib.import_module(name), extraglobs=known)
    assert tested.attempted
    assert not tested.failed

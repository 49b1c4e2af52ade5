"""Broken files, and what is said about each: `NN_name.tpc` and beside it `NN_name.txt`.

After a wanted change: `pytest tests/golden --update-golden`, and read the difference as someone who made that mistake.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from tailrace.config import Config, ConfigErrors, Problem
from tailrace.config.codes import CODES
from tailrace.config.load import load_texts
from tailrace.config.places import Text
from tailrace.pipeline.check import check

HERE = Path(__file__).parent / "config_errors"
FILES = sorted(HERE.glob("*.tpc"))


def problems(*files: Path) -> tuple[Problem, ...]:
    """All that is wrong with the files, in their order, as `config validate` finds it."""
    texts = [Text(file.name, file.read_bytes(), "no-such-directory") for file in files]
    try:
        return tuple(check(load_texts(texts, now=datetime(2024, 3, 31), environ={})))
    except ConfigErrors as raised:
        return ConfigErrors((*raised.errors, *check(raised.config or Config()))).errors


def rendered(found: tuple[Problem, ...]) -> str:
    return "".join(f"{problem.render()}\n" for problem in found)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_messages(file: Path, request: pytest.FixtureRequest) -> None:
    expected = file.with_suffix(".txt")
    found = rendered(problems(file))
    if request.config.getoption("--update-golden"):
        expected.write_text(found)
    assert found == expected.read_text()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_message_helps(file: Path) -> None:
    for problem in problems(file):
        assert problem.code in CODES
        assert problem.excerpt.endswith("^")
        assert problem.page.startswith("docs/config/")
        assert problem.hint, problem.render()


def test_thirty_different_messages() -> None:
    assert len(FILES) == 30
    first = {problems(file)[0].message for file in FILES}
    assert len(first) == 30


def test_all_errors_of_all_files_in_one_run() -> None:
    together = problems(*FILES)
    assert list(together) == sorted(together, key=lambda problem: problem.place)
    assert rendered(together) == "".join(file.with_suffix(".txt").read_text() for file in FILES)

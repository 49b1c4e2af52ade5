"""How an error is shown."""

from __future__ import annotations

import click
import pytest

from tailrace.cli.main import report
from tailrace.cli.options import Context
from tailrace.core import TailraceError


@pytest.mark.parametrize(("verbose", "times"), [(0, 1), (1, 1), (2, 2)])
def test_twice_verbose_shows_where_it_happened(verbose: int, times: int, capsys: pytest.CaptureFixture[str]) -> None:
    error = TailraceError("ZeroDivisionError: by nothing", code="collect.unexpected")
    error.__cause__ = ZeroDivisionError("by nothing")
    with click.Context(click.Command("collect"), obj=Context(verbose=verbose)):
        report(error)
    told = capsys.readouterr().err
    assert told.startswith("error[collect.unexpected]: ZeroDivisionError: by nothing\n")
    assert told.count("by nothing") == times

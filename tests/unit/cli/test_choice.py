"""Files that the command line names go to a partition whose name is one that the configuration would take."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.cli.choice import Choice
from tailrace.cli.options import Context
from tailrace.config import Config
from tailrace.core import UsageError


@pytest.mark.parametrize("name", ["../../../evil", "a'b", "a.b", "a/b", "*", " x", "a\nb"])
def test_names_that_are_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as raised:
        Choice((), ("x.log",), "syslog", name).specs(Config(), Context(home=str(tmp_path)))
    assert raised.value.code == "usage.bad-name"
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("name", ["web", "web-2 b", "ü_1", None])
def test_names(tmp_path: Path, name: str | None) -> None:
    (spec,) = Choice((), ("x.log",), "syslog", name).specs(Config(), Context(home=str(tmp_path)))
    assert spec.name == (name or "files")

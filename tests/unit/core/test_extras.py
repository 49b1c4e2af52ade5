"""Optional packages are installed from where Tailrace itself came."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

import pytest

from tailrace.core import extras


class Installed:
    def __init__(self, origin: str | None) -> None:
        self.origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.origin


@pytest.mark.parametrize(
    ("origin", "named"),
    [
        (None, "tailrace"),
        ('{"url": "file:///home/me/my%20clone", "dir_info": {"editable": true}}', "/home/me/my clone"),
        ('{"url": "file:///tmp/tailrace-0.1.0-py3-none-any.whl", "archive_info": {}}', "tailrace"),
    ],
    ids=["index", "clone", "wheel"],
)
def test_the_command_names_where_the_package_came_from(
    monkeypatch: pytest.MonkeyPatch, origin: str | None, named: str
) -> None:
    monkeypatch.setattr(extras, "distribution", lambda name: Installed(origin))
    assert extras.install("aws") == f"python -m pip install '{named}[aws]'"


def test_what_is_not_installed_is_taken_from_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "distribution", missing)
    assert extras.install("kafka") == "python -m pip install 'tailrace[kafka]'"

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import conformance
import pytest
from inboxes import CLOUDTRAIL, Inbox
from world import World

FRESH = pytest.StashKey[list[conformance.Row]]()


@pytest.fixture
def inbox(world: World, tmp_path: Path) -> Inbox:
    folder = tmp_path / "logs"
    folder.mkdir()
    return Inbox(world, folder)


@pytest.fixture
def trail(inbox: Inbox) -> Inbox:
    inbox.table = CLOUDTRAIL
    return inbox


# What tests measure on real logs is what the report says


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-conformance", action="store_true", help="write docs/conformance.json anew")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if fresh := session.config.stash.get(FRESH, []):
        conformance.write_report(fresh)


@pytest.fixture(autouse=True)
def reported(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever the test measures stands in the report."""
    before = len(conformance.RECORDED)
    yield
    test = request.node.nodeid.partition("[")[0]
    rows = [conformance.told(measured, test) for measured in conformance.RECORDED[before:]]
    if request.config.getoption("--update-conformance", default=False):
        request.config.stash.setdefault(FRESH, []).extend(rows)
        return
    known = {conformance.key(row): row for row in conformance.reported()} if rows else {}
    for row in rows:
        assert known.get(conformance.key(row)) == row, "run `make conformance`"

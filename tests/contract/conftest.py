from __future__ import annotations

from pathlib import Path

import pytest
from inboxes import CLOUDTRAIL, Inbox
from world import World


@pytest.fixture
def inbox(world: World, tmp_path: Path) -> Inbox:
    folder = tmp_path / "logs"
    folder.mkdir()
    return Inbox(world, folder)


@pytest.fixture
def trail(inbox: Inbox) -> Inbox:
    inbox.table = CLOUDTRAIL
    return inbox

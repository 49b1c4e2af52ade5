from __future__ import annotations

from pathlib import Path

import pytest
from exportsource import Source


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Two partitions, one with an index of odd names; three days."""
    return Source.made(tmp_path)

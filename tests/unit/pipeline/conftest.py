"""Lakes that several files of tests begin with."""

from __future__ import annotations

from pathlib import Path

import pytest
import tieredlake


@pytest.fixture(scope="session")
def five_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tieredlake.filled(tmp_path_factory.mktemp("five days"))


@pytest.fixture
def tiered(five_days: Path, tmp_path: Path) -> tieredlake.Tiered:
    return tieredlake.copied(five_days, tmp_path)

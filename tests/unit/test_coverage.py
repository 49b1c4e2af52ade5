"""docs/coverage.md names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_row_names_tests_that_exist() -> None:
    rows = [row for row in (ROOT / "docs" / "coverage.md").read_text().splitlines() if row.startswith("| ")][1:]
    assert len(rows) > 20
    for row in rows:
        named = re.findall(r"`(tests/[^`]+)`", row.rsplit(" | ", 1)[1])
        assert named, f"no test is named: {row}"
        for path in named:
            assert list(ROOT.glob(path)), f"{path} does not exist: {row}"

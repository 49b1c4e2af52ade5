"""Every statement of the sink has a test with its number, in the place that the documentation says."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (\d+) \| .*", re.M)


def test_every_statement_has_its_test():
    rows = {int(row[1]): row[0] for row in ROW.finditer((ROOT / "docs/statements.md").read_text())}
    assert list(rows) == list(range(1, 41))
    for number, row in rows.items():
        files = re.findall(r"`(tests/\S+\.py)`", row.split(" | ")[2])
        assert files, number
        for file in files:
            assert f"def test_{number:02d}_" in (ROOT / file).read_text(), (number, file)

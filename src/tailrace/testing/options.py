"""Options of pytest. Loaded whenever pytest runs, so it imports nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tailrace")
    group.addoption(
        "--tailrace-golden", metavar="DIR", type=Path, action="append", default=[],
        help="directory of golden pairs, TABLE/in.* and TABLE/out.jsonl; may be repeated",
    )  # fmt: skip
    group.addoption(
        "--tailrace-update-golden", action="store_true", help="write out.jsonl anew; then read the difference"
    )

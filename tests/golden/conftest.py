from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", dest="tailrace_update_golden", action="store_true", help="as --tailrace-update-golden"
    )

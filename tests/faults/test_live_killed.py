"""Live data: spool and sink killed at every step. What was acknowledged is in the files, once.

Statements 16 and 17 of the sink, step by step; tests/long/test_live_kills.py has them with a million events.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tailrace.lake.steps import SINKING, SPOOLING


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    program = Path(__file__).with_name("live_once.py")
    place = tmp_path_factory.mktemp("live")
    run = subprocess.run([sys.executable, str(program), str(place)], stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize("step", SPOOLING)
def test_17_what_the_spool_acknowledged_is_there_once(told, step):
    found = told["spool"][step]
    assert found["killed"] == [True, True, False]
    assert len(found["acknowledged"]) >= 40
    assert found["found"] == sorted(set(found["found"]))
    assert set(found["acknowledged"]) <= set(found["found"])


@pytest.mark.parametrize("step", SINKING)
def test_16_a_sink_stores_every_row_once(told, step):
    undisturbed, found = told["sink"][""], told["sink"][step]
    assert True in found["killed"]
    assert sorted(found["rows"]) == sorted(undisturbed["rows"])
    assert len(undisturbed["rows"]) == 2 * 12 * (10 + 1 + 1)
    assert found["left"] == [0, 0, 0]
    assert found["segments"] == []

"""A sink of the lake killed at every step: each acknowledged row is in the table once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tailrace.lake.steps import ARRIVING

TELLING = ("segment-written", "committed")
"Before and behind the commit."
OTHERS = (
    "manifest-written", "segment-staged", "manifest-removed", *ARRIVING,
    "recovery-fenced", "recovery-decided", "recovery-files-deleted", "recovery-segment-voided", "recovery-swept",
    "recovery-manifest-marked",
)  # fmt: skip


def killed_at(steps: Sequence[str], place: Path) -> dict[str, Any]:
    program = Path(__file__).with_name("lake_sink_once.py")
    run = subprocess.run([sys.executable, str(program), str(place), *steps], stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize("steps", [TELLING, pytest.param(OTHERS, marks=pytest.mark.slow)])
def test_every_row_is_stored_once(steps: Sequence[str], tmp_path: Path) -> None:
    told = killed_at(steps, tmp_path)
    undisturbed = told.pop("")
    assert len(undisturbed["rows"]) == 48
    for step, found in told.items():
        assert True in found["killed"], step
        assert found["rows"] == undisturbed["rows"], step
        assert found["ids"] == 48, step
        assert found["refused"] == undisturbed["refused"] == sorted(f"no message {n}" for n in (0, 1, 10, 11))
        assert found["segments"] == [], step

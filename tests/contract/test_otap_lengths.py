"""How long windows are: shorter than a second, and longer or shorter than those before them."""

from __future__ import annotations

from pathlib import Path

import pytest
from otaptables import START, simple, write
from windowruns import MARGIN, MINUTE, results, run, told

from tailrace.core.errors import ConfigError
from tailrace.windows.spec import Temporal

HALF = 500_000_000


def test_windows_shorter_than_a_second_have_results_of_their_own(tmp_path: Path) -> None:
    write(tmp_path / "in", *(simple("shop", [f"log {n}"], time=START + n * HALF) for n in range(4)))
    state = run(tmp_path, temporal=Temporal(HALF, MARGIN)).state
    assert (state.windows, state.selected) == (4, 4)
    assert list(results(tmp_path)) == [
        "window=20260921T141400.5Z.pb", "window=20260921T141400Z.pb", "window=20260921T141401.5Z.pb",
        "window=20260921T141401Z.pb",
    ]  # fmt: skip
    assert sum(told(tmp_path).values()) == 4


def test_windows_of_another_length_begin_where_one_of_the_former_ended(tmp_path: Path) -> None:
    """START is 14:14:00. The rest of a window that has begun before belonged to none."""
    write(tmp_path / "in", *(simple("shop", [f"log {n}"], time=START + n * MINUTE) for n in range(8)))
    run(tmp_path, START + 2 * MINUTE + MARGIN)
    with pytest.raises(ConfigError, match="until 2026-09-21T14:16:00Z are finished") as failure:
        run(tmp_path, temporal=Temporal(5 * MINUTE, MARGIN))
    assert failure.value.code == "window.granularity"
    assert len(results(tmp_path)) == 2
    run(tmp_path, START + 6 * MINUTE + MARGIN)
    assert run(tmp_path, temporal=Temporal(5 * MINUTE, MARGIN)).state.windows == 7
    assert sum(told(tmp_path).values()) == 8

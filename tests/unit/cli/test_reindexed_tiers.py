"""`compact --reindex` beside days that rest in tiers: they stay as they are, and it says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tieredlake import PLACE, Tiered, copied, filled

from tailrace.cli.main import cli

ONE = 'store "default" {{\n tier "old" {{\n path = "{tiers}/old"\n to = "2024-05-02"\n}}\n}}\n{old}\n'
LEFT = "nginx_access_log.web: 2 days rest in tiers and keep their tp_index\n"


@pytest.fixture
def tiered(tmp_path: Path) -> Tiered:
    """Two of five days in a tier, and an index that came afterwards."""
    base = tmp_path / "made"
    base.mkdir()
    made = copied(filled(base), tmp_path)
    made.write_store(text=ONE)
    made.maintain()
    made.write_store(text=ONE, more=' tp_index = "status"')
    return made


def reindex(tiered: Tiered, *more: str) -> Result:
    done = CliRunner().invoke(cli, ["--home", str(tiered.home), "compact", "--reindex", *more], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def test_what_is_left_is_told(tiered: Tiered) -> None:
    assert reindex(tiered, "--dry-run").stderr == LEFT
    done = reindex(tiered)
    assert " 3 " in done.stdout
    assert done.stderr == LEFT
    again = reindex(tiered)
    assert (again.stdout, again.stderr) == ("", f"nothing to do: all rows in the workspace have their tp_index\n{LEFT}")
    told = json.loads(reindex(tiered, "--output", "json").stdout)
    assert told["in_tiers"] == {".".join(PLACE): 2}


def test_days_that_were_not_asked_for_are_no_matter(tiered: Tiered) -> None:
    assert reindex(tiered, "--from", "2024-05-02", "--dry-run").stderr == LEFT.replace(
        "2 days rest in tiers and keep their", "1 day rests in a tier and keeps its"
    )
    assert not reindex(tiered, "--from", "2024-05-03").stderr


def test_tiers_whose_rows_are_right_are_not_named(tiered: Tiered) -> None:
    tiered.write_store(text=ONE)
    assert not reindex(tiered).stderr, "small files were merged"
    assert reindex(tiered).stderr == "nothing to do: all rows have their tp_index\n"


def test_a_dry_run_with_nothing_to_do_says_so(tiered: Tiered) -> None:
    tiered.write_store(text=ONE)
    reindex(tiered)
    planned = reindex(tiered, "--dry-run")
    assert (planned.stdout, planned.stderr) == ("", "nothing to do: all rows have their tp_index\n")
    assert json.loads(reindex(tiered, "--dry-run", "--output", "json").stdout) == []


@pytest.mark.parametrize(("column", "days", "unsure"), [("status", 3, 0), ("tp_timestamp", 0, 3)])
def test_a_dry_run_tells_what_is_certain_apart(tiered: Tiered, column: str, days: int, unsure: int) -> None:
    """The log tells of texts and numbers where rows belong; of times only the files do."""
    reindex(tiered)
    tiered.write_store(text=ONE)
    reindex(tiered)
    tiered.write_store(text=ONE, more=f' tp_index = "{column}"')
    (row,) = json.loads(reindex(tiered, "--dry-run", "--output", "json").stdout)
    assert (row["days"], row["files"], row["unsure"]) == (days, days, unsure)
    assert "UNSURE" in reindex(tiered, "--dry-run").stdout

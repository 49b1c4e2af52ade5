"""Directories that a deletion for good leaves without files go with it: values of `tp_index` are their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from lakecheck import stored
from tieredlake import Tiered

from tailrace.cli.main import cli

USER = "user2"


@pytest.fixture
def tiered(tiered: Tiered) -> Tiered:
    """By user, in two tiers and in the workspace."""
    more = ' tp_index = "remote_user"'
    tiered.write_store(more=more)
    assert all(report.clean for report in tiered.collect(overwrite=True))
    tiered.maintain()
    assert len({*of_user(tiered)}) >= 2
    return tiered


def of_user(tiered: Tiered) -> Iterator[Path]:
    """Directories that say who it was."""
    for root in (tiered.home / "data", tiered.home.parent / "tiers"):
        yield from (path for path in root.rglob(f"*{USER}*") if path.is_dir())


def delete(tiered: Tiered, *more: str) -> None:
    command = ["partition", "delete", "web", "--where", f"remote_user = '{USER}'", "--force", *more]
    done = CliRunner().invoke(cli, ["--home", str(tiered.home), *command], catch_exceptions=False)
    assert done.exit_code == 0, done.output


def test_at_home_and_in_tiers(tiered: Tiered) -> None:
    kept = f"select tp_id from nginx_access_log where remote_user is distinct from '{USER}'"
    left = Counter(("nginx_access_log.web", row[0]) for row in tiered.query(kept))
    delete(tiered, "--for-good")
    assert [*of_user(tiered)] == []
    assert stored(tiered.lake) == left
    assert all(report.clean for report in tiered.collect(overwrite=True))
    assert stored(tiered.lake) == left, "days can be written again"
    tiered.maintain()
    assert stored(tiered.lake) == left


def test_what_can_be_undone_stays(tiered: Tiered) -> None:
    before = {*of_user(tiered)}
    delete(tiered)
    assert {*of_user(tiered)} == before


def test_of_a_tier_that_another_lake_uses_nothing_is_removed(tiered: Tiered) -> None:
    """It may be about to write there."""
    tier = tiered.home.parent / "tiers" / "recent"
    sign = tier / "tp_table=nginx_access_log" / "tp_partition=web" / ".tailrace-lake-of-somebody-else"
    sign.touch()
    delete(tiered, "--for-good")
    left = {*of_user(tiered)}
    assert left
    assert all(path.is_relative_to(tier) for path in left)
    assert not [path for directory in left for path in directory.rglob("*.parquet")]

"""One directory by two paths: no file of it is taken for waste because the log knows it by its other name."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from lakecheck import check, stored
from mounts import mounted
from tieredlake import DAYS, NOW, PLACE, Tiered

from tailrace.cli.main import cli
from tailrace.cli.upkeep import Upkeep
from tailrace.core import QueryError, TailraceError
from tailrace.lake.table_place import LINKS

ONE = 'store "default" {{{{\n tier "{name}" {{{{\n path = "{path}"\n }}}}\n }}}}\n'
YOUNG = 'store "default" {{{{\n tier "a" {{{{\n path = "{real}"\n max_age = "1d"\n }}}}\n tier "b" {{{{\n path = "{alias}"\n }}}}\n }}}}\n'  # fmt: skip  # noqa: E501


@contextmanager
def linked(alias: Path, real: Path) -> Iterator[Path]:
    alias.symlink_to(real)
    yield alias


@contextmanager
def bound(alias: Path, real: Path) -> Iterator[Path]:
    with mounted(alias, "--bind", str(real)):
        yield alias


def vacuum(tiered: Tiered) -> int:
    """A long time later; how many files went."""
    upkeep = Upkeep(tiered.lake, tiered.config(), NOW + timedelta(days=4_000))
    upkeep.look([PLACE])
    upkeep.carry_out("vacuum")
    assert upkeep.troubles == []
    return sum(chore.files for chore in upkeep.done)


@pytest.mark.parametrize("how", [linked, bound])
@pytest.mark.parametrize("second", [ONE, YOUNG], ids=["renamed", "both"])
def test_two_paths_of_one_tier(tiered: Tiered, tmp_path: Path, how: type, second: str) -> None:
    before = stored(tiered.lake)
    real = tmp_path / "real"
    real.mkdir()
    with how(tmp_path / "alias", real) as alias:
        tiered.write_store(text=ONE.format(name="a", path=real))
        tiered.maintain()
        tiered.write_store(text=second.format(name="b", path=alias, real=real, alias=alias))
        tiered.maintain()
        assert stored(tiered.lake) == before, "what was moved is there"
        assert vacuum(tiered) > 0
        assert stored(tiered.lake) == before
        assert len([*real.rglob("*.parquet")]) == 2 * len(DAYS), "what was moved away from is gone"
        assert vacuum(tiered) == 0


def test_a_tier_in_the_directory_of_another(tiered: Tiered, tmp_path: Path) -> None:
    before = stored(tiered.lake)
    inner = tmp_path / "outer" / "tp_table=nginx_access_log" / "tp_partition=web" / "x"
    for path in (tmp_path / "outer", inner):
        tiered.write_store(text=ONE.format(name="a", path=path))
        tiered.maintain()
    assert vacuum(tiered) > 0
    assert stored(tiered.lake) == before


def test_the_workspace_by_another_path_is_no_tier(tiered: Tiered, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(tiered.home)
    tiered.write_store(text=ONE.format(name="a", path=tmp_path / "alias" / "data" / "default"))
    upkeep = Upkeep(tiered.lake, tiered.config(), NOW)
    upkeep.look([PLACE])
    ((_, error),) = upkeep.troubles
    assert isinstance(error, TailraceError)
    assert (error.code, upkeep.due) == ("config.contradiction", [])


def test_a_mount_of_the_workspace_loses_nothing(tiered: Tiered, tmp_path: Path) -> None:
    before = stored(tiered.lake)
    with bound(tmp_path / "alias", tiered.home / "data" / "default") as alias:
        tiered.write_store(text=ONE.format(name="a", path=alias))
        tiered.maintain()
        assert stored(tiered.lake) == before
        assert vacuum(tiered) > 0
        assert stored(tiered.lake) == before


def test_a_copy_of_the_lake_without_its_links(tiered: Tiered) -> None:
    """As programs make it that copy files alone: the disks are there, and no mounting would help."""
    tiered.maintain()
    before = stored(tiered.lake)
    table = tiered.lake.table_home(PLACE[0])
    for link in (Path(str(table)) / LINKS).iterdir():
        link.unlink()
    with pytest.raises(QueryError) as missing:
        tiered.query("select count(*) from nginx_access_log where remote_user is not null")
    assert missing.value.code == "lake.tier-not-mounted"
    assert "link to a tier is missing" in missing.value.message
    assert "tailrace maintain" in str(missing.value.hint)
    (report,) = tiered.compact()
    assert {trouble.code for trouble in report.troubles} == {"lake.tier-not-mounted"}
    done = CliRunner().invoke(cli, ["--home", str(tiered.home), "maintain", "--no-compact", "--dry-run"])
    assert not [*(Path(str(table)) / LINKS).iterdir()], "a dry run changes nothing"
    done = CliRunner().invoke(cli, ["--home", str(tiered.home), "maintain", "--no-compact"])
    assert done.exit_code == 0, done.output
    assert stored(tiered.lake) == before


def test_a_file_where_a_tier_was(tiered: Tiered) -> None:
    tiered.maintain()
    tier = tiered.home.parent / "tiers" / "recent"
    tier.rename(tier.with_name("away"))
    tier.write_text("no disk")
    command = ["--home", str(tiered.home), "partition", "delete", "web", "--where", "status = 200", "--force"]
    error = CliRunner().invoke(cli, command).exception
    assert isinstance(error, TailraceError)
    assert error.code == "lake.tier-not-mounted"


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSPC, errno.EXDEV, errno.EMLINK, errno.EROFS])
def test_a_link_to_a_tier_that_cannot_be_made_is_told(
    tiered: Tiered, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """By `maintain`, when it would make it again, and when the first day would move there: rows stay where they are."""
    before = stored(tiered.home)
    command = ["--home", str(tiered.home), "maintain", "--no-compact", "--output", "json"]
    links = tiered.lake.table_home(PLACE[0]).path / "_tiers"  # type: ignore[attr-defined]

    def refuse(source: str, target: str, **_: bool) -> None:
        raise OSError(number, os.strerror(number), source, None, target)

    def refused() -> list[dict[str, str]]:
        with monkeypatch.context() as patch:
            patch.setattr(os, "symlink", refuse)
            answer = CliRunner().invoke(cli, command)
        assert answer.exit_code == 5, answer.output
        troubles: list[dict[str, str]] = json.loads(answer.stdout)["troubles"]
        found = [trouble for trouble in troubles if trouble["code"] != "lake.tier-not-mounted"]  # for want of the link
        assert {trouble["code"] for trouble in found} == {"lake.no-links" if number == errno.EPERM else "lake.io"}
        assert all(str(links) in trouble["message"] for trouble in found)
        assert all(trouble["hint"] for trouble in found if number in (errno.EPERM, errno.ENOSPC, errno.EROFS))
        return found

    assert [trouble["name"] for trouble in refused()] == [".".join(PLACE)]
    assert tiered.resting() == {"workspace": DAYS}
    assert stored(tiered.home) == before
    assert not [*(tiered.home.parent / "tiers").rglob("*.parquet")]
    tiered.maintain()
    for link in links.iterdir():
        link.unlink()
    assert PLACE[0] in {trouble["name"] for trouble in refused()}
    assert CliRunner().invoke(cli, command).exit_code == 0
    assert stored(tiered.home) == before
    check(tiered.home, *PLACE)

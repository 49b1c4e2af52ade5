"""`tailrace export` with its options, in this process."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from exportsource import Source
from mounts import fill, no_larger_files, small_disk

from tailrace.cli.main import cli
from tailrace.core import ConfigError, LakeError, UsageError


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source.made(tmp_path)


def run(source: Source, *arguments: str) -> Result:
    command = ["--home", str(source.world.home), "export", *arguments, "--output", "json"]
    return CliRunner().invoke(cli, command, catch_exceptions=False)


def row(source: Source, *arguments: str) -> dict[str, Any]:
    done = run(source, *arguments)
    assert done.exit_code == 0, done.stderr
    (found,) = json.loads(done.stdout)
    return found


def test_what_is_chosen(source: Source) -> None:
    out = str(source.folder / "out")
    assert row(source, "kinds", "--out", out, "--dry-run")["rows"] == 70
    assert not Path(out).exists()
    assert row(source, "kinds.a", "--out", out)["rows"] == 30
    assert row(source, "k*", "--out", out, "--partition", "odd*", "--index", "0042")["rows"] == 10
    assert row(source, "a", "--out", out, "--from", "2024-05-02", "--to", "2024-05-03")["rows"] == 10
    files = sorted((source.folder / "out").rglob("*.parquet"))
    whole = row(source, "*", "--out", out)
    assert (whole["rows"], whole["copied"]) == (70, whole["files"] - len(files))
    assert row(source, "a", "--out", out, "--overwrite")["removed"] == whole["files"] - 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("none", "--out", "DIR"), "no partition is called 'none'"),
        (("kinds", "--out", "DIR", "--partition", "b*"), r"none of these partitions is called 'b\*'"),
        (("kinds", "--out", "s3://bucket/tree"), "exports go to a directory of this machine"),
        (("kinds", "--out", "DIR", "--in-place"), "--in-place cannot be"),
    ],
)
def test_what_cannot_be(source: Source, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        run(source, *(str(source.folder / "out") if word == "DIR" else word for word in arguments))
    assert not (source.folder / "out").exists()


def test_after_one_that_failed_another_form_may_go_there(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    out = source.folder / "out"
    out.mkdir()
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "tailrace.export.iceberg", None)
        with pytest.raises(ConfigError, match="is not installed"):
            run(source, "kinds", "--out", str(out), "--as", "iceberg")
    assert row(source, "kinds", "--out", str(out))["rows"] == 70


def test_a_disk_without_any_room_keeps_nothing_of_it(source: Source, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        ballast = fill(disk)
        with pytest.raises(LakeError, match="No space left"):
            run(source, "kinds", "--out", str(disk / "out"))
        assert [*disk.iterdir()] == [ballast]
        ballast.unlink()
        assert row(source, "kinds", "--out", str(disk / "out"))["rows"] == 70


@pytest.mark.parametrize("room", [9_000, 12_000])
def test_a_catalogue_without_room_is_told(source: Source, tmp_path: Path, room: int) -> None:
    """SQLite makes it, and then has no room for the first, or for the second table in it."""
    out = tmp_path / "out"
    with no_larger_files(room), pytest.raises(LakeError, match="the catalogue cannot be written") as told:
        run(source, "kinds", "--out", str(out), "--as", "iceberg")
    assert (told.value.code, told.value.where) == ("lake.io", str(out / "catalog.db"))
    assert "SQL" not in told.value.message
    assert told.value.hint
    assert row(source, "kinds", "--out", str(out), "--as", "iceberg")["rows"] == 70


def test_a_catalogue_that_is_damaged_is_told(source: Source, tmp_path: Path) -> None:
    out = tmp_path / "out"
    row(source, "kinds", "--out", str(out), "--as", "iceberg")
    (out / "catalog.db").write_bytes(b"no database" * 1000)
    for more in ((), ("--dry-run",)):
        with pytest.raises(LakeError, match="the catalogue cannot be read: file is not a database") as told:
            run(source, "kinds", "--out", str(out), "--as", "iceberg", *more)
        assert told.value.where == str(out / "catalog.db")

"""What goes wrong in one partition is its own affair, and is said in plain words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from logfiles import write
from world import World

from tailrace.core import ConfigError, LakeError
from tailrace.lake.commit import PartitionWriter
from tailrace.pipeline.listing import Listing
from tailrace.pipeline.publish import Publisher

TABLE = 'table "{name}" {{\n column "tp_timestamp" {{ source = "at" }}\n{more}\n}}\n'
LINE = '{"at": "2024-05-01T10:00:00Z", "n": 1}\n'


def configure(world: World, logs: Path, *names: str, more: str = "") -> None:
    partitions = (
        f'partition "{n}" "p" {{ source "file" {{\n paths = ["{logs}"]\n format = format.jsonl.default\n}} }}\n'
        for n in names
    )
    world.write_config("".join(TABLE.format(name=n, more=more) for n in names) + "".join(partitions))


@pytest.mark.parametrize(
    ("owner", "name"),
    [(Listing, "look"), (Publisher, "publish"), (PartitionWriter, "finish")],
)
def test_an_unexpected_error_ends_one_partition_only(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    write(tmp_path / "logs" / "a.log", LINE)
    configure(world, tmp_path / "logs", "one", "two")
    right, calls = getattr(owner, name), []

    def wrong(*args: object, **more: object) -> object:
        calls.append(name)
        if len(calls) == 1:
            raise ZeroDivisionError("by nothing\nat all")
        return right(*args, **more)

    monkeypatch.setattr(owner, name, wrong)
    reports = world.collect()
    (failed,) = [r.error for r in reports if r.error is not None]
    assert (failed.code, failed.exit_code) == ("collect.unexpected", 1)
    assert str(failed).startswith("ZeroDivisionError: by nothing")
    assert isinstance(failed.__cause__, ZeroDivisionError)
    assert sorted(r.clean for r in reports) == [False, True]
    monkeypatch.undo()
    assert all(r.clean for r in world.collect())
    assert world.query("select (select count(*) from one), (select count(*) from two)") == [(1, 1)]


def test_a_table_that_the_lake_spells_otherwise(world: World, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.log", LINE)
    configure(world, tmp_path / "logs", "orders")
    world.collect()
    configure(world, tmp_path / "logs", "Orders")
    (report,) = world.collect()
    assert isinstance(report.error, ConfigError)
    assert report.error.code == "config.duplicate-name"
    assert world.query("select count(*) from orders") == [(1,)]


def test_a_column_that_the_lake_spells_otherwise(world: World, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.log", LINE)
    configure(world, tmp_path / "logs", "orders")
    world.collect()
    configure(world, tmp_path / "logs", "orders", more='column "N" {}')
    (report,) = world.collect()
    assert isinstance(report.error, LakeError)
    assert report.error.code == "lake.case-change"


def test_fields_that_cannot_be_columns_stay_in_extra(world: World, tmp_path: Path) -> None:
    fields = {"at": "2024-05-01T10:00:00Z", "": 1, "User": "a", "user": "b", "AT": "c", " x": "d", "a\tb": "e"}
    write(tmp_path / "logs" / "a.log", '{"at": 1e400}\n' + json.dumps(fields) + "\n")
    configure(world, tmp_path / "logs", "orders")
    (report,) = world.collect()
    assert report.error is None
    assert report.counts.stored == 1
    names = [row[0] for row in world.query("describe orders")]
    assert {n for n in names if not n.startswith("tp_")} == {"User", "AT"}
    ((user, extra),) = world.query('select "User", tp_extra from orders')
    assert user == "a"
    assert json.loads(extra) == {"": 1, "user": "b", " x": "d", "a\tb": "e"}


def test_a_failed_reading_says_that_earlier_rows_are_kept(world: World, tmp_path: Path) -> None:
    path = write(tmp_path / "logs" / "a.log", LINE)
    new = write(tmp_path / "logs" / "b.log", "")
    new.write_bytes(b"\x1f\x8b\x08\x00rubbish that is no deflate stream")
    configure(world, tmp_path / "logs", "orders")
    (report,) = world.collect()
    assert [t.message.rpartition("; ")[2] for t in report.troubles] == ["nothing of it was stored"]
    new.unlink()
    path.write_bytes(b"\x1f\x8b\x08\x00more rubbish that is no deflate stream")
    for _ in range(2):
        (report,) = world.collect()
        assert [t.message.rpartition("; ")[2] for t in report.troubles] == ["the rows of its earlier version are kept"]
    assert world.query("select count(*) from orders") == [(1,)]


def test_a_log_that_was_truncated_is_advice(world: World, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / "logs" / f"{name}.log", LINE * 3)
    configure(world, tmp_path / "logs", "orders")
    (report,) = world.collect()
    assert report.advice == []
    for name in ("a", "b"):
        write(tmp_path / "logs" / f"{name}.log", LINE)
    (report,) = world.collect()
    assert report.clean
    (advice,) = report.advice
    assert advice.code == "data.shrunk-artifact"
    assert "it and 1 more artifacts are smaller" in advice.message
    assert "rotated" in (advice.hint or "")
    assert world.query("select count(*) from orders") == [(2,)]

"""Logs and tables change over the years: nothing is lost, nothing has to be collected again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from deltalake import DeltaTable
from logfiles import write
from world import World

from tailrace.cli.main import cli
from tailrace.core import Struct, Table, col, registry
from tailrace.pipeline.report import PartitionReport

TRAIL = "aws_cloudtrail_log"
OLD = 'column "tp_timestamp" { source = "at" }\ncolumn "n" { type = "integer" }'


def table(columns: str) -> str:
    return f'table "app" {{\nmap_fields = []\n{columns}\n}}\n'


def collect(world: World, folder: Path, columns: str) -> PartitionReport:
    world.write_config(f'{table(columns)}partition "app" "p" {{\n source "file" {{ paths = ["{folder}"] }}\n}}')
    (report,) = world.collect()
    assert report.counts.quarantined == 0
    return report


def record(n: Any, **more: Any) -> str:
    return json.dumps({"at": f"2024-05-0{1 + int(n)}T10:00:00Z", "n": n, **more}) + "\n"


def test_a_column_of_a_later_configuration_joins_and_old_files_still_read(world: World, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "1.jsonl", record(1, who="ann"))
    collect(world, tmp_path / "logs", OLD)
    write(tmp_path / "logs" / "2.jsonl", record(2, who="bob"))
    collect(
        world, tmp_path / "logs", OLD + '\ncolumn "who" { }\ncolumn "twice" { transform = "n * 2"\n type = "bigint" }'
    )
    assert world.query("select n, who, twice, tp_extra ->> 'who' from app order by n") == [
        (1, None, None, "ann"), (2, "bob", 4, None)
    ]  # fmt: skip
    assert world.query("select n from app where who = 'bob'") == [(2,)]
    stored = DeltaTable(str(world.lake.table_root("app").path))
    assert stored.version() >= 2
    assert sorted(stored.to_pyarrow_table(columns=["n", "who"]).to_pylist(), key=lambda row: row["n"]) == [
        {"n": 1, "who": None}, {"n": 2, "who": "bob"}
    ]  # fmt: skip


def test_a_column_that_is_left_out_later_keeps_what_it_has(world: World, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "1.jsonl", record(1, who="ann"))
    collect(world, tmp_path / "logs", OLD + '\ncolumn "who" { }')
    write(tmp_path / "logs" / "2.jsonl", record(2, who="bob"))
    collect(world, tmp_path / "logs", OLD)
    rows = world.query("select n, coalesce(who, tp_extra ->> 'who') from app order by n")
    assert rows == [(1, "ann"), (2, "bob")]


def test_another_type_is_refused_before_anything_is_stored(world: World, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "1.jsonl", record(1))
    collect(world, tmp_path / "logs", OLD)
    write(tmp_path / "logs" / "2.jsonl", record(2))
    error = collect(world, tmp_path / "logs", OLD.replace("integer", "varchar")).error
    assert error is not None
    assert (error.code, bool(error.hint)) == ("lake.type-change", True)
    collect(world, tmp_path / "logs", OLD)
    assert world.query("select n from app order by n") == [(1,), (2,)]


def run(world: World, *command: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(world.home), *command])


def told(world: World, *command: str) -> list[str]:
    """Warnings that name the type that is stored."""
    done = run(world, *command)
    return [line.strip() for line in done.output.splitlines() if "is stored as" in line]


def test_a_table_that_holds_nothing_any_more_takes_another_type(world: World, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "1.jsonl", record(1))
    collect(world, tmp_path / "logs", OLD)
    wide = OLD.replace("integer", "bigint")
    assert collect(world, tmp_path / "logs", wide).counts.received == 0
    assert len(told(world, "config", "validate")) == 1
    assert len(told(world, "doctor")) == 1
    assert run(world, "partition", "delete", "app.p", "--force").exit_code == 0
    assert collect(world, tmp_path / "logs", wide).error is not None, "rows can be restored"
    assert len(told(world, "config", "validate")) == 1
    assert run(world, "partition", "delete", "app.p", "--for-good", "--force").exit_code == 0
    assert told(world, "config", "validate") == []
    write(tmp_path / "logs" / "2.jsonl", json.dumps({"at": "2024-05-03T10:00:00Z", "n": 2**40}) + "\n")
    assert collect(world, tmp_path / "logs", wide).clean
    assert world.query("select n from app order by n") == [(1,), (2**40,)]
    assert collect(world, tmp_path / "logs", wide).counts.received == 0, "the ledger knows what is stored"
    assert run(world, "doctor", "--deep").exit_code == 0
    assert told(world, "doctor") == []


def grown(trail: Table) -> Table:
    """The table of a later release: a column more, and a field more inside a column."""
    columns = [
        replace(c, type=Struct((*c.type.columns, col("on_behalf_of", "json"))))
        if c.name == "user_identity" and isinstance(c.type, Struct)
        else c
        for c in trail.columns
    ]
    return replace(trail, columns=(*columns, col("addendum", "json")))


def test_a_later_release_has_more_columns(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def event(day: int) -> str:
        told = {"eventTime": f"2024-05-0{day}T10:00:00Z", "eventName": "E", "addendum": {"reason": "late"}}
        return json.dumps(told | {"userIdentity": {"type": "IAMUser", "onBehalfOf": {"userId": str(day)}}}) + "\n"

    write(tmp_path / "logs" / "1.json", event(1))
    first = world.collect_one(TRAIL, str(tmp_path / "logs"))
    trail = registry.find_table(TRAIL)
    assert trail is not None
    monkeypatch.setattr(registry, "find_table", lambda name: grown(trail) if name == TRAIL else None)
    write(tmp_path / "logs" / "2.json", event(2))
    second = world.collect_one(TRAIL, str(tmp_path / "logs"))
    assert first.clean
    assert second.clean
    assert world.query(f"""
        select user_identity.type, user_identity.on_behalf_of ->> 'userId', addendum ->> 'reason',
               tp_extra -> 'userIdentity' -> 'onBehalfOf' ->> 'userId', tp_extra -> 'addendum' ->> 'reason'
        from {TRAIL} order by tp_timestamp
    """) == [("IAMUser", None, None, "1", "late"), ("IAMUser", "2", "late", None, None)]


def test_a_condition_on_a_field_of_a_later_release(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files from before, which lack the field, are of the same day: rows go from both, and merged they are one file."""

    def event(hour: int, **identity: Any) -> str:
        return json.dumps({"eventTime": f"2024-05-01T{hour:02}:00:00Z", "eventName": "E", "userIdentity": identity})

    write(tmp_path / "logs" / "1.json", "\n".join(event(hour, type=f"t{hour}") for hour in range(4)))
    assert world.collect_one(TRAIL, str(tmp_path / "logs")).clean
    trail = registry.find_table(TRAIL)
    assert trail is not None
    monkeypatch.setattr(registry, "find_table", lambda name: grown(trail) if name == TRAIL else None)
    behalf = {"type": "t4", "onBehalfOf": {"userId": "jo"}}
    write(tmp_path / "logs" / "2.json", "\n".join(event(hour, **(behalf if hour == 6 else {})) for hour in range(4, 8)))
    assert world.collect_one(TRAIL, str(tmp_path / "logs")).clean
    where = "user_identity.on_behalf_of is not null or user_identity.type = 't2'"
    assert run(world, "partition", "delete", "p", "--where", where, "--force").exit_code == 0
    hours = f"select hour(tp_timestamp) from {TRAIL} order by 1"
    assert [hour for (hour,) in world.query(hours)] == [0, 1, 3, 4, 5, 7]
    world.compact()
    assert [hour for (hour,) in world.query(hours)] == [0, 1, 3, 4, 5, 7]
    assert run(world, "partition", "restore", "p").exit_code == 0
    assert len(world.query(hours)) == 8


VALUES = [7, "7", "seven", 7.5, True, None, [], {}, {"a": 1}, [1, 2], 2**70, -1e300, "", "2024-05-01T10:00:00Z"]


TYPES = (
    "integer", "utinyint", "double", "boolean", "timestamp", "date", "varchar[]", "json", "decimal(9,2)", "inet",
)  # fmt: skip


@pytest.mark.parametrize("type", TYPES)
def test_no_value_drops_a_row(type: str, world: World, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.jsonl", "".join(record(1, v=value, at_row=n) for n, value in enumerate(VALUES)))
    collect(
        world, tmp_path / "logs", f'{OLD}\ncolumn "at_row" {{ type = "integer" }}\ncolumn "v" {{ type = "{type}" }}'
    )
    rows = world.query("select v is null, tp_extra -> 'tp_misfit' -> 'v' from app order by at_row")
    assert len(rows) == len(VALUES)
    for value, (null, misfit) in zip(VALUES, rows, strict=True):
        if value is None:
            assert (null, misfit) == (True, None)
        elif null:
            assert json.loads(misfit) == value
        else:
            assert misfit is None

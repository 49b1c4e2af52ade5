"""The lake for other programs: the script and the database file, read by a DuckDB that knows nothing of Tailrace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from smalllake import DAYS, engine, expected, made_in
from world import World

from tailrace.cli.main import cli
from tailrace.core import LakeError, UsageError
from tailrace.core.ranges import TimeRange
from tailrace.query import connect as connecting
from tailrace.query.connect import connect
from tailrace.query.filters import Schema, Scope

ROWS = expected()
HITS = [row for row in ROWS if row.table == "hits"]
QUARTER = Schema('it\'s "q1"; drop schema main', last=date(2024, 3, 31))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> World:
    return made_in(tmp_path_factory.mktemp("connect"), 'table "empty" { column "tp_timestamp" { source = "at" } }\n')


@contextmanager
def open_elsewhere(database: Path, sql: str = "select 1") -> Iterator[None]:
    """By a program that may write to it."""
    held = f"held = duckdb.connect({str(database)!r}); held.execute({sql!r})"
    code = f"import duckdb; {held}; print('open', flush=True); input()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield
        process.communicate("\n")


def by_script(path: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(path.read_text())
    return connection


def both(made: connecting.Connected) -> list[duckdb.DuckDBPyConnection]:
    return [by_script(made.script), duckdb.connect(str(made.database), read_only=True)]


def rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


def test_a_link_is_followed_and_a_device_is_no_database(filled: World, tmp_path: Path) -> None:
    link, pipe = tmp_path / "link.duckdb", tmp_path / "pipe"
    link.symlink_to(tmp_path / "real.duckdb")
    os.mkfifo(pipe)
    connect(engine(filled), tmp_path / "made", link)
    assert link.is_symlink()
    assert rows(duckdb.connect(str(tmp_path / "real.duckdb"), read_only=True), "select count(*) from hits")
    with pytest.raises(UsageError, match="no plain file"):
        connect(engine(filled), tmp_path / "made", pipe)
    assert pipe.is_fifo()


def test_what_holds_anything_else_is_not_replaced(filled: World, tmp_path: Path) -> None:
    notes, own, views = tmp_path / "notes.txt", tmp_path / "own.duckdb", tmp_path / "views.duckdb"
    notes.write_text("not a database")
    with duckdb.connect(own) as connection:
        connection.execute("create table kept as select 1")
    for target, why in ((notes, "is no database"), (own, "holds 1 table of its own")):
        before = target.read_bytes()
        with pytest.raises(UsageError, match=why) as raised:
            connect(engine(filled), tmp_path / "made", target)
        assert raised.value.code == "usage.would-overwrite"
        assert target.read_bytes() == before
    connect(engine(filled), tmp_path / "made", views)
    with open_elsewhere(views):
        first = views.stat().st_ino
        connect(engine(filled), tmp_path / "made", views)
    assert views.stat().st_ino != first
    assert not list(tmp_path.glob(".*")), "nothing is left of a look"


def test_what_is_only_in_the_log_of_a_database_counts_and_is_not_left(filled: World, tmp_path: Path) -> None:
    views, log = tmp_path / "views.duckdb", tmp_path / "views.duckdb.wal"
    connect(engine(filled), tmp_path / "made", views)
    with open_elsewhere(views, "create table kept as select 1"), pytest.raises(UsageError, match="holds 1 table"):
        connect(engine(filled), tmp_path / "made", views)
    assert not list(tmp_path.glob(".*"))
    with duckdb.connect(views) as connection:
        connection.execute("drop table kept")
    with open_elsewhere(views, "create view another as select 1"):
        database, died = views.read_bytes(), log.read_bytes()
    views.write_bytes(database)
    log.write_bytes(died)
    connect(engine(filled), tmp_path / "made", views)
    found = duckdb.connect(str(views), read_only=True)
    assert rows(found, "select count(*) from hits") == [(len(HITS),)]
    assert rows(found, "select count(*) from duckdb_views() where view_name = 'another'") == [(0,)]


@pytest.mark.parametrize("database", [None, "/proc/x.duckdb", "/proc/absent/x.duckdb"])
def test_places_that_cannot_be_written(filled: World, tmp_path: Path, database: str | None) -> None:
    """Nobody, whatever their rights, makes files in /proc."""
    directory = tmp_path if database else Path("/proc/absent/connect")
    with pytest.raises(UsageError) as raised:
        connect(engine(filled), directory, Path(database) if database else None)
    assert raised.value.code == "usage.cannot-write"
    assert raised.value.message.startswith(f"cannot write {database or directory}")
    assert raised.value.hint == "choose a place that you may write to"


def test_tables_and_schemas(filled: World, tmp_path: Path) -> None:
    made = connect(engine(filled, QUARTER), tmp_path)
    assert made.tables == 3
    for connection in both(made):
        assert rows(connection, "select n from hits order by n") == [(row.n,) for row in HITS]
        assert rows(connection, "select count(*) from calls") == [(len(ROWS) - len(HITS),)]
        assert rows(connection, "select count(*) from empty") == [(0,)]
        name = QUARTER.name.replace('"', '""')
        assert rows(connection, f'select count(*) from "{name}".hits') == [(len(HITS) * 3 // 4,)]
        assert rows(connection, "select typeof(now()), now() > max(tp_timestamp) from hits") == [("TIMESTAMP", True)]


@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize(
    "where",
    [
        "true",
        "tp_date = '2024-03-30'",
        "tp_date > '2024-03-30'",
        "tp_timestamp >= '2024-03-31 23:59:59'",
        "tp_timestamp < now() and n % 2 = 0",
        "tp_index = 'dev[1]' or tp_date = '2024-03-29'",
    ],
)
def test_parts_by_day_change_no_answer(
    filled: World, tmp_path: Path, where: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "_FEW", few)
    sql = f"select n from hits where {where} order by n"
    (result,) = engine(filled).run(sql)
    wanted = list(result.rows)
    for connection in both(connect(engine(filled), tmp_path)):
        assert rows(connection, sql) == wanted


def test_days_that_a_condition_rules_out_are_not_opened(
    filled: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "_FEW", 0)
    connection = by_script(connect(engine(filled), tmp_path).script)
    connection.execute("CALL enable_logging('FileSystem', level = 'trace')")
    rows(connection, "select sum(n) from hits where tp_timestamp >= '2024-04-01'")
    opened = rows(
        connection,
        "select distinct path from duckdb_logs_parsed('FileSystem') where op = 'OPEN' and path like '%.parquet'",
    )
    assert opened
    assert all("tp_date=2024-04-01" in path for (path,) in opened)


def test_options_leave_rows_out(filled: World, tmp_path: Path) -> None:
    window = TimeRange(datetime(2024, 3, 30, 11, 59), datetime(2024, 4, 1))
    scope = Scope(window=window, partitions=("hits.web",), indexes=("1*", "dev[1]"))
    wanted = [
        (row.n,)
        for row in HITS
        if row.partition == "web" and row.index != "210987654321" and window.start <= row.time < window.end  # type: ignore[operator]
    ]
    for connection in both(connect(engine(filled, scope=scope), tmp_path)):
        assert rows(connection, "select n from hits order by n") == wanted
        assert rows(connection, "select count(*) from calls") == [(0,)]


def test_collections_go_on(tmp_path: Path) -> None:
    world = made_in(tmp_path)
    made = connect(engine(world), tmp_path / "c")
    script, database = both(made)
    log = tmp_path / "logs" / "hits" / "web" / "b.jsonl"
    log.write_text('{"at": "2024-04-05T00:00:00Z", "account": "123456789012", "n": 999}\n')
    assert all(report.clean for report in world.collect())
    for connection in (script, database, *both(made)):
        assert rows(connection, "select count(*) from hits") == [(len(HITS),)], "as it was"
    again = connect(engine(world), tmp_path / "c")
    assert again.database == made.database
    assert rows(database, "select count(*) from hits") == [(len(HITS),)], "who has the old file open keeps it"
    assert rows(by_script(again.script), "select count(*) from hits") == [(len(HITS) + 1,)]
    # Within one process DuckDB opens a path once.
    program = f"import duckdb; print(duckdb.connect({str(made.database)!r}, read_only=True).sql('from hits').shape[0])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == str(len(HITS) + 1), done.stderr


def test_old_scripts_are_deleted(filled: World, tmp_path: Path) -> None:
    old, young = tmp_path / "tailrace_init_20200101000000_1.sql", tmp_path / "tailrace_init_20200101000000_2.sql"
    part = tmp_path / "tailrace_init_20200101000000_1.duckdb"
    for path in (old, young, part):
        path.touch()
    long_ago = datetime.now().timestamp() - timedelta(hours=25).total_seconds()
    for path in (old, part):
        os.utime(path, (long_ago, long_ago))
    made = connect(engine(filled), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {young.name, made.script.name, "lake.duckdb"}


def test_too_many_files(filled: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "MOST_FILES", 10)
    with pytest.raises(UsageError) as raised:
        connect(engine(filled), tmp_path)
    assert "--from" in (raised.value.hint or "")


def test_a_schema_that_was_never_refreshed_is_left_out(filled: World, tmp_path: Path) -> None:
    made = connect(engine(filled, Schema("kept", materialized=True)), tmp_path)
    assert made.warnings == ("schema kept is left out: schema kept has never been refreshed",)
    with pytest.raises(LakeError):
        connect(engine(filled, Schema("kept", materialized=True), scope=Scope("kept")), tmp_path)


# The command


def run(world: World, *arguments: str) -> Any:
    return CliRunner().invoke(cli, ["--home", str(world.home), "connect", *arguments], catch_exceptions=False)


def test_the_command_prints_the_path_of_the_script(filled: World) -> None:
    done = run(filled, "--partition", "web", "--from", str(DAYS[1]))
    script = Path(done.stdout.strip())
    assert script.parent == filled.home / "connect" / "default"
    assert rows(by_script(script), "select count(*) from hits") == [(len(HITS) * 3 // 8,)]
    assert f"database file: {script.with_suffix('.duckdb')}" in done.stderr


@pytest.mark.parametrize("options", [("--partition", "calls.*"), ("--index", "1*"), ("--to", "2024-03-30")])
def test_a_part_does_not_take_the_place_of_the_whole(filled: World, options: tuple[str, ...]) -> None:
    """Grafana has the whole lake open while a mod of Powerpipe's asks for some of it."""
    whole = json.loads(run(filled, "--output", "json").stdout)["database_path"]
    part = json.loads(run(filled, "--output", "json", *options).stdout)["database_path"]
    counts = [rows(duckdb.connect(path, read_only=True), "select count(*) from hits")[0][0] for path in (whole, part)]
    assert counts[1] < counts[0] == len(HITS)


def test_the_contract_of_powerpipe(filled: World) -> None:
    """It runs `connect --output json` with the filters of its connection, and takes `init_script_path`."""
    done = run(
        filled, "--output", "json", "--from", "2024-03-30T00:00:00Z", "--to", "2024-04-01T00:00:00Z", "--index", "1*"
    )
    answer = json.loads(done.stdout)
    assert rows(by_script(Path(answer["init_script_path"])), "select count(*) from hits") == [(len(HITS) // 6,)]
    assert Path(answer["database_path"]).is_file()


def test_errors_are_told_in_json_too(filled: World) -> None:
    with pytest.raises(UsageError):
        run(filled, "--output", "json", "--schema", "absent")
    program = [sys.executable, "-m", "tailrace.cli.main", "--home", str(filled.home), "connect", "--output", "json"]
    done = subprocess.run([*program, "--schema", "absent"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert json.loads(done.stdout) == {"error": "there is no schema absent"}


def test_the_database_may_lie_elsewhere_but_not_in_the_lake(filled: World, tmp_path: Path) -> None:
    target = tmp_path / "it's" / "mine.duckdb"
    run(filled, "--database", str(target))
    assert rows(duckdb.connect(str(target), read_only=True), "select count(*) from hits") == [(len(HITS),)]
    with pytest.raises(Exception, match="belongs to the lake"):
        run(filled, "--database", f"{filled.lake.data_root}/x.duckdb")

"""A damaged lake: the file is named, in one line, and what is whole goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from logfiles import access_lines, today, write
from world import World

from tailrace.cli.main import cli
from tailrace.core import LakeError, QueryError
from tailrace.lake.damage import LOG
from tailrace.lake.paths import Lake
from tailrace.lake.table import open_or_create, open_table
from tailrace.lake.vacuum import Vacuum
from tailrace.lake.versions import open_at
from tailrace.query.engine import Engine

TABLES = ("apache_access_log", "nginx_access_log")


@pytest.fixture
def filled(world: World, tmp_path: Path) -> World:
    """Two tables with two commits each."""
    world.write_config(
        "\n".join(f'partition "{t}" "p" {{ source "file" {{ paths = ["{tmp_path}/logs"] }} }}' for t in TABLES)
    )
    for name in ("a", "b"):
        write(tmp_path / "logs" / f"{name}.log", access_lines(today(), 5))
        assert all(report.clean for report in world.collect())
    return world


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:40])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def blank(path: Path) -> None:
    path.write_bytes(b"\n")


@pytest.mark.parametrize(
    ("damage", "number"),
    [
        *((cut, number) for number in (0, 1, 2)),
        *((empty, number) for number in (0, 1, 2, -1)),
        (blank, 2),
        *((Path.unlink, number) for number in (0, 1)),
    ],
)
def test_a_broken_log_is_named(filled: World, damage: Callable[[Path], None], number: int) -> None:
    path = sorted((filled.lake.table_root("nginx_access_log").path / "_delta_log").glob("*.json"))[number]
    damage(path)
    made = Engine(filled.lake)
    with pytest.raises(QueryError) as raised:
        list(made.run("select count(*) from nginx_access_log"))
    assert (raised.value.code, raised.value.exit_code) == ("lake.damaged-log", 5)
    assert raised.value.where == str(path)
    assert len(str(raised.value).splitlines()) == 1
    assert "unknown" not in str(raised.value)
    if not path.exists():
        assert f"the file of version {number} is missing" in str(raised.value)
        assert "{" not in str(raised.value), "what delta-rs makes of it"
    (described,) = made.run("describe apache_access_log")
    assert len(list(described.rows)) > 20
    listed = [name for result in made.run("show tables") for (name,) in result.rows]
    assert set(listed) == {"apache_access_log", "tp_quarantine"}
    assert any("nginx_access_log" in warning for warning in made.warnings)
    whole, broken = filled.collect()
    assert whole.clean
    assert isinstance(broken.error, LakeError)
    assert (broken.error.code, broken.error.where) == ("lake.damaged-log", str(path))


def test_an_empty_commit_before_a_checkpoint(filled: World) -> None:
    """What holds now does not need it; versions before do, and so does who deletes what no version needs."""
    root = filled.lake.table_root("nginx_access_log")
    open_table(root).create_checkpoint()
    path = sorted((root.path / "_delta_log").glob("*.json"))[1]
    empty(path)
    assert filled.query("select count(*) from nginx_access_log") == [(10,)]
    damaged = []
    with pytest.raises(LakeError) as raised:
        open_at(root, "nginx_access_log", 2)
    damaged.append(raised.value)
    assert open_at(root, "nginx_access_log", 0) is not None
    for content in (b"", b'{"commitInfo":{"times'):
        path.write_bytes(content)
        with pytest.raises(LakeError) as raised:
            Vacuum(filled.lake, "nginx_access_log", None).waste("p")
        damaged.append(raised.value)
    assert {(error.code, error.where) for error in damaged} == {("lake.damaged-log", str(path))}


def test_an_empty_commit_far_behind(tmp_path: Path) -> None:
    """With as many since the last checkpoint as are not looked at first."""
    lake = Lake(tmp_path)
    root = lake.table_root("t")
    delta = open_or_create(lake, "t", pa.schema([(n, pa.string()) for n in ("tp_partition", "tp_index", "tp_date")]))
    for number in range(1, 130):
        (root / LOG).put(f"{number:020}.json", b'{"commitInfo":{"timestamp":1700000000000}}', "test")
    delta.update_incremental()
    assert open_table(root).version() == 129
    path = root.path / LOG / f"{7:020}.json"
    content = path.read_bytes()
    empty(path)
    with pytest.raises(LakeError) as raised:
        open_table(root)
    assert raised.value.where == str(path)
    path.write_bytes(content)
    delta.create_checkpoint()
    empty(path)
    assert open_table(root).version() == 129


def spoil(path: Path) -> None:
    """The footer is whole, the rows are not."""
    content = bytearray(path.read_bytes())
    content[4:400] = bytes(396)
    path.write_bytes(content)


def twist(path: Path) -> None:
    """The end is whole, the rest of the footer is not."""
    content = bytearray(path.read_bytes())
    content[-200:-8] = bytes(byte ^ 0xFF for byte in content[-200:-8])
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [cut, empty, twist, Path.unlink])
def test_a_broken_data_file_is_named(filled: World, damage: Callable[[Path], None], tmp_path: Path) -> None:
    root = filled.lake.table_root("nginx_access_log").path
    paths = sorted(root.rglob("*.parquet"))
    for path in paths:
        damage(path)
    with pytest.raises(QueryError) as raised:
        filled.query("select * from nginx_access_log")
    assert (raised.value.code, raised.value.exit_code) == ("lake.damaged-file", 5)
    assert raised.value.where in map(str, paths)
    assert len(str(raised.value).splitlines()) == 1
    listed = [name for result in Engine(filled.lake).run("show tables") for (name,) in result.rows]
    assert {*listed, "nginx_access_log"} == {*TABLES, "tp_quarantine"}
    write(tmp_path / "logs" / "a.log", "".join(access_lines(today(), 5).splitlines(keepends=True)[:-1]))
    whole, broken = filled.collect()
    assert whole.clean
    assert isinstance(broken.error, LakeError)
    assert broken.error.code == "lake.damaged-file"
    assert broken.error.where in map(str, paths)


def test_pages_that_cannot_be_read(filled: World) -> None:
    """As rows, and as Arrow has them."""
    for path in filled.lake.table_root("nginx_access_log").path.rglob("*.parquet"):
        spoil(path)
    with pytest.raises(QueryError) as refused:
        filled.query("select * from nginx_access_log")
    assert (refused.value.code, refused.value.exit_code) == ("lake.damaged-file", 5)
    (result,) = Engine(filled.lake).run("select * from nginx_access_log", as_arrow=True)
    assert result.batches is not None
    with pytest.raises(QueryError) as raised:
        list(result.batches()[1])
    assert (raised.value.code, raised.value.exit_code) == ("lake.damaged-file", 5)


def test_a_broken_file_of_somebody_else_is_his(filled: World, tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    other.write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    with pytest.raises(QueryError) as raised:
        filled.query(f"select * from '{other}' o, nginx_access_log n")
    assert (raised.value.code, raised.value.exit_code) == ("query", 1)


@pytest.mark.parametrize("damage", [cut, empty])
def test_nothing_is_merged_or_deleted_by_a_broken_log(filled: World, damage: Callable[[Path], None]) -> None:
    damage(sorted((filled.lake.table_root("nginx_access_log").path / "_delta_log").glob("*.json"))[-1])
    delete = ["partition", "delete", "nginx_access_log.p", "--force"]
    for arguments in (["compact", "nginx_access_log"], ["compact", "--dry-run"], delete, ["maintain", "--no-compact"]):
        done = CliRunner().invoke(cli, ["--home", str(filled.home), *arguments])
        code = done.exit_code if done.exception is None else getattr(done.exception, "exit_code", done.exit_code)
        assert code == 5, (arguments, done.output)
        assert "lake.damaged-log" in done.stderr, done.stderr
        assert "nothing to do" not in done.output


def test_a_broken_ledger_is_named(filled: World) -> None:
    path = filled.lake.meta("ledger", "nginx_access_log", "p").path / "000000000001.parquet"
    cut(path)
    whole, broken = filled.collect()
    assert whole.clean
    assert broken.error is not None
    assert (broken.error.code, broken.error.where, broken.error.exit_code) == ("lake.damaged-ledger", str(path), 5)


def test_a_home_that_nothing_can_be_stored_in_is_no_empty_lake(tmp_path: Path) -> None:
    engine = Engine(World(tmp_path / "ho%41me").lake)
    with pytest.raises(QueryError) as error:
        list(engine.run("select count(*) from nginx_access_log"))
    assert error.value.code == "lake.bad-root"


def test_directories_of_others_are_no_tables(filled: World) -> None:
    for name in ("tp_table=%ff", "tp_table=", "other"):
        log = filled.lake.data_root.path / name / "_delta_log"
        log.mkdir(parents=True)
        (log / f"{0:020d}.json").write_text("{}")
    assert filled.query("select count(*) from nginx_access_log") == [(10,)]

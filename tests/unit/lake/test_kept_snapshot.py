"""What is kept of a table's log is what the log says, whatever happens to either."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from smalllake import made_in
from world import World

from tailrace.lake import kept_snapshot as kept
from tailrace.lake.snapshot import snapshot


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "KEEP_FROM", 1)
    return made_in(tmp_path)


def same(world: World) -> bool:
    found, log = kept.kept_snapshot(world.lake, "hits"), snapshot(world.lake, "hits")
    return (
        (found.version, found.schema, found.root) == (log.version, log.schema, log.root)
        and found.schema.equals(log.schema, check_metadata=True)
        and found.files.equals(log.files)
    )


def reads_log(world: World, monkeypatch: pytest.MonkeyPatch) -> bool:
    with monkeypatch.context() as patch:
        reads: list[str] = []
        patch.setattr(kept, "snapshot", lambda lake, table: reads.append(table) or snapshot(lake, table))
        kept.kept_snapshot(world.lake, "hits")
    return bool(reads)


def test_the_log_is_read_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reads_log(world, monkeypatch)
    assert not reads_log(world, monkeypatch)
    assert same(world)


def test_a_commit_is_seen(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert same(world)
    (tmp_path / "logs" / "hits" / "web" / "b.jsonl").write_text(
        '{"at": "2024-05-01T00:00:00Z", "account": "x", "n": 1}\n'
    )
    world.collect()
    assert reads_log(world, monkeypatch)
    assert same(world)


def test_another_table_in_its_place_is_seen(world: World, tmp_path: Path) -> None:
    """A lake that was deleted and made again may have the same versions."""
    assert same(world)
    before = kept.kept_snapshot(world.lake, "hits").files["path"].to_pylist()
    for part in ("data", "meta"):
        shutil.rmtree(world.home / part)
    world.collect()
    assert same(world)
    assert kept.kept_snapshot(world.lake, "hits").files["path"].to_pylist() != before


@pytest.mark.parametrize("content", [b"", b"nonsense", b"ARROW1\0\0"])
def test_what_is_damaged_is_made_anew(world: World, tmp_path: Path, content: bytes) -> None:
    assert same(world)
    (path,) = (tmp_path / "cache" / "snapshots").iterdir()
    path.write_bytes(content)
    assert same(world)


def test_a_directory_that_takes_nothing(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "file"))
    assert same(world)


def test_what_was_not_used_for_long_goes(world: World, tmp_path: Path) -> None:
    kept.kept_snapshot(world.lake, "hits")
    (path,) = (tmp_path / "cache" / "snapshots").iterdir()
    os.utime(path, (0, 0))
    kept.kept_snapshot(world.lake, "calls")
    (left,) = (tmp_path / "cache" / "snapshots").iterdir()
    assert left != path


def test_several_threads_keep_the_same(tmp_path: Path) -> None:
    """Each its own file, of which one stays; what is read meanwhile is whole."""
    tables = [pa.table({"n": list(range(size))}) for size in (10, 10_000)]
    place = tmp_path / "kept" / "a.arrow"
    kept.keep(place, tables[0])

    def write_and_read(number: int) -> int:
        kept.keep(place, tables[number % 2])
        return int(pa.ipc.open_file(pa.memory_map(str(place))).read_all().num_rows)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(write_and_read, range(200))) <= {10, 10_000}
    assert os.listdir(place.parent) == ["a.arrow"]


def test_what_could_not_be_written_leaves_nothing(tmp_path: Path) -> None:
    place = tmp_path / "kept" / "a.arrow"
    place.mkdir(parents=True)  # so that nothing can take its place
    kept.keep(place, pa.table({"n": [1]}))
    assert os.listdir(place.parent) == ["a.arrow"]

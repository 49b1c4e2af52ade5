"""What is kept of a table's log is what the log says, whatever happens to either."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from smalllake import answer, made_in
from world import World

from tailrace.core.errors import LakeError
from tailrace.lake import kept_snapshot as kept
from tailrace.lake import snapshot as module
from tailrace.lake.arrow_listing import files_of, listing_of, parts_of
from tailrace.lake.kept import Kept, Part, keep, numbers
from tailrace.lake.listing import Listing
from tailrace.lake.snapshot import snapshot
from tailrace.query.engine import Engine


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "KEEP_FROM", 1)
    return made_in(tmp_path)


def same(world: World) -> bool:
    """Everything that is read of it, of every file."""
    found, log = kept.kept_snapshot(world.lake, "hits"), snapshot(world.lake, "hits")
    plain = listing_of(log)
    return (
        (found.version, found.root, found.moved, found.columns) == (log.version, log.root, False, plain.columns)
        and found.columns.arrow().equals(log.schema, check_metadata=True)
        and values(found) == values(plain)
    )


def values(found: Listing) -> dict[str, list[Any]]:
    """Of columns that say anything."""
    columns = {name: list(found.files.column(name)) for name in found.files.source.kinds}
    return {name: some for name, some in columns.items() if any(value is not None for value in some)}


def reads_log(world: World, monkeypatch: pytest.MonkeyPatch) -> bool:
    with monkeypatch.context() as patch:
        reads: list[str] = []
        patch.setattr(module, "snapshot", lambda lake, table: reads.append(table) or snapshot(lake, table))
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
    before = kept.kept_snapshot(world.lake, "hits").files.paths
    for part in ("data", "meta"):
        shutil.rmtree(world.home / part)
    world.collect()
    assert same(world)
    assert kept.kept_snapshot(world.lake, "hits").files.paths != before


@pytest.mark.parametrize("content", [b"", b"nonsense", b"[]\n", b'{"about": 1, "parts": {}}\n', b"\0" * 99])
def test_what_is_damaged_is_made_anew(world: World, tmp_path: Path, content: bytes) -> None:
    assert same(world)
    (path,) = (tmp_path / "cache" / "snapshots").iterdir()
    path.write_bytes(content)
    assert same(world)
    path.write_bytes(path.read_bytes()[:-1])
    assert same(world)


def test_what_looks_whole_and_is_not_is_told_once(world: World, tmp_path: Path) -> None:
    """As a disk may have it after a loss of power."""
    assert same(world)
    (path,) = (tmp_path / "cache" / "snapshots").iterdir()
    head, line, content = path.read_bytes().partition(b"\n")
    path.write_bytes(head + line + b"\xff" * len(content))
    with pytest.raises(LakeError, match="damaged") as told:
        values(kept.kept_snapshot(world.lake, "hits"))
    assert told.value.code == "lake.cache"
    assert same(world)
    path.write_bytes(head + line + bytes(len(content)))
    made, sql = Engine(world.lake), "select n from hits where tp_timestamp < '2024-03-29 01:00:00' and n < 3"
    assert answer(made, sql) == [(0,)], "a query reads the log"


def test_values_of_all_kinds_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    given: dict[str, tuple[pa.DataType, list[Any]]] = {
        "text": (pa.string(), ["a", None, "é€", "", "x\ny"]),
        "coded": (pa.dictionary(pa.int32(), pa.string()), ["a", "a", None, "b", "b"]),
        "plain": (pa.string(), ["a", "b", "c", "d", ""]),
        "small": (pa.int8(), [1, None, -3, 0, 127]),
        "large": (pa.int64(), [2**62, -(2**62), 0, None, 1]),
        "real": (pa.float64(), [0.1, None, -1e300, 0.0, 5.0]),
        "half": (pa.float32(), [0.1, 0.5, None, 3.0, -1.0]),
        "exact": (pa.decimal128(20, 2), [Decimal("1.10"), None, Decimal("-3.00"), Decimal(0), Decimal("9.99")]),
        "flag": (pa.bool_(), [True, None, False, True, False]),
        "day": (pa.date32(), [date(2024, 1, 2), None, date(1960, 1, 1), date(1970, 1, 1), date(9999, 1, 1)]),
        "time": (pa.timestamp("us"), [datetime(2024, 1, 2, 3, 4, 5, 6), None, datetime(1960, 1, 1)] + [None] * 2),
        "none": (pa.string(), [None] * 5),
        "odd": (pa.list_(pa.int8()), [[1]] * 5),
        "text ends": (pa.string(), ["q"] * 5),
    }
    bounds = {f"{end}.{name}": pa.array(some, kind) for name, (kind, some) in given.items() for end in ("min", "max")}
    table = pa.table({"path": pa.chunked_array([["a", "b"], ["c", "é", "e"]]), **bounds})
    place = tmp_path / "kept" / "a.kept"
    keep(place, {}, dict(parts_of(table.slice(1))))
    found = Kept.load(place)
    assert found is not None
    source, plain = kept.KeptSource(found, 4), files_of(table.slice(1))
    assert set(plain.source.kinds) - set(source.kinds) == {"min.none", "max.none"}
    assert "min.odd" not in plain.source.kinds
    for name in source.kinds:
        assert list(source.read(name)) == list(plain.column(name)), name
    assert list(source.read("min.exact")) == [None, Decimal("-3.00"), Decimal(0), Decimal("9.99")]
    assert source.read("min.day")[1] == -3653


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
    place = tmp_path / "kept" / "a.kept"
    contents = [{"n": Part("n", numbers(list(range(size))))} for size in (10, 10_000)]
    keep(place, "x", contents[0])

    def write_and_read(number: int) -> int:
        keep(place, "x", contents[number % 2])
        found = Kept.load(place)
        return 0 if found is None else len(found.numbers("n"))

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(write_and_read, range(200))) <= {10, 10_000}
    assert os.listdir(place.parent) == ["a.kept"]


def test_what_could_not_be_written_leaves_nothing(tmp_path: Path) -> None:
    place = tmp_path / "kept" / "a.kept"
    place.mkdir(parents=True)  # so that nothing can take its place
    keep(place, "x", {"n": Part("n", b"1")})
    assert os.listdir(place.parent) == ["a.kept"]

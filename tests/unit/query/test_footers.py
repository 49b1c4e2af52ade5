"""Ids are found by bloom filters: other files are not opened, and none that holds the id is left out."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from smalllake import answer, files_opened
from world import World

from tailrace.lake.arrow_listing import listing_of
from tailrace.lake.listing import Listing
from tailrace.lake.place import LocalPlace
from tailrace.lake.snapshot import Snapshot
from tailrace.query import footers
from tailrace.query.conditions import Condition
from tailrace.query.engine import Engine
from tailrace.query.kept_footers import Footers
from tailrace.query.xxhash import xxh64

DAYS = 40
FIRST = date(2025, 3, 1)
CONFIG = """
partition "aws_cloudtrail_log" "prod" {{
  source "file" {{ paths = ["{logs}"] }}
}}
"""


def id_of(number: int) -> str:
    return str(UUID(bytes=xxh64(str(number).encode()).to_bytes(8, "little") * 2))


def listing(root: Path, names: list[str]) -> Listing:
    """A table of these files."""
    files, schema = pa.table({"path": names}), pa.schema([("a", pa.string())])
    return listing_of(Snapshot("t", LocalPlace(str(root)), 1, schema, files))


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Days of three events each, a file a day."""
    root = tmp_path_factory.mktemp("footers")
    records = [
        {"eventTime": f"{FIRST + timedelta(days=n // 3)}T0{n % 3}:00:00Z", "eventID": id_of(n), "eventName": f"E{n}"}
        for n in range(3 * DAYS)
    ]
    (root / "logs").mkdir()
    (root / "logs" / "a.json").write_text(json.dumps({"Records": records}))
    world = World(root / "home")
    world.write_config(CONFIG.format(logs=root / "logs"))
    (report,) = world.collect()
    assert report.counts.stored == 3 * DAYS
    return world


@pytest.fixture
def engine(stored: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path))
    # Least and greatest of three ids in a file leave few of them.
    monkeypatch.setattr(footers, "SIFT_FROM", 2)
    return Engine(stored.lake)


def test_hashes_are_those_of_the_standard() -> None:
    assert xxh64(b"") == 0xEF46DB3751D8E999
    assert xxh64(b"a") == 0xD24EC4F1A98C6E5B
    assert xxh64(b"abc") == 0x44BC2CF5AD770999
    assert xxh64(b"Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1


def test_only_files_that_may_hold_an_id_are_opened(engine: Engine) -> None:
    sql = f"select event_name from aws_cloudtrail_log where event_id = '{id_of(100)}'"
    assert answer(engine, sql) == [("E100",)]
    opened = files_opened(engine, sql)
    assert any(f"tp_date={FIRST + timedelta(days=33)}" in path for path in opened)
    assert len(opened) < 10
    assert answer(engine, "select count(*) from aws_cloudtrail_log") == [(3 * DAYS,)]


def test_no_id_is_missed(engine: Engine) -> None:
    for number in range(0, 3 * DAYS, 7):
        sql = f"select event_name from aws_cloudtrail_log where event_id = '{id_of(number)}'"
        assert answer(engine, sql) == [(f"E{number}",)]
    some = ", ".join(f"'{id_of(n)}'" for n in (5, 50, 110, 999))
    assert answer(engine, f"select count(*) from aws_cloudtrail_log where event_id in ({some})") == [(3,)]
    both = f"from aws_cloudtrail_log where event_id = '{id_of(5)}'"
    assert answer(engine, f"select count(*) from (select 1 {both} union all select 1 {both})") == [(2,)]
    either = f"where event_id = '{id_of(5)}' or event_name = 'E7'"
    assert answer(engine, f"select count(*) from aws_cloudtrail_log {either}") == [(2,)]
    assert answer(engine, "select count(*) from aws_cloudtrail_log where event_id = 'none'") == [(0,)]


def test_what_footers_say_is_kept(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = f"select event_name from aws_cloudtrail_log where event_id = '{id_of(3)}'"
    answer(engine, sql)
    (kept,) = (tmp_path / "footers").iterdir()
    reads: list[str] = []
    read = footers._read

    def counted(address: str) -> dict[str, footers.Filters]:
        reads.append(address)
        return read(address)

    monkeypatch.setattr(footers, "_read", counted)
    engine.refresh()
    assert answer(engine, sql) == [("E3",)]
    assert not reads
    kept.write_bytes(b"damaged")
    assert answer(engine, sql) == [("E3",)]
    assert len(reads) > 10


@settings(max_examples=20, deadline=None)
@given(
    groups=st.lists(st.lists(st.text(max_size=80), min_size=1, max_size=30), min_size=1, max_size=3),
    other=st.text(max_size=80),
)
def test_filters_are_read_as_they_are_written(groups: list[list[str]], other: str) -> None:
    """Whatever the texts, in any number of row groups."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/a.parquet"
        options = {"a": {"ndv": 30, "fpp": 0.01}}
        schema = pa.schema([("a", pa.string()), ("b", pa.string())])
        with pq.ParquetWriter(path, schema, bloom_filter_options=options) as writer:
            for texts in groups:
                writer.write_table(pa.table({"a": texts, "b": texts}, schema=schema))
        filters = footers._read(path)
        assert list(filters) == ["a"]
        assert len(filters["a"]) == len(groups)
        for text in {text for texts in groups for text in texts}:
            hashes = [xxh64(other.encode()), xxh64(text.encode())]
            assert footers._may_hold(path, filters["a"], hashes)
        for hashed in map(xxh64, (other.encode(), b"x", b"y")):
            # Many at once are found as one is.
            assert footers._may_hold(path, filters["a"], [hashed]) == footers._may_hold(
                path, filters["a"], [hashed] * (footers._FEW + 1)
            )


def test_what_one_query_leaves_out_stays_known_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two filters in turn read every footer once; a file that is gone is forgotten."""
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(footers, "SIFT_FROM", 2)
    names = [f"{number}.parquet" for number in range(6)]
    for name in names:
        pq.write_table(pa.table({"a": [name]}), tmp_path / name, bloom_filter_options={"a": {"ndv": 9, "fpp": 0.001}})
    asked = [[Condition("a", "=", ("1.parquet", "5.parquet"))]]

    def left(some: list[str]) -> list[str]:
        seen = listing(tmp_path, some)
        return footers.sifted(seen, seen.files, asked).paths

    assert left(names[:3]) == ["1.parquet"]
    assert left(names[3:]) == ["5.parquet"]
    with monkeypatch.context() as patched:
        patched.setattr(footers, "_read", None)
        assert left(names[:3]) + left(names[3:]) == ["1.parquet", "5.parquet"]
    (tmp_path / "0.parquet").unlink()
    pq.write_table(pa.table({"a": ["6", "7"]}), tmp_path / "6.parquet")
    pq.write_table(pa.table({"a": ["6", "7"]}), tmp_path / "7.parquet")
    assert left([*names[1:3], "6.parquet", "7.parquet"]) == ["1.parquet", "6.parquet", "7.parquet"]
    (kept,) = (tmp_path / "cache" / "footers").iterdir()
    assert set(Footers(kept).paths) == {f"{number}.parquet" for number in range(1, 8)}


def test_time_can_run_out_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(footers, "SIFT_FROM", 2)
    names = ["0.parquet", "1.parquet"]
    for name in names:
        pq.write_table(pa.table({"a": [name]}), tmp_path / name, bloom_filter_options={"a": {"ndv": 9, "fpp": 0.001}})
    seen = listing(tmp_path, names)
    files = seen.files
    asked = [[Condition("a", "=", ("1.parquet",))]]
    footers.sifted(seen, files, asked)

    def over() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        footers.sifted(seen, files, asked, over)


def test_files_without_filters_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some may have been written by others."""
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(footers, "SIFT_FROM", 2)
    names = ["with.parquet", "without.parquet", "with2.parquet"]
    for name in names:
        options = {"a": {"ndv": 100, "fpp": 0.001}} if name.startswith("with.") or "2" in name else None
        pq.write_table(pa.table({"a": [name]}), tmp_path / name, bloom_filter_options=options)
    seen = listing(tmp_path, names)
    files = seen.files
    asked = [[Condition("a", "=", ("with2.parquet",))]]
    assert footers.sifted(seen, files, asked).paths == ["without.parquet", "with2.parquet"]
    assert footers.sifted(seen, files, [*asked, []]) is files
    assert footers.sifted(seen, files, [[Condition("b", "=", ("x",))]]) is files
    assert footers.sifted(seen, files, [[Condition("a", ">", ("x",))]]) is files


def test_damaged_and_missing_files_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads their rows then says what is wrong with them."""
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(footers, "SIFT_FROM", 2)
    names = ["good.parquet", "other.parquet", "cut.parquet", "gone.parquet"]
    for name in names[:2]:
        options = {"a": {"ndv": 100, "fpp": 0.001}}
        pq.write_table(pa.table({"a": [name]}), tmp_path / name, bloom_filter_options=options)
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "good.parquet").read_bytes()[:-9])
    asked = [[Condition("a", "=", ("other.parquet",))]]
    for first in range(4):
        seen = listing(tmp_path, names[first:] + names[:first])
        left = footers.sifted(seen, seen.files, asked).paths
        assert set(left) >= {"other.parquet", "cut.parquet", "gone.parquet"}
        assert ("good.parquet" in left) == (first >= 2)

"""Files at hand: what goes when room is short, and that nobody loses what he reads."""

from __future__ import annotations

import gc
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tailrace.core.errors import LakeError
from tailrace.lake.cache import Cache
from tailrace.lake.place import LocalPlace

SIZE = 1000
NAMES = [f"tp_date=2024-03-{day:02}/{day:02}.parquet" for day in range(1, 11)]


@pytest.fixture
def lake(tmp_path: Path) -> LocalPlace:
    """It has to be copied here; that it need not be does not matter to the cache."""
    place = LocalPlace(str(tmp_path / "lake"))
    for name in NAMES:
        place.put(name, content(name), "x")
    return place


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def content(name: str) -> bytes:
    return name.encode().ljust(SIZE)


def at_hand(cache: Cache, lake: LocalPlace, *names: str) -> list[str]:
    return cache.at_hand(lake, [(name, SIZE) for name in names])


def kept(directory: Path) -> set[str]:
    """Days of which the file is in the cache."""
    return {path.name[-10:-8] for path in (directory / "files").glob("*.parquet")}


def pause() -> None:
    time.sleep(0.05)  # the file system's clock has steps


def test_what_was_not_used_for_longest_goes_first(lake: LocalPlace, directory: Path) -> None:
    at_hand(Cache(3 * SIZE, directory), lake, NAMES[0])
    pause()
    at_hand(Cache(3 * SIZE, directory), lake, NAMES[1], NAMES[2])
    pause()
    at_hand(Cache(3 * SIZE, directory), lake, NAMES[0])
    pause()
    assert kept(directory) == {"01", "02", "03"}
    at_hand(Cache(3 * SIZE, directory), lake, NAMES[3])
    assert "01" in kept(directory), "it was used since"
    assert "04" in kept(directory)
    assert len(kept(directory)) == 3
    at_hand(Cache(2 * SIZE, directory), lake, NAMES[4])
    assert kept(directory) == {"04", "05"}


def test_what_is_there_is_not_fetched_again(lake: LocalPlace, directory: Path) -> None:
    told: list[tuple[int, int]] = []
    for _ in range(2):
        cache = Cache(3 * SIZE, directory, lambda *files: told.append(files))
        at_hand(cache, lake, *NAMES[:3])
        at_hand(cache, lake, *NAMES[:2])
    assert told == [(3, 3 * SIZE)]


def test_what_is_read_stays_readable_when_it_is_thrown_out(lake: LocalPlace, directory: Path) -> None:
    reader = Cache(SIZE, directory)
    paths = at_hand(reader, lake, *NAMES[:4])  # more than there is room for
    assert len(kept(directory)) == 1
    at_hand(Cache(0, directory), lake, NAMES[5])
    assert not kept(directory)
    assert [Path(path).read_bytes() for path in paths] == [content(name) for name in NAMES[:4]]
    assert at_hand(reader, lake, *NAMES[:4]) == paths
    del reader
    gc.collect()
    assert not any(map(os.path.exists, paths))
    assert not list((directory / "sessions").iterdir())


def test_many_readers_of_too_small_a_cache(lake: LocalPlace, directory: Path) -> None:
    limit = 3 * SIZE

    def read(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(25):
            cache = Cache(limit, directory)
            names = chance.sample(NAMES, 4)
            paths = at_hand(cache, lake, *names)
            assert [Path(path).read_bytes() for path in paths] == [content(name) for name in names]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(read, range(8)))
    at_hand(Cache(limit, directory), lake, NAMES[0])
    Cache(limit, directory).trim()
    assert 1 <= len(kept(directory)) <= 3
    gc.collect()
    assert not list((directory / "sessions").iterdir())
    assert not list(directory.rglob("*.part"))


def test_what_the_killed_had_goes(lake: LocalPlace, directory: Path) -> None:
    dead = directory / "sessions" / "4711-abcdef"
    dead.mkdir(parents=True)
    (dead / ".lock").touch()
    (dead / "x.parquet.part").write_bytes(b"half")
    alive = Cache(SIZE, directory)
    (path,) = at_hand(alive, lake, NAMES[0])
    assert not dead.exists()
    assert Path(path).read_bytes() == content(NAMES[0])


def test_a_file_that_was_cut_off_is_not_taken(lake: LocalPlace, directory: Path) -> None:
    lake.put(NAMES[0], b"short", "x")
    with pytest.raises(LakeError) as damaged:
        at_hand(Cache(SIZE, directory), lake, *NAMES[:3])
    assert damaged.value.code == "lake.damaged-file"
    assert damaged.value.where == lake.address(NAMES[0])
    assert "01" not in kept(directory)


def test_a_cache_that_cannot_be_written(lake: LocalPlace, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LakeError) as refused:
        at_hand(Cache(SIZE, tmp_path / "file"), lake, NAMES[0])
    assert refused.value.code == "lake.cache"
    assert refused.value.hint
    assert "TAILRACE_CACHE_DIR" in refused.value.hint

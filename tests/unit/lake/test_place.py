from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tailrace.lake.place import LocalPlace


def test_only_one_of_many_writers_wins(tmp_path: Path) -> None:
    place = LocalPlace(str(tmp_path)) / "a"
    for n in range(20):
        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(lambda o: place.put_if_absent(str(n), o.encode(), o), "abcdefgh"))  # noqa: B023
        assert won.count(True) == 1
        assert place.read(str(n)).decode() == "abcdefgh"[won.index(True)]
    assert len(list(place.path.iterdir())) == 20


def test_put_replaces(tmp_path: Path) -> None:
    place = LocalPlace(str(tmp_path))
    place.put("a", b"1", "x")
    place.put("a", b"2", "x")
    assert place.read("a") == b"2"


def test_staged_leftovers_are_no_files_and_are_cleared_away(tmp_path: Path) -> None:
    place = LocalPlace(str(tmp_path))
    (tmp_path / "a.parquet.run.tmp").write_bytes(b"")
    place.put("b", b"1", "x")
    assert place.names() == ["b"]
    place.clear_staged()
    assert [p.name for p in tmp_path.iterdir()] == ["b"]

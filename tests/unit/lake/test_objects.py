from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tailrace.lake.objects import clear_staged, put, put_if_absent


def test_only_one_of_many_writers_wins(tmp_path: Path) -> None:
    for n in range(20):
        path = tmp_path / str(n)
        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(lambda o: put_if_absent(path, o.encode(), o), "abcdefgh"))  # noqa: B023
        assert won.count(True) == 1
        assert path.read_text() == "abcdefgh"[won.index(True)]
    assert len(list(tmp_path.iterdir())) == 20


def test_put_replaces(tmp_path: Path) -> None:
    put(tmp_path / "a", b"1", "x")
    put(tmp_path / "a", b"2", "x")
    assert (tmp_path / "a").read_bytes() == b"2"


def test_staged_leftovers_are_cleared_away(tmp_path: Path) -> None:
    (tmp_path / "a.parquet.run.tmp").write_bytes(b"")
    put(tmp_path / "b", b"1", "x")
    clear_staged(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["b"]

"""Files that grow, are rotated, compressed, emptied and changed: every line once."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lakecheck import check, stored
from livelog import LiveLog, line
from world import World

from tailrace.pipeline import fingerprint, tailing
from tailrace.sources.file import _Bytes


@pytest.fixture
def log(world: World, tmp_path: Path) -> LiveLog:
    return LiveLog(world, tmp_path / "logs")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Bytes that were read of each file."""
    counted: Counter[str] = Counter()
    real = _Bytes.read

    def read(self: _Bytes, size: int | None = -1, /) -> bytes:
        data = real(self, size)
        counted[Path(self._location).name] += len(data)
        return data

    monkeypatch.setattr(_Bytes, "read", read)
    return counted


def files_of(log: LiveLog) -> set[str]:
    root = log.world.lake.table_root("t").path
    return {str(path) for path in root.rglob("*.parquet")}


def test_new_lines_are_appended_and_nothing_is_written_anew(log: LiveLog, read: Counter[str]) -> None:
    log.append(3000, padding=1000)
    log.collect()
    before, files = stored(log.world.home), files_of(log)
    size = log.path.stat().st_size
    log.append(30, padding=1000)
    read.clear()
    log.collect()
    assert log.stored() == log.expected()
    assert before <= stored(log.world.home)
    assert files < files_of(log)
    # Both driver and task look at the fingerprint: the first and the last 64 KiB, and samples between.
    assert read["app.log"] < 700_000 < 3_000_000 < size
    check(log.world.home, "t", "p")
    read.clear()
    log.collect()
    assert read["app.log"] == 0


def test_ids_are_those_of_a_file_read_as_a_whole(log: LiveLog, tmp_path: Path) -> None:
    for _ in range(3):
        log.append(5)
        log.collect()
    whole = World(tmp_path / "other")
    LiveLog(whole, log.folder).collect()
    assert stored(log.world.home) == stored(whole.home)


def test_half_a_line_waits_for_its_other_half(log: LiveLog) -> None:
    log.append(5)
    log.collect()
    log.append(1)
    log.begin(20)
    for _ in range(2):
        log.collect()
        assert log.stored() == log.expected()
    log.finish()
    log.collect()
    assert log.stored() == log.expected()
    assert log.world.query("select count(*) from tp_quarantine") == [(0,)]
    check(log.world.home, "t", "p")


def test_a_last_line_without_end_is_stored_in_the_end(log: LiveLog) -> None:
    log.append(5)
    log.collect()
    log.write(line(5)[:-1])
    log.collect()
    assert log.stored() == Counter(range(5))
    log.settle()
    log.collect()
    assert log.stored() == Counter(range(6))
    log.write(b"\n" + line(6))
    log.collect()
    assert log.stored() == Counter(range(7))
    check(log.world.home, "t", "p")


def test_a_new_file_without_a_last_line_end_is_taken_at_once(log: LiveLog) -> None:
    log.write(line(0) + line(1)[:-1])
    log.collect()
    assert log.stored() == Counter(range(2))
    log.write(b"\n" + line(2))
    log.collect()
    assert log.stored() == Counter(range(3))


def test_half_a_line_of_a_new_file_is_replaced(log: LiveLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tailing, "QUIET", 0.0)
    log.append(3)
    log.begin(20)
    log.collect()
    assert log.world.query("select count(*) from tp_quarantine") == [(1,)]
    log.finish()
    log.collect()
    assert log.stored() == log.expected()
    assert log.world.query("select count(*) from tp_quarantine") == [(0,)]


def test_rotation_by_renaming(log: LiveLog, read: Counter[str]) -> None:
    log.append(10)
    log.collect()
    first = stored(log.world.home)
    log.append(3)
    log.rotate()
    log.append(4)
    log.collect()
    assert log.stored() == log.expected()
    assert first <= stored(log.world.home)
    for _ in range(2):
        log.rotate()
        log.append(1)
        log.collect()
        assert log.stored() == log.expected()
    read.clear()
    log.collect()
    assert not read
    check(log.world.home, "t", "p")


def test_a_rotated_file_that_is_deleted_keeps_its_rows(log: LiveLog) -> None:
    log.append(10)
    log.collect()
    log.rotate()
    (log.folder / "app.log.1").unlink()
    log.append(2)
    log.collect()
    assert log.stored() == log.expected() == Counter(range(12))


@pytest.mark.parametrize("padding", [0, 500])
def test_compressed_after_rotation(log: LiveLog, padding: int) -> None:
    log.append(10, padding)
    log.collect()
    log.append(3, padding)
    log.rotate()
    log.gzip()
    log.append(1, padding)
    log.collect()
    assert log.stored() == log.expected()
    log.rotate()
    log.append(1, padding)
    log.collect()
    log.gzip()
    log.collect()
    assert log.stored() == log.expected()
    check(log.world.home, "t", "p")


@pytest.mark.parametrize("padding", [0, 500])
def test_copied_and_emptied(log: LiveLog, padding: int) -> None:
    log.append(10, padding)
    log.collect()
    log.append(3, padding)
    log.copytruncate()
    log.append(20, padding)
    log.collect()
    assert log.stored() == log.expected()
    log.copytruncate()
    log.collect()
    assert log.stored() == log.expected()
    check(log.world.home, "t", "p")


def test_emptied_without_a_copy(log: LiveLog) -> None:
    for grown in (2, 40):
        log.append(10)
        log.collect()
        log.truncate()
        log.append(grown)
        (report,) = log.world.collect()
        assert [advice.code for advice in report.advice] == ["data.other-content"]
        log.seen.update(log.current)
        assert log.stored() == log.expected()
    check(log.world.home, "t", "p")


@pytest.mark.parametrize("offset", [3, 400, -20])
def test_changed_bytes_replace_the_file(log: LiveLog, offset: int) -> None:
    log.append(10)
    log.collect()
    data = bytearray(log.path.read_bytes())
    at = data.index(b"x" if b"x" in data else b"n", offset % len(data))
    data[at + 4 : at + 5] = b"9"
    log.path.write_bytes(bytes(data))
    log.append(1)
    log.world.collect()
    assert len(stored(log.world.home)) <= 11
    check(log.world.home, "t", "p")


def test_a_touched_file_is_read_again(log: LiveLog, read: Counter[str]) -> None:
    log.append(10)
    log.collect()
    os.utime(log.path)
    read.clear()
    log.collect()
    assert read["app.log"] >= log.path.stat().st_size
    assert log.stored() == log.expected()


def test_a_copy_under_way_is_left_alone(log: LiveLog) -> None:
    log.append(10, 200)
    log.collect()
    log.append(2, 200)
    data = log.path.read_bytes()
    for size in (0, 100, 2000, len(data)):
        (log.folder / "app.log.1").write_bytes(data[:size])
        log.collect()
        assert log.stored() == log.expected()
    os.truncate(log.path, 0)
    log._begin_anew()
    log.append(5)
    log.collect()
    assert log.stored() == log.expected()
    check(log.world.home, "t", "p")


def test_a_copy_of_another_name_is_other_rows(log: LiveLog) -> None:
    log.append(10, 200)
    log.collect()
    (log.folder / "other.log").write_bytes(log.path.read_bytes())
    log.collect()
    assert log.stored() == Counter([*range(10), *range(10)])


OPERATIONS = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 4), st.sampled_from([0, 0, 700])),
    st.tuples(st.just("begin"), st.integers(1, 60)),
    *(st.tuples(st.just(name)) for name in ("finish", "rotate", "copytruncate", "truncate", "gzip", "settle")),
    st.tuples(st.just("collect")),
    st.tuples(st.just("collect")),
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(OPERATIONS, min_size=4, max_size=16))
def test_every_whole_line_once_whatever_happens(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[object, ...]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tailing, "QUIET", 0.0)
        patch.setattr(fingerprint, "EDGE", 1024)
        patch.setattr(fingerprint, "SAMPLE", 64)
        log = LiveLog(World(folder / "home"), folder / "logs")
        for name, *values in operations:
            getattr(log, str(name))(*values)
        log.finish()
        for _ in range(2):
            log.collect()
        if log.next:
            assert log.stored() == log.expected()
            check(log.world.home, "t", "p")

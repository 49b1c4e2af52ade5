"""The spool: what was acknowledged is on disk, once, whatever happens."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tailrace.core.errors import LockedError
from tailrace.streams import records, segments
from tailrace.streams import spool as spooling
from tailrace.streams.records import Identity, Record
from tailrace.streams.spool import Spool, SpoolFull, SpoolLimits

NOW = 1_700_000_000_000
SOON = SpoolLimits(segment_seconds=0.02, reserve=0)


def record(number: int, **more: object) -> Record:
    return Record(records.EVENT_LINES, 1, NOW, bytes(16), "http.x", b"%d" % number, **more)


def bodies(spool: Path) -> list[int]:
    found = []
    for number in segments.numbers(spool, segments.CLOSED):
        found += [int(bytes(r.body)) for r in segments.read(segments.path_of(spool, number, segments.CLOSED))]
    return found


def test_records_come_back_in_order(tmp_path):
    spool = Spool(tmp_path / "s", SpoolLimits(segment_bytes=500, reserve=0))
    for future in [spool.append(record(n)) for n in range(50)]:
        future.result(10)
    spool.close()
    assert bodies(tmp_path / "s") == list(range(50))
    assert not segments.numbers(tmp_path / "s", segments.OPEN)


def test_many_records_share_one_wait_for_the_disk(tmp_path, monkeypatch):
    waits = []
    real = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda handle: (waits.append(handle), real(handle)))
    spool = Spool(tmp_path / "s", SpoolLimits(reserve=0))
    futures = [spool.append(record(n)) for n in range(500)]
    for future in futures:
        future.result(10)
    spool.close()
    assert len(waits) < 250
    assert len(bodies(tmp_path / "s")) == 500


def test_as_many_as_last_time_are_waited_for_but_not_for_long(tmp_path, monkeypatch):
    waits = []
    real = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda handle: (waits.append(handle), real(handle)))
    monkeypatch.setattr(spooling, "GATHER", 0.3)
    spool = Spool(tmp_path / "s", SpoolLimits(reserve=0))
    spool.append(record(0)).result(10)
    begun = time.monotonic()
    spool._last, spool._synced = 3, begun  # as if three had come together
    for future in [spool.append(record(n)) for n in range(3)]:
        future.result(10)
    assert (len(waits), time.monotonic() - begun < 0.3) == (2, True)
    spool.append(record(3)).result(10)
    assert time.monotonic() - begun >= 0.3
    spool.append(record(4)).result(10)  # the last one came alone
    spool.close()
    assert len(waits) == 4


def test_numbers_are_never_given_twice(tmp_path):
    """Also when everything was stored and deleted meanwhile: whoever stores goes by the number."""
    for _ in range(3):
        before = segments.recover(tmp_path / "s")
        spool = Spool(tmp_path / "s", SOON)
        spool.append(record(1)).result(10)
        spool.close()
        (number,) = segments.numbers(tmp_path / "s", segments.CLOSED)
        assert number > before
        segments.path_of(tmp_path / "s", number, segments.CLOSED).unlink()


def test_an_old_segment_is_closed_by_itself(tmp_path):
    spool = Spool(tmp_path / "s", SOON)
    spool.append(record(1)).result(10)
    for _ in range(500):
        if segments.numbers(tmp_path / "s", segments.CLOSED):
            break
        signal.sigtimedwait([], 0.01)
    assert bodies(tmp_path / "s") == [1]
    spool.close()


def test_a_full_spool_takes_nothing_and_a_stored_one_again(tmp_path):
    spool = Spool(tmp_path / "s", SpoolLimits(high_mark=200, segment_seconds=0.01, reserve=0))
    spool.append(Record(records.EVENT_LINES, 1, NOW, bytes(16), "l", b"1" * 300)).result(10)
    assert spool.full
    with pytest.raises(SpoolFull):
        spool.append(record(2)).result(10)
    for _ in range(500):
        for number in segments.numbers(tmp_path / "s", segments.CLOSED):
            segments.path_of(tmp_path / "s", number, segments.CLOSED).unlink()
        if not spool.full:
            break
        signal.sigtimedwait([], 0.01)
    spool.append(record(3)).result(10)
    spool.close()
    assert bodies(tmp_path / "s") == [3]


def test_a_disk_without_room_stops_the_intake_first(tmp_path):
    spool = Spool(tmp_path / "s", SpoolLimits(reserve=1 << 60))
    with pytest.raises(SpoolFull):
        spool.append(record(1)).result(10)
    spool.close()


def test_a_write_that_fails_is_not_acknowledged_and_spoils_nothing(tmp_path, monkeypatch):
    spool = Spool(tmp_path / "s", SpoolLimits(reserve=0))
    spool.append(record(1)).result(10)
    with monkeypatch.context() as broken:
        broken.setattr(os, "fdatasync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(SpoolFull, match="No space left"):
            spool.append(record(2)).result(10)
    spool.append(record(3)).result(10)
    spool.close()
    assert bodies(tmp_path / "s") == [1, 3]
    assert spool.errors == 1


def test_two_processes_do_not_share_a_spool(tmp_path):
    spool = Spool(tmp_path / "s", SOON)
    with pytest.raises(LockedError, match="tailrace serve"):
        Spool(tmp_path / "s", SOON)
    spool.close()
    Spool(tmp_path / "s", SOON).close()


@pytest.mark.parametrize("lost", [1, 3, 40])
def test_a_torn_tail_is_cut(tmp_path, lost):
    root = tmp_path / "s"
    root.mkdir()
    path = segments.path_of(root, 1, segments.OPEN)
    data = records.MAGIC + b"".join(record(n).packed() for n in range(3))
    path.write_bytes(data[:-lost])
    assert segments.recover(root) == 1
    assert bodies(root) == [0, 1]


@pytest.mark.parametrize("content", [b"", b"TRS", records.MAGIC, b"something else entirely"])
def test_an_open_segment_with_nothing_in_it_is_removed(tmp_path, content):
    segments.path_of(tmp_path, 1, segments.OPEN).write_bytes(content)
    segments.recover(tmp_path)
    assert not segments.numbers(tmp_path, segments.OPEN)
    assert not segments.numbers(tmp_path, segments.CLOSED)


def test_batches_that_are_sent_again_are_known_also_after_a_restart(tmp_path):
    key, same = b"k" * 8, Identity.of(7, b"content")
    spool = Spool(tmp_path / "s", SOON)
    moment = 2**42
    assert not spool.is_repeated(key, same, moment)
    spool.append(record(1, key=key, identities=(same,))).result(10)
    assert spool.is_repeated(key, same, moment)
    assert not spool.is_repeated(key, Identity.of(7, b"other"), moment)
    assert not spool.is_repeated(b"K" * 8, same, moment)
    assert not spool.is_repeated(key, Identity.of(0, b"content"), moment)
    assert not spool.is_repeated(key, Identity.of(0, b"content"), moment)
    spool.close()
    for number in segments.numbers(tmp_path / "s", segments.CLOSED):
        segments.path_of(tmp_path / "s", number, segments.CLOSED).unlink()
    again = Spool(tmp_path / "s", SpoolLimits(reserve=0, window=1e9))
    assert again.is_repeated(key, same, NOW + 1000)
    again.close()


def test_outside_of_the_window_a_batch_is_new(tmp_path):
    spool = Spool(tmp_path / "s", SpoolLimits(reserve=0, window=600, segment_seconds=60))
    key, same = b"k" * 8, Identity.of(7, b"content")
    assert not spool.is_repeated(key, same, 2**42)
    assert spool.is_repeated(key, same, 2**42 + 600_000)
    assert not spool.is_repeated(key, same, 2**42 + 600_001)
    spool.close()

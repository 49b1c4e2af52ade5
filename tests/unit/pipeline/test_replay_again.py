"""Replayed and purged records, and what later changes of their artifacts and partition do with them."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from logfiles import write
from refusals import JSONL, WRONG, configure, counts, lines, refused, replayed, stored
from world import World

from tailrace.core import TimeRange
from tailrace.lake.purge import purge
from tailrace.lake.quarantine import SHOWN_SCHEMA
from tailrace.lake.sought import Sought
from tailrace.lake.undo import erase, history, restore


@pytest.fixture
def logs(world: World, tmp_path: Path) -> Path:
    """Two files, of which 2 records each were refused; the configuration is mended."""
    for name in "ab":
        write(tmp_path / "logs" / f"{name}.log", lines(1, 2) + "bad\n")
    configure(world, tmp_path / "logs", WRONG)
    world.collect()
    assert counts(world) == (0, 6)
    configure(world, tmp_path / "logs", JSONL)
    return tmp_path / "logs"


def rewrite(path: Path, text: str) -> None:
    before = path.stat().st_mtime_ns
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


def test_a_changed_file_replaces_replayed_rows_and_what_is_left(world: World, logs: Path) -> None:
    replayed(world)
    assert counts(world) == (4, 2)
    rewrite(logs / "a.log", lines(2, 1) + "worse\n")
    world.collect()
    assert counts(world) == (4, 2)
    assert [row[3] for row in refused(world)] == [b"worse", b"bad"]
    assert replayed(world).stored == 0
    assert counts(world) == (4, 2)


def test_some_replayed_then_all_read_again(world: World, logs: Path) -> None:
    """A collection after a partial replay reads what is left with its artifact: no row comes twice."""
    replayed(world, sought=Sought(artifacts=["a.log"]))
    first = stored(world)
    report = world.collect()[0]
    assert report.done == 1
    assert counts(world) == (4, 2)
    assert stored(world)[:2] == first or stored(world)[2:] == first


@pytest.mark.parametrize("replay_first", [True, False])
def test_overwriting_a_range_loses_no_refused_record(world: World, logs: Path, replay_first: bool) -> None:
    """Records that fit now and lie outside the range are neither lost nor doubled."""
    if replay_first:
        replayed(world)
    (report,) = world.collect(window=TimeRange(datetime(2024, 5, 3), datetime(2024, 5, 4)), overwrite=True)
    assert report.clean, report.troubles
    assert counts(world) == (4, 2)
    replayed(world)
    assert counts(world) == (4, 2)


def test_a_failed_reading_keeps_replayed_rows(world: World, logs: Path) -> None:
    replayed(world)
    before = stored(world)
    rewrite(logs / "a.log", "")
    (logs / "a.log").write_bytes(b"\x1f\x8b\x08\x00rubbish that is no deflate stream")
    world.collect()
    assert stored(world) == before
    assert [row[1] for row in refused(world)].count(-1) == 1
    assert len(refused(world)) == 3
    # One record of it holds still, and the file as a whole: what can be tried is, and nothing is doubled.
    report = replayed(world)
    assert (report.stored, len(refused(world)), stored(world) == before) == (0, 3, True)
    rewrite(logs / "a.log", lines(1, 2, 5))
    replayed(world)
    assert (len(stored(world)), len(refused(world))) == (5, 1)


def test_restoring_brings_the_quarantine_back_too(world: World, logs: Path) -> None:
    version = history(world.lake, "events", "p")[0].version
    replayed(world)
    assert counts(world) == (4, 2)
    restore(world.lake, "events", "p", version)
    assert counts(world) == (0, 6)
    assert replayed(world).stored == 4
    assert [c.kind for c in history(world.lake, "events", "p")] == ["replay", "restore", "replay", "collect"]
    purge(world.lake, "events", "p", Sought())
    assert counts(world) == (4, 0)
    restore(world.lake, "events", "p", history(world.lake, "events", "p")[1].version)
    assert counts(world) == (4, 2)


def test_purging_what_is_meant(world: World, logs: Path) -> None:
    replayed(world, sought=Sought(artifacts=["a.log"]))
    done = purge(world.lake, "events", "p", Sought(artifacts=["b.log"], reasons=["no match"]))
    assert done.records == 3
    assert counts(world) == (2, 1)
    assert purge(world.lake, "events", "p", Sought(reasons=["other"])).records == 0
    assert replayed(world).tried == 1
    # What was purged is not wanted: only a new version of its file brings it back.
    world.collect()
    assert counts(world) == (2, 1)
    rewrite(logs / "b.log", lines(3) + "bad\n")
    world.collect()
    assert counts(world) == (3, 2)


def test_replay_of_a_second_version(world: World, logs: Path) -> None:
    """Entries of the first version do not come back with those of the second."""
    configure(world, logs, WRONG)
    rewrite(logs / "a.log", lines(1, 2, 3))
    world.collect()
    assert counts(world) == (0, 6)
    configure(world, logs, JSONL)
    assert replayed(world, sought=Sought(artifacts=["a.log"])).stored == 3
    assert counts(world) == (3, 3)
    assert purge(world.lake, "events", "p", Sought(reasons=["match"])).records == 3
    assert counts(world) == (3, 0)


def test_deleting_everything_forgets_the_quarantine(world: World, logs: Path) -> None:
    replayed(world)
    erase(world.lake, "events", "p", TimeRange())
    assert (stored(world), refused(world)) == ([], [])
    world.collect()
    assert counts(world) == (4, 2)


@pytest.mark.parametrize("apart", [False, True])
def test_replay_brings_no_row_of_a_deleted_range_back(world: World, logs: Path, apart: bool) -> None:
    """Neither by itself nor with its artifact; the record leaves the quarantine, and is read when it is overwritten."""
    if apart:  # as an earlier version wrote them, they cannot be read by themselves
        for path in world.lake.meta("quarantine", "events", "p").path.iterdir():
            pq.write_table(pq.ParquetFile(path).read(columns=SHOWN_SCHEMA.names), path)
    day = TimeRange(datetime(2024, 5, 2), datetime(2024, 5, 3))  # of the record 1
    erase(world.lake, "events", "p", day)
    assert counts(world) == (0, 6), "the quarantine stays as it is"
    looked = replayed(world, dry_run=True)
    report = replayed(world)
    for told in (looked, report):
        assert (told.tried, told.stored, told.deleted, told.quarantined) == (6, 2, 2, 2)
    assert report.artifacts == (2 if apart else 0)
    assert counts(world) == (2, 2)
    assert {n for n, *_ in stored(world)} == {2}
    rewrite(logs / "a.log", lines(0, 1, 2, 3) + "bad\n")
    (collected,) = world.collect()
    assert (collected.counts.stored, collected.counts.deleted) == (3, 1)
    (report,) = world.collect(window=day, overwrite=True)  # type: ignore[assignment]
    assert sorted(n for n, *_ in stored(world)) == [0, 1, 1, 2, 2, 3]
    assert counts(world) == (6, 2)


def test_files_of_an_earlier_version_are_read_with_their_artifacts(world: World, logs: Path) -> None:
    """They do not say how their records were cut; a purge and a query need not know."""
    for path in world.lake.meta("quarantine", "events", "p").path.iterdir():
        pq.write_table(pq.ParquetFile(path).read(columns=SHOWN_SCHEMA.names), path)
    assert len(refused(world)) == 6
    (logs / "b.log").unlink()
    report = replayed(world)
    assert (report.stored, report.artifacts, report.left) == (2, 1, 3)
    assert [trouble.code for trouble in report.troubles] == ["quarantine.artifact-gone"]
    assert counts(world) == (2, 4)
    assert purge(world.lake, "events", "p", Sought(artifacts=["b.log"])).records == 3
    assert counts(world) == (2, 1)

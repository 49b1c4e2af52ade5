"""Records that were refused and fit after a change of the configuration: what a first collection would have made."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest
from logfiles import write
from refusals import JSONL, TIMES, WRONG, configure, counts, jsonl, lines, refused, replayed, stored
from world import World

from tailrace.core import TimeRange
from tailrace.formats.base import RAW_LIMIT
from tailrace.lake.sought import Sought
from tailrace.lake.undo import history
from tailrace.pipeline import replay_plan, waste

LINES = {
    "jsonl": (JSONL, jsonl),
    "regex": ('format "regex" "right" { layout = `^(?P<at>\\S+) (?P<n>\\d+)$` }', lambda n, at: f"{at} {n}"),
    "grok": ('format "grok" "right" { layout = `%{NOTSPACE:at} <%{INT:n}>` }', lambda n, at: f"{at} <{n}>"),
    "logfmt": ("format.logfmt.default", lambda n, at: f"at={at} n={n}"),
}


@pytest.mark.parametrize("kind", LINES)
def test_lines_that_fit_now_are_the_rows_of_a_first_collection(tmp_path: Path, kind: str) -> None:
    right, line = LINES[kind]
    world, other = World(tmp_path / "home"), World(tmp_path / "other")
    logs = tmp_path / "logs"
    # Some lines fit the wrong format, one fits neither, and lines end in both ways.
    written = [line(n, at) + ("\r" if n % 2 else "") for n, at in enumerate(TIMES)]
    for name in ("a.log", "b.log.gz"):
        write(logs / name, "\n".join([*written[:5], "neither here nor there", *written[5:]]) + "\n")
    configure(world, logs, WRONG)
    world.collect()
    assert counts(world)[0] == 0
    configure(world, logs, right)
    configure(other, logs, right)
    other.collect()
    for path in logs.iterdir():
        path.unlink()  # what was kept is enough
    report = replayed(world)
    assert (report.tried, report.stored, report.quarantined, report.left) == (26, 24, 2, 0)
    assert stored(world) == stored(other)
    assert refused(world) == refused(other)
    assert counts(world) == (24, 2)


def test_documents_keep_their_ordinals(tmp_path: Path) -> None:
    world, other = World(tmp_path / "home"), World(tmp_path / "other")
    logs = tmp_path / "logs"
    records = [{"at" if n % 3 else "when": at, "n": n, "when": at} for n, at in enumerate(TIMES)]
    write(logs / "a.json", json.dumps({"Records": records}))
    write(logs / "b.json", '{"Records": [{"at": "2024-05-01T00:00:00Z", "n": 1}, {"n": oops}, 17]}')
    right, wrong = (
        f'format "json" "x" {{\nrecords = "Records"\nfield_map = {{ tp_timestamp = "{key}" }}\n}}'
        for key in ("when", "then")
    )
    configure(other, logs, right)
    other.collect()
    configure(world, logs, wrong)
    world.collect()
    assert counts(world)[0] == 0
    configure(world, logs, right)
    for path in logs.iterdir():
        path.unlink()
    replayed(world)
    assert (stored(world), refused(world)) == (stored(other), refused(other))


def test_what_says_too_little_by_itself_is_read_with_its_artifact(tmp_path: Path) -> None:
    """A header names the fields, so a line alone is not enough; all rows of the file come anew, once."""
    world, logs = World(tmp_path / "home"), tmp_path / "logs"
    write(logs / "a.csv", "at,n,kind\n" + "".join(f"{at},{n},x\n" for n, at in enumerate(TIMES)))
    write(logs / "gone.csv", "at,n,kind\n2024-05-01T00:00:00Z,1,x\n")
    sick = 'format "delimited" "x" {\ndelimiter = ","\nfield_map = { tp_timestamp = "%s" }\n}'
    configure(world, logs, sick % "moment")
    world.collect()
    assert counts(world) == (0, 13)
    (logs / "gone.csv").unlink()
    unchanged = replayed(world)
    assert (unchanged.left, unchanged.stored, len(unchanged.advice)) == (13, 0, 1)
    configure(world, logs, sick % "at")
    report = replayed(world)
    assert (report.tried, report.stored, report.artifacts, report.left) == (12, 12, 1, 1)
    (trouble,) = report.troubles
    assert (trouble.code, trouble.where) == ("quarantine.artifact-gone", str(logs / "gone.csv"))
    assert counts(world) == (12, 1)
    assert world.collect()[0].done == 0


def test_a_record_too_large_to_be_kept_is_read_with_its_artifact(world: World, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    large = json.dumps({"at": TIMES[0], "n": 1, "text": "x" * RAW_LIMIT})
    write(logs / "a.log", large + "\n" + lines(2))
    write(logs / "b.log", large + "\n")
    configure(world, logs, WRONG)
    world.collect()
    assert counts(world) == (0, 3)
    configure(world, logs, JSONL)
    (logs / "b.log").unlink()
    report = replayed(world)
    assert (report.stored, report.left, [t.code for t in report.troubles]) == (2, 1, ["quarantine.artifact-gone"])
    assert counts(world) == (2, 1)


def test_an_artifact_that_failed_is_read_again(world: World, tmp_path: Path) -> None:
    path = write(tmp_path / "logs" / "a.log", "")
    path.write_bytes(b"\x1f\x8b\x08\x00rubbish that is no deflate stream")
    configure(world, path.parent, JSONL)
    world.collect()
    ((_, position, reason, _),) = refused(world)
    assert (position, reason[:10]) == (-1, "artifact: ")
    report = replayed(world)
    assert (report.tried, report.quarantined, report.troubles[0].code) == (1, 1, "data.failed-artifact")
    assert len(refused(world)) == 1
    write(path, lines(1, 2) + "bad\n")
    report = replayed(world)
    assert (report.tried, report.stored, report.quarantined, report.artifacts) == (1, 2, 1, 1)
    assert counts(world) == (2, 1)


def test_what_still_does_not_fit_stays_with_the_newer_reason(world: World, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.log", lines(1) + '{"n": 2}\n')
    configure(world, tmp_path / "logs", WRONG)
    world.collect()
    assert {row[2] for row in refused(world)} == {"regex: no match"}
    since = world.query("select distinct ingested_at from tp_quarantine")
    configure(world, tmp_path / "logs", JSONL)
    replayed(world)
    assert [row[2] for row in refused(world)] == ["row: no timestamp (no time in tp_timestamp)"]
    assert world.query("select ingested_at from tp_quarantine") == since
    before = history(world.lake, "events", "p")
    assert replayed(world).quarantined == 1
    # The same once more would change nothing, and neither would a collection: there is no commit for it.
    world.collect()
    assert history(world.lake, "events", "p") == before


def test_range_filter_and_index_hold_for_replayed_rows(world: World, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.log", lines(*range(12)))
    configure(world, tmp_path / "logs", WRONG)
    world.collect(window=TimeRange(datetime(2024, 5, 2), None))
    configure(world, tmp_path / "logs", JSONL, more='filter = "n > 3"\n tp_index = "n"')
    report = replayed(world)
    # Of 12 records 4 lie on the first day, of the others 2 are filtered.
    assert (report.tried, report.stored, report.filtered, report.out_of_range) == (12, 6, 2, 4)
    assert counts(world) == (6, 0)
    assert world.query("select count(distinct tp_index) from events") == [(6,)]


def test_only_what_is_meant_is_tried(world: World, tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path / "logs" / f"{name}.log", lines(1, 2))
    configure(world, tmp_path / "logs", WRONG)
    world.collect()
    configure(world, tmp_path / "logs", JSONL)
    for nothing in (
        Sought(TimeRange(None, datetime(2024, 1, 1))),
        Sought(reasons=["json"]),
        Sought(artifacts=["c.log"]),
    ):
        assert replayed(world, sought=nothing).tried == 0
    assert replayed(world, sought=Sought(artifacts=["*/a.log"], reasons=["no MATCH"])).stored == 2
    assert counts(world) == (2, 2)
    assert replayed(world).stored == 2
    assert counts(world) == (4, 0)


def test_many_files_of_many_artifacts(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of an artifact lie in several files, and some of each file's are meant."""
    monkeypatch.setattr(waste, "HELD_BYTES", 1000)
    monkeypatch.setattr(replay_plan, "FILES_PER_UNIT", 2)
    for name in range(6):
        write(tmp_path / "logs" / f"{name}.log", lines(*range(10)))
    configure(world, tmp_path / "logs", WRONG)
    world.collect()
    configure(world, tmp_path / "logs", JSONL)
    assert len(list(world.lake.meta("quarantine", "events", "p").path.iterdir())) > 10
    assert replayed(world, sought=Sought(artifacts=["2.log", "4.log"])).stored == 20
    assert counts(world) == (20, 40)
    assert replayed(world).stored == 40
    assert counts(world) == (60, 0)


def test_a_dry_run_tells_the_same_and_leaves_nothing(world: World, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.log", lines(1, 2) + "bad\n")
    configure(world, tmp_path / "logs", WRONG)
    world.collect()
    configure(world, tmp_path / "logs", JSONL)
    before = sorted(path for path in world.home.rglob("*") if path.is_file())
    looked = replayed(world, dry_run=True)
    assert sorted(path for path in world.home.rglob("*") if path.is_file()) == before
    done = replayed(world)
    assert (looked.tried, looked.stored, looked.quarantined) == (done.tried, done.stored, done.quarantined) == (3, 2, 1)


def test_duplicates_of_stored_rows_leave_the_quarantine_and_are_not_stored(tmp_path: Path) -> None:
    """By `dedupe`: of rows that are stored, and of each other; what would be stored twice is counted as such."""
    world, logs = World(tmp_path / "home"), tmp_path / "logs"
    dedupe = 'dedupe = ["n"]\n  dedupe_window = "720h"'
    write(logs / "good.log", lines(1, 2))
    configure(world, logs, JSONL, more=dedupe)
    assert world.collect()[0].counts.stored == 2
    write(logs / "refused.log", lines(2, 3, 3, 4) + "bad\n")
    configure(world, logs, WRONG, more=dedupe)
    assert world.collect()[0].counts.quarantined == 5
    configure(world, logs, JSONL, more=dedupe)
    dry = replayed(world, dry_run=True)
    assert (dry.tried, counts(world)) == (5, (2, 5))
    report = replayed(world)
    assert (report.tried, report.stored, report.duplicates, report.quarantined) == (5, 2, 2, 1)
    assert world.query("select n from events order by n") == [(1,), (2,), (3,), (4,)]
    assert counts(world) == (4, 1)
    assert [row[3] for row in refused(world)] == [b"bad"]
    again = replayed(world)
    assert (again.stored, again.duplicates, counts(world)) == (0, 0, (4, 1))
    # Nor does collecting bring them back.
    assert world.collect()[0].counts.stored == 0
    assert counts(world) == (4, 1)

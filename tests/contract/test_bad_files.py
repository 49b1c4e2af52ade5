"""Files and folders with odd names, or that change or vanish meanwhile."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inboxes import NGINX, Inbox, lines
from world import World

from tailrace.core import Artifact, SourceError
from tailrace.pipeline.job import Job, Unit, UnitResult
from tailrace.pipeline.unit import run_unit
from tailrace.sources.file import FileSource

ODD_NAMES = [
    b"with blanks.log", b"quote'\"s.log", "ünïcödé ☃.log".encode(), b"new\nline.log", b"100%.log", b"a%20b.log",
    b"not-utf8-\xff\xfe.log", b"back\\slash.log", b"bang!member.log", b"$(touch x);#.log", b"[glob]*.log",
]  # fmt: skip


def test_odd_names(inbox: Inbox) -> None:
    for name in ODD_NAMES:
        inbox.put(name, lines(2))
    report = inbox.collect()
    assert report.clean
    assert report.counts.stored == 2 * len(ODD_NAMES)
    places = {place for (place,) in inbox.world.query(f"select distinct tp_source_location from {NGINX}")}
    assert places >= {str(inbox.folder / name.decode("utf-8", "replace")) for name in ODD_NAMES}
    ((ids,),) = inbox.world.query(f"select count(distinct tp_id) from {NGINX}")
    assert ids == inbox.count()
    (again,) = inbox.world.collect()
    assert again.wanted == 0


def test_link_loops(inbox: Inbox) -> None:
    inbox.put("inner/a.log", lines(2))
    (inbox.folder / "inner/up").symlink_to(inbox.folder)
    (inbox.folder / "itself").symlink_to(inbox.folder / "itself")
    (inbox.folder / "nowhere.log").symlink_to(inbox.folder / "missing")
    (inbox.folder / "again.log").symlink_to(inbox.folder / "inner/a.log")
    report = inbox.collect()
    assert report.counts.stored == 2
    assert sorted(Path(t.where).name for t in report.troubles) == ["itself", "nowhere.log"]


def between(world: World, change: Callable[[], object]) -> None:
    """Does something after the files were listed and before they are read."""

    def run(_: Any, job: Job, some: tuple[Unit, ...]) -> list[UnitResult]:
        change()
        return [run_unit(job, unit) for unit in some]

    world.run = run


def test_a_directory_that_vanishes(inbox: Inbox) -> None:
    inbox.put("gone/a.log", lines(2))
    inbox.put("gone/b.log", lines(2))
    between(inbox.world, lambda: shutil.rmtree(inbox.folder / "gone"))
    report = inbox.collect()
    assert sorted(Path(t.where).name for t in report.advice) == ["a.log", "b.log"]
    assert all("no such file" in t.message and t.code == "source.gone" for t in report.advice)
    assert (report.clean, report.failed, report.counts.stored) == (True, 0, 0)
    between(inbox.world, lambda: None)
    inbox.put("back/a.log", lines(2))
    assert inbox.collect().counts.stored == 2


def test_a_path_that_does_not_exist(world: World, tmp_path: Path) -> None:
    report = world.collect_one(NGINX, str(tmp_path / "missing"))
    assert [t.where for t in report.troubles] == [str(tmp_path / "missing")]


@pytest.mark.parametrize("became", [5, 1, 0])
def test_a_file_that_grows_or_shrinks(became: int, inbox: Inbox) -> None:
    path = inbox.put("a.log", lines(2))
    between(inbox.world, lambda: path.write_bytes(lines(became)))
    assert inbox.collect().counts.stored == became
    between(inbox.world, lambda: None)
    (report,) = inbox.world.collect()
    assert report.clean
    assert inbox.count("tp_source_location like '%/a.log'") == became


def test_a_pipe_in_place_of_a_file(inbox: Inbox) -> None:
    path = inbox.put("a.log", lines(2))
    between(inbox.world, lambda: (path.unlink(), os.mkfifo(path)))
    (trouble,) = inbox.collect().troubles
    assert "not a regular file" in trouble.message


@pytest.mark.parametrize(("code", "rolled_back"), [("source.denied", False), ("source.io", True)])
def test_a_file_that_cannot_be_read(
    code: str, rolled_back: bool, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = FileSource.open

    def refuse(source: FileSource, artifact: Artifact) -> object:
        if artifact.location.endswith("a.log"):
            raise SourceError("cannot be read: permission denied", code=code, where=artifact.location)
        return real(source, artifact)

    inbox.put("a.log", lines(2))
    monkeypatch.setattr(FileSource, "open", refuse)
    if not rolled_back:
        report = inbox.collect()
        assert [(t.where, t.code) for t in report.troubles] == [(str(inbox.folder / "a.log"), code)]
        assert "permission denied" in report.troubles[0].message
    else:
        report = inbox.world.collect_one(NGINX, str(inbox.folder))
        (trouble,) = report.troubles
        assert trouble.code == "collect.rolled-back"
        assert str(inbox.folder / "a.log") in trouble.message
    monkeypatch.undo()
    (report,) = inbox.world.collect()
    assert report.clean
    assert inbox.count("tp_source_location like '%/a.log'") == 2


def test_its_own_files_are_left_out(inbox: Inbox) -> None:
    """The home as a source, by mistake: neither the lake nor Spark's log is read, other files are."""
    home = inbox.world.home
    inbox.put("a.log", lines(2))
    inbox.collect()
    for name in ("spark.log", "spark.log.1", "web.log"):
        (home / "logs").mkdir(exist_ok=True)
        (home / "logs" / name).write_bytes(lines(1))
    report = inbox.world.collect_one(NGINX, str(home))
    assert (report.discovered, report.counts.received, report.counts.quarantined) == (1, 1, 0)
    (advice,) = report.advice
    assert advice.code == "source.own-files"
    assert "of Tailrace's own home left out" in advice.message
    assert report.clean


def test_the_lake_as_a_source_gives_nothing(inbox: Inbox) -> None:
    inbox.put("a.log", lines(2))
    inbox.collect()
    linked = inbox.folder / "linked"
    linked.symlink_to(inbox.world.lake.data_root.path)
    for place in (inbox.world.lake.data_root.path, linked, *inbox.world.lake.data_root.path.rglob("*.parquet")):
        report = inbox.world.collect_one(NGINX, str(place))
        assert (report.discovered, [note.code for note in report.advice]) == (0, ["source.own-files"])

"""Files that grow, are rotated, emptied or replaced while they are read: the run ends well, the next ones converge."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from lakecheck import check
from livelog import LiveLog, line
from world import World

from tailrace.core import Artifact
from tailrace.pipeline import tailing
from tailrace.pipeline.recognise import Recognition
from tailrace.sources.file import FileSource, _Bytes

MANY = 400
"Lines: several blocks, as blocks are small here."


def grow(log: LiveLog) -> None:
    log.append(7, 300)


def rotate(log: LiveLog) -> None:
    log.rotate()
    log.append(5, 300)


def copytruncate(log: LiveLog) -> None:
    log.copytruncate()


def copytruncate_and_grow(log: LiveLog) -> None:
    log.copytruncate()
    log.append(2 * MANY, 300)


def rotate_and_compress(log: LiveLog) -> None:
    log.rotate()
    log.gzip()


def replace(log: LiveLog) -> None:
    """By another file that is renamed to its name; the old one is kept elsewhere."""
    log.path.rename(log.folder / "app.log.9")
    log._begin_anew()
    log.append(MANY, 200)


EVENTS = (grow, rotate, copytruncate, copytruncate_and_grow, rotate_and_compress, replace)


@pytest.fixture
def log(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LiveLog:
    """Blocks of a few kilobytes, so that much can happen while a file is read."""
    real = _Bytes.read
    monkeypatch.setattr(_Bytes, "read", lambda self, size=-1: real(self, min(size, 8192) if size > 0 else size))
    monkeypatch.setattr(tailing, "QUIET", 0.0)
    return LiveLog(world, tmp_path / "logs")


def happens_once(log: LiveLog, event: Callable[[LiveLog], None]) -> Callable[[], None]:
    left = [event]

    def happen() -> None:
        if left:
            left.pop()(log)

    return happen


def before_opening(patch: pytest.MonkeyPatch, happen: Callable[[], None], at: int) -> None:
    """After it was listed (0) or recognised (1)."""
    if at:
        real_recognise = Recognition.recognise

        def recognise(self, listed):  # type: ignore[no-untyped-def]
            found = real_recognise(self, listed)
            happen()
            return found

        patch.setattr(Recognition, "recognise", recognise)
        return
    real = FileSource.open

    def opened(self: FileSource, artifact: Artifact) -> object:
        happen()
        return real(self, artifact)

    patch.setattr(FileSource, "open", opened)


def between_blocks(patch: pytest.MonkeyPatch, happen: Callable[[], None], at: int) -> None:
    """Once so many blocks were shown to the trace."""
    real, seen = tailing.Trace.feed, []

    def feed(self: tailing.Trace, block: bytes) -> None:
        real(self, block)
        seen.append(block)
        if len(seen) == at:
            happen()

    patch.setattr(tailing.Trace, "feed", feed)


def at_the_end(patch: pytest.MonkeyPatch, happen: Callable[[], None], at: int) -> None:
    """When everything was read, before (0) or after (1) it is marked."""
    real = tailing.FileReading.mark

    def mark(self: tailing.FileReading) -> object:
        if not at:
            happen()
        found = real(self)
        happen()
        return found

    patch.setattr(tailing.FileReading, "mark", mark)


MOMENTS = [
    (before_opening, 0),
    (before_opening, 1),
    (between_blocks, 1),
    (between_blocks, 5),
    (at_the_end, 0),
    (at_the_end, 1),
]


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize(("moment", "at"), MOMENTS)
@pytest.mark.parametrize("collected", [False, True])
def test_while_it_is_read(
    log: LiveLog, monkeypatch: pytest.MonkeyPatch, event: Callable, moment: Callable, at: int, collected: bool
) -> None:  # type: ignore[type-arg]
    log.append(MANY, 300)
    if collected:
        log.collect()
        log.append(MANY, 300)
    with monkeypatch.context() as patch:
        moment(patch, happens_once(log, event), at)
        (report,) = log.world.collect()
    assert report.error is None
    for _ in range(2):
        log.collect()
    assert log.stored() == log.expected()
    check(log.world.home, "t", "p")
    log.append(3)
    log.collect()
    assert log.stored() == log.expected()


def test_a_kill_between_the_two_halves_of_a_rotation(log: LiveLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The renamed file and the new one may come into different commits."""
    log.append(10, 300)
    log.collect()
    log.append(2, 300)
    log.rotate()
    rotated = log.folder / "app.log.1"
    hidden = log.folder.parent / "hidden"
    rotated.rename(hidden)
    log.append(4, 300)
    log.collect()
    hidden.rename(rotated)
    log.collect()
    assert log.stored() == log.expected()
    check(log.world.home, "t", "p")


def test_a_copy_that_ends_earlier_than_what_was_read(log: LiveLog) -> None:
    """`copytruncate`, with a collection and more lines between its two steps."""
    log.append(10, 300)
    log.collect()
    shutil.copyfile(log.path, log.folder / "app.log.1")
    log.append(2, 300)
    log.collect()
    os.truncate(log.path, 0)
    log._begin_anew()
    log.append(1, 300)
    for _ in range(3):
        log.collect()
        assert log.stored() == log.expected()
        log.rotate()
        log.append(1, 300)
    check(log.world.home, "t", "p")


def test_a_writer_that_never_ends_its_lines(log: LiveLog) -> None:
    """Line ends before lines instead of after them."""
    log.write(line(0).rstrip())
    for number in range(1, 6):
        log.collect()
        log.write(b"\n" + line(number).rstrip())
    log.settle()
    log.collect()
    assert sorted(log.stored().elements()) == list(range(6))

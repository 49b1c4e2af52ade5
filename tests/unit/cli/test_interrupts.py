"""When the first signal is raised, and when it has to wait for a better moment."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tailrace.cli.interrupts import EXIT_CODE, Interrupts

BUSY = "import os, signal, time\nos.kill(os.getpid(), signal.{number})\ntime.sleep(0.1)\nreached = True\n"


@pytest.fixture(autouse=True)
def as_in_a_terminal() -> Iterator[None]:
    """What runs in the background of a script inherits that SIGINT is ignored, and that is heeded."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    with Interrupts() as made:
        yield made


def interrupted_by(act: Callable[[], object], then: Callable[[], None] | None = None) -> None:
    """What is done may go on to its end; the interrupt comes then, if not before."""
    with pytest.raises(KeyboardInterrupt):
        _and_wait(act, then or wait_for_it)


def _and_wait(act: Callable[[], object], then: Callable[[], None]) -> None:
    act()
    then()


def wait_for_it() -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        time.sleep(0.001)
    raise AssertionError("the interrupt was lost")


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_an_import_is_finished_first(
    interrupts: Interrupts, number: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"busy_{number}.py").write_text(BUSY.format(number=number))
    monkeypatch.syspath_prepend(tmp_path)
    interrupted_by(lambda: __import__(f"busy_{number}"))
    assert interrupts.came
    assert sys.modules.pop(f"busy_{number}").reached


class Finalized:
    """Its end takes a while."""

    ended = False

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGTERM)
        time.sleep(0.05)
        Finalized.ended = True


def test_a_finalizer_does_not_swallow_it(interrupts: Interrupts) -> None:
    interrupted_by(Finalized)
    assert Finalized.ended


class Thing:
    """Something to refer to."""


def test_a_callback_of_a_reference_does_not_swallow_it(interrupts: Interrupts) -> None:
    thing, ended = Thing(), []

    def end() -> None:
        signal.raise_signal(signal.SIGTERM)
        ended.append(True)

    weakref.finalize(thing, end)
    things = [thing]
    del thing
    interrupted_by(things.clear)
    assert ended


def test_what_is_held_is_noted_and_heeded_afterwards(interrupts: Interrupts) -> None:
    with interrupts.held():
        signal.raise_signal(signal.SIGINT)
        reached = True
    assert reached
    with pytest.raises(KeyboardInterrupt):
        interrupts.heed()
    with pytest.raises(KeyboardInterrupt), interrupts.calling(lambda: None):
        pass


def test_what_waits_for_a_better_moment_is_not_raised_twice(interrupts: Interrupts) -> None:
    interrupted_by(Finalized, interrupts.heed)
    time.sleep(0.1)  # when it would come again


def test_nothing_is_left_of_it_afterwards() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
    with Interrupts() as interrupts, interrupts.held():
        signal.raise_signal(signal.SIGTERM)
    assert {number: signal.getsignal(number) for number in before} == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


PROGRAM = """
import sys
from tailrace.cli.interrupts import Interrupts
try:
    with Interrupts():
        import made
        while True:
            pass
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_the_exit_code_is_ours_also_if_it_came_while_text_was_executed(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text("exec('import os, signal; os.kill(os.getpid(), signal.SIGTERM); [0] * 1000')\n")
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (EXIT_CODE, "")

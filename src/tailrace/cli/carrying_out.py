"""Work on Spark until its end, or until a signal comes: then what was not committed is taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tailrace.cli.interrupts import Interrupts

PATIENCE = 3.0
"Seconds that the JVM and its jobs have to end when they are told to."


class Work(Protocol):
    """What can be given up between two commits."""

    def interrupt(self) -> None: ...

    def abandon(self, patience: float) -> bool: ...


class Stoppable(Protocol):
    """The session that it runs on."""

    def stop(self, patience: float | None = None) -> None: ...


def carried_out(do: Callable[[], object], work: Work, session: Stoppable, interrupts: Interrupts) -> bool:
    """Does it; False: it was given up, and some thread of it has not come back."""
    try:
        with interrupts.calling(work.interrupt):
            do()
    except BaseException as error:
        session.stop(PATIENCE)
        is_quiet = work.abandon(PATIENCE)
        if not isinstance(error, KeyboardInterrupt):
            raise
        return is_quiet
    return True

"""Threads for what may take long. What they did arrives in an inbox, and none of them keeps the process alive."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any


@dataclass(frozen=True, slots=True)
class Ended:
    """A piece of work that is over."""

    what: Any
    "As it was given."
    result: Any = None
    error: BaseException | None = None


class Inbox(SimpleQueue[Ended | None]):
    """Of one main thread. None asks it to stop."""

    def interrupt(self) -> None:
        """Asks it to stop; a signal's handler may do that at any moment."""
        self.put(None)

    def still_ending(self, patience: float, is_waiting: Callable[[], bool]) -> Iterator[Ended]:
        """For one who gives up: what ends within so many seconds, as long as he waits for something."""
        deadline = time.monotonic() + patience
        while is_waiting():
            try:
                ended = self.get(timeout=max(0, deadline - time.monotonic()))
            except Empty:
                return
            if ended is not None:
                yield ended


class Hands:
    """As many threads as there is work at once; they wait for more, because the JVM keeps a thread for each of them.

    They are daemons, unlike those of an executor: a source that hangs must not hold up the end of the process.
    """

    def __init__(self) -> None:
        self._crew = _Crew()

    def give(self, inbox: Inbox, what: Any, do: Callable[[Any], object]) -> None:
        """`do(what)` in a thread of its own; the inbox is told when it is over."""
        self._crew.give((inbox, what, do))

    def dismiss(self) -> None:
        """Lets idle threads end; those that are busy end after their work. More work is done by others."""
        dismissed, self._crew = self._crew, _Crew()
        dismissed.go()


Work = tuple[Inbox, Any, Callable[[Any], object]]


class _Crew:
    def __init__(self) -> None:
        self._work: SimpleQueue[Work | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._threads = 0

    def give(self, work: Work) -> None:
        self._work.put(work)
        if not self._idle.acquire(blocking=False):
            self._threads += 1
            threading.Thread(target=self._serve, name=f"hand-{self._threads}", daemon=True).start()

    def go(self) -> None:
        for _ in range(self._threads):
            self._work.put(None)

    def _serve(self) -> None:
        while (given := self._work.get()) is not None:
            inbox, what, do = given
            try:
                ended = Ended(what, do(what))
            except BaseException as error:
                ended = Ended(what, error=error)
            # What it worked on is nobody's concern while it waits.
            del given, what, do
            self._idle.release()
            inbox.put(ended)
            del ended, inbox

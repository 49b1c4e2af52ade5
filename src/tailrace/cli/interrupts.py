"""Ctrl-C and SIGTERM: the first lets a command finish or undo what it has begun, the second ends it on the spot."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

PATIENCE = 10.0
"Seconds after the first signal."
EXIT_CODE = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_AGAIN = 0.02
"Seconds until a signal that came at a bad moment is looked at again."
_SHOW_CURSOR = "\x1b[?25h"


class Interrupts:
    """For a `with` block on the main thread; elsewhere signals are not for us to handle."""

    def __init__(self) -> None:
        self.came = False
        self._raised = False
        self._stop: Callable[[], None] | None = None
        self._before: dict[int, Any] = {}
        self._wakeup = -1
        self._writer: socket.socket | None = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            # What runs in the background of a shell is deaf to Ctrl-C, and stays so.
            heeded = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._handle) for number in heeded}
            self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._raise)
            # Whatever the main thread is doing, what a signal writes is read at once.
            reader, self._writer = socket.socketpair()
            self._writer.setblocking(False)
            self._wakeup = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
            threading.Thread(target=_watch, args=(reader,), name="interrupts", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._before:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._writer is not None:
            signal.set_wakeup_fd(self._wakeup)
            # The thread that reads the other end closes that.
            self._writer.close()

    @contextmanager
    def calling(self, stop: Callable[[], None]) -> Iterator[None]:
        """Within the block the first signal calls this, instead of raising KeyboardInterrupt wherever it is."""
        self._stop = stop
        try:
            self.heed()
            yield
        finally:
            self._stop = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within the block signals are only noted: it is short, and nothing of it should be cut in two."""
        self._stop = _nothing
        try:
            yield
        finally:
            self._stop = None

    def heed(self) -> None:
        """After a block in which they were held."""
        if self.came:
            self._raised = True
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        first, self.came = not self.came, True
        if not first:
            return
        if self._stop is None:
            self._raise(number, frame)
        else:
            self._stop()

    def _raise(self, _number: int, frame: FrameType | None) -> None:
        """Not in the middle of an import or of tidying up: what is raised there may be lost, or count as not handled.

        Python only prints what finalizers and callbacks of references raise, and those of the import system are such.
        And where text is executed, as for every dataclass, it remembers a KeyboardInterrupt and in the end dies of it
        by SIGINT, whatever was made of it since.
        """
        if self._stop is not None or self._raised:
            return
        if _is_bad_moment(frame):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        else:
            self._raised = True
            raise KeyboardInterrupt


def _watch(reader: socket.socket) -> None:
    """Ends the process when a second signal comes, or the first was not heeded in time."""
    signals, deadline = 0, None
    with reader:
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([reader], [], [], left)[0]:
                leave("interrupted: not everything ended in time")
            came = reader.recv(64)
            if not came:
                return
            signals += sum(number in _SIGNALS for number in came)
            deadline = deadline or time.monotonic() + PATIENCE
            if signals > 1:
                leave("interrupted twice")


def _is_bad_moment(frame: FrameType | None) -> bool:
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or code.co_filename.startswith("<frozen importlib"):
            return True
        if code.co_filename.endswith(("weakref.py", "_weakrefset.py")):
            return True
        frame = frame.f_back
    return False


def _nothing() -> None:
    return


def leave(why: str | None = None) -> NoReturn:
    """End the process as it stands, without waiting for any thread; the next run clears up what it left."""
    if why is not None:
        told = f"{why}; the next run clears up and collects the rest\n"
        shown = _SHOW_CURSOR + "\n" if sys.stderr.isatty() else ""
        os.write(2, (shown + told).encode())
    else:
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(EXIT_CODE)

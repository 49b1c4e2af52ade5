"""`tailrace serve`: listeners and driver are processes of their own; whichever dies is begun again alone."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

LISTENERS, DRIVER = "listeners", "driver"
DRAIN = "--drain"
"Closes or publishes what there is, and ends."
AGAIN = 75
"Exit code of a part that has done what it had to do, and wants to be begun with another configuration."
_ABSENT = -1
_FINAL = frozenset({0, 2, 3, 6})
"Exit codes of a process that would end the same way again."
_BAD_CONFIG, _NO_PLACE = 3, 5
_PAUSE = 0.1
_SHORTEST, _LONGEST = 0.5, 30.0
"Seconds before a part is begun again."
_SOUND = 5.0
"Seconds after which a part was sound."
_DEATH_SIGNAL = 1


class Part:
    """One process, and when it may be begun again."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self.command = [*command, "--part", name]
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0
        self.is_over = False
        "Has it ended as it would end again?"
        self._started = 0.0
        self._delay = _SHORTEST
        self._not_before = 0.0

    def start(self, *more: str) -> None:
        self.starts += 1
        self._started = time.monotonic()
        self.process = subprocess.Popen([*self.command, *more], preexec_fn=_with_parent)

    def send(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def look(self, now: float) -> int | None:
        """Begins it again if it has died; its exit code if that would not help."""
        code = self.process.poll() if self.process is not None else None
        if self.process is not None and code is None:
            return None
        if code is not None:
            self.process = None
            if code == AGAIN:
                self._not_before = now
                return None
            # A part that once began may find a configuration that is wrong by now: it waits until that is mended.
            first = self.starts == 1
            # A port that is taken from the beginning is somebody else's; later it may be one's own, of a moment ago.
            taken = code == _NO_PLACE and self.name == LISTENERS and first
            if taken or (code in _FINAL and not (code == _BAD_CONFIG and not first)):
                self.is_over = True
                return code
            # Pauses grow only for one that dies again and again.
            lived = now - self._started >= _SOUND
            self._delay = _SHORTEST if lived else min(self._delay * 2, _LONGEST)
            self._not_before = now + self._delay
        elif now >= self._not_before:
            self.start()
        return None

    def wait(self, seconds: float) -> int:
        """Its exit code, below zero where it was not there to the end; one that takes too long is killed.

        The spool holds what a driver has not done.
        """
        if self.process is None:
            return 0 if self.is_over else _ABSENT
        try:
            code = self.process.wait(seconds)
            return _ABSENT if code == AGAIN else code
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return 0 if self.name == DRIVER else _ABSENT


class Supervisor:
    """Both parts, until a signal."""

    def __init__(self, command: Sequence[str], patience: float, say: Callable[[str], None]) -> None:
        self.parts = [Part(DRIVER, command), Part(LISTENERS, command)]
        self.patience = patience
        self.say = say
        self.stopping = False

    def run(self) -> int:
        """Exit code of all of it."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGHUP, self._again)
        for part in self.parts:
            part.start()
        code = 0
        while not self.stopping:
            time.sleep(_PAUSE)
            for part in self.parts:
                before = part.starts
                ended = part.look(time.monotonic())
                if ended is not None and not self.stopping:
                    code, self.stopping = ended or 1, True
                elif part.starts > before:
                    self.say(f"{part.name}: begun again")
        return self._end() or code

    def _stop(self, *_: object) -> None:
        self.stopping = True

    def _again(self, *_: object) -> None:
        """Each part reads the configuration for itself, and changes what concerns it."""
        for part in self.parts:
            part.send(signal.SIGHUP)

    def _end(self) -> int:
        """Listeners first: what they have taken in is then published by the driver."""
        codes = []
        for part in reversed(self.parts):
            part.send(signal.SIGTERM)
            code = part.wait(self.patience)
            if code < 0:
                # It had died, or was not far enough to know the signal: the segment that listeners left open is closed,
                # and what waits is published all the same.
                part.start(DRAIN)
                code = part.wait(self.patience)
            codes.append(code)
        return max(codes, default=0)


def _with_parent() -> None:
    """A part does not outlive the supervisor, and leaves Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until it knows what to do: it reads the configuration anyway
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGTERM)

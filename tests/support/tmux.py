"""A terminal that a test can type into and look at."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from types import TracebackType

import pytest

PATIENCE = 60.0
AGAIN = 5.0
"Seconds after which keys that changed nothing are taken for lost."
_numbers = count()
_PROMPT = re.compile(r"tailrace> | +\.\.\. |I-search backward:")


class Terminal:
    """One program in a tmux of its own, for a `with` block; skips the test where there is none."""

    def __init__(self, directory: Path, command: Sequence[str], env: Mapping[str, str], size: tuple[int, int]) -> None:
        if shutil.which("tmux") is None:
            pytest.skip("tmux is not installed")
        # Each its own: a server that is told to end takes a moment, in which its socket is of no use.
        self._socket = f"tailrace-{os.getpid()}-{next(_numbers)}"
        self._env = {**env, "TMUX": ""}
        columns, rows = size
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(directory), *command
        )  # fmt: skip
        self._tmux("set-option", "-g", "remain-on-exit", "on")

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._tmux("kill-server", check=False)

    def type(self, text: str) -> None:
        """Characters as they are, behind a prompt, until they are seen there; those that nobody has taken once more."""
        self._wait(lambda: _PROMPT.match(self.before_cursor()), "a prompt")
        # A semicolon at the end would part two commands of tmux.
        keys = text.removesuffix(";") + "\\;" if text.endswith(";") else text
        self._press_until(["-l", "--", keys], lambda: self.before_cursor().endswith(text))

    def before_cursor(self) -> str:
        """The line that the cursor is in, up to it."""
        column, row = map(int, self._tmux("display-message", "-p", "#{cursor_x} #{cursor_y}").split())
        lines = self._tmux("capture-pane", "-p").splitlines()
        return (lines[row] if row < len(lines) else "").ljust(column)[:column]

    def press(self, *keys: str, for_: str | None = None) -> None:
        """Keys by their names: Enter, Tab, C-c. With a pattern, until it is on the screen."""
        if for_ is None:
            self._tmux("send-keys", *keys)
        else:
            self._press_until(keys, lambda: re.search(for_, self.screen(), re.MULTILINE))

    def _press_until(self, keys: Sequence[str], seen: Callable[[], object]) -> None:
        """Keys get lost while a program sets up its terminal: where they changed nothing they are pressed again."""
        deadline = time.monotonic() + PATIENCE
        while True:
            before, again = self.screen(), time.monotonic() + AGAIN
            self._tmux("send-keys", *keys)
            while time.monotonic() < again or self.screen() != before:
                if seen():
                    return
                assert time.monotonic() < deadline, f"{keys} did nothing:\n{self.screen()}"
                time.sleep(0.05)

    def enter(self, text: str) -> None:
        """A line, until the cursor has left it."""
        self.type(text)
        self._press_until(["Enter"], lambda: not self.before_cursor().endswith(text))

    def screen(self, colours: bool = False) -> str:
        """What is on it, without the blanks at the ends."""
        shown = self._tmux("capture-pane", "-p", *(["-e"] if colours else []))
        return "\n".join(line.rstrip() for line in shown.splitlines()).rstrip()

    def wait_for(self, pattern: str) -> str:
        """The screen, once a pattern is on it."""
        self._wait(lambda: re.search(pattern, self.screen(), re.MULTILINE), pattern)
        return self.screen()

    def wait_for_work(self) -> None:
        """Until what was entered is being done: the cursor has left the prompt."""
        self._wait(lambda: not self.before_cursor(), "an empty line")

    def wait_for_end(self) -> None:
        """Until the program has ended, which tmux does not always write into the pane."""
        self._wait(lambda: self._tmux("display-message", "-p", "#{pane_dead}").strip() == "1", "the program's end")

    def _wait(self, seen: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not seen():
            assert time.monotonic() < deadline, f"{what} never came:\n{self.screen()}"
            time.sleep(0.05)

    def _tmux(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, *arguments], env=self._env, capture_output=True, text=True, timeout=60
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

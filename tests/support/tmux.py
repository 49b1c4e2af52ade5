"""A terminal that a test can type into and look at."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pytest

PATIENCE = 60.0


class Terminal:
    """One program in a tmux of its own, for a `with` block; skips the test where there is none."""

    def __init__(self, directory: Path, command: Sequence[str], env: Mapping[str, str], size: tuple[int, int]) -> None:
        if shutil.which("tmux") is None:
            pytest.skip("tmux is not installed")
        # The path of a socket must be short.
        self._socket = f"tailrace-{os.getpid()}-{abs(hash(directory)) % 100_000}"
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
        """Characters as they are."""
        # A semicolon at the end would part two commands of tmux.
        self._tmux("send-keys", "-l", "--", text.removesuffix(";") + "\\;" if text.endswith(";") else text)

    def press(self, *keys: str) -> None:
        """Keys by their names: Enter, Tab, C-c."""
        self._tmux("send-keys", *keys)

    def enter(self, text: str) -> None:
        """A line, after the moment that a person takes: keys may get lost while a prompt is being set up."""
        time.sleep(0.5)
        self.type(text)
        self.press("Enter")

    def screen(self, colours: bool = False) -> str:
        """What is on it, without the blanks at the ends."""
        shown = self._tmux("capture-pane", "-p", *(["-e"] if colours else []))
        return "\n".join(line.rstrip() for line in shown.splitlines()).rstrip()

    def wait_for(self, pattern: str) -> str:
        """The screen, once a pattern is on it."""
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, screen := self.screen(), re.MULTILINE):
            assert time.monotonic() < deadline, f"{pattern} never came:\n{screen}"
            time.sleep(0.05)
        return screen

    def _tmux(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, *arguments], env=self._env, capture_output=True, text=True, timeout=60
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

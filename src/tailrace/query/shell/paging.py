"""Answers on a terminal: what does not fit on the screen goes to a pager, row by row as it comes."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO, cast

from tailrace.query.render import width

_LESS = "less -SRX"
"Long lines are not broken: the arrow keys move sideways."


class Screen(io.TextIOBase):
    """Holds back one screenful; with more than that it starts the pager and passes everything on."""

    def __init__(self, out: TextIO, pager: list[str], size: os.terminal_size) -> None:
        self._out, self._command, self._size = out, pager, size
        self._held: list[str] = []
        self._lines = 0
        self._process: subprocess.Popen[str] | None = None

    def write(self, text: str) -> int:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.write(text)
            return len(text)
        self._held.append(text)
        self._lines += text.count("\n")
        # The prompt needs a line too.
        if self._lines >= self._size.lines - 1 or any(width(line) > self._size.columns for line in text.splitlines()):
            self._page()
        return len(text)

    def finish(self) -> None:
        """Everything is written: wait until the person has seen it."""
        if self._process is None:
            self._out.write("".join(self._held))
            self._out.flush()
            return
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        while self._process.returncode is None:
            # Ctrl-C is for the pager.
            with contextlib.suppress(KeyboardInterrupt):
                self._process.wait()

    def _page(self) -> None:
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, text=True, encoding="utf-8")
        assert self._process.stdin is not None
        self._process.stdin.write("".join(self._held))
        self._held.clear()


def pager() -> list[str]:
    """`TAILRACE_PAGER`, else `PAGER`, else less; empty: none is wanted, or none is there."""
    chosen = next((os.environ[name] for name in ("TAILRACE_PAGER", "PAGER") if name in os.environ), _LESS)
    command = shlex.split(chosen)
    return command if command and shutil.which(command[0]) else []


@contextmanager
def paged(out: TextIO) -> Iterator[TextIO]:
    """Where an answer is to be written."""
    command = pager()
    if not command or os.environ.get("TERM", "dumb") == "dumb" or not out.isatty():
        yield out
        out.flush()
        return
    screen = Screen(out, command, shutil.get_terminal_size())
    try:
        yield cast(TextIO, screen)
    except BrokenPipeError:
        pass  # the person has left it
    finally:
        screen.finish()

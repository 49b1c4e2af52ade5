"""Source `command`: what a program prints. Its arguments are a list; no shell is involved.

The whole output is one artifact, made anew by every run: its rows replace those of the run before. With `{from}` and
`{to}` among the arguments the program runs once per slice of time instead.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Timer
from typing import IO, BinaryIO, ClassVar
from urllib.parse import quote

from tailrace.config.functions import duration
from tailrace.core import Artifact, ConfigError, SourceError, TimeRange
from tailrace.sources.base import DENIED, GONE, REFUSED, Asked, Found, Given, os_reason
from tailrace.sources.base import IO as IO_CODE
from tailrace.sources.credentials import Secrets, wrapped
from tailrace.sources.slices import HOURLY, Pairs, Slicing, named, slice_of, sliced, slicing_of, stamp, undated
from tailrace.sources.streaming import streamed

_BLOCK = 1 << 20
_LAST_WORDS = 600
_PATIENCE = 3.0
"Seconds that a program is given to end by itself."
_GUARD = """
read -r word && exit
kill -TERM "-$1"; sleep 3; kill -KILL "-$1"
"""
"Of a shell: our word, or the end of our hand of the line, which may be our own end."


@dataclass(frozen=True, slots=True)
class CommandSource(Asked):
    """The output of a program."""

    kind: ClassVar[str] = "command"
    words: tuple[str, ...]
    env: Secrets = ()
    directory: str | None = None
    timeout: float | None = None
    slicing: Slicing | None = None

    def discover(self, window: TimeRange) -> Iterator[Found]:
        address = f"command://{quote(shlex.join(self.words), safe='/:=,')}"
        asked: Pairs = (("directory", self.directory),) if self.directory else ()
        if self.slicing is None:
            yield undated(self.kind, named(address, asked))
        else:
            yield from sliced(self.kind, address, asked, self.slicing, window)

    def open(self, artifact: Artifact) -> BinaryIO:
        return streamed(self._printed(artifact))

    def _printed(self, artifact: Artifact) -> Generator[bytes]:
        with tempfile.TemporaryFile() as errors, self._start(artifact, errors) as program, _guarded(program):
            assert program.stdout
            late = Timer(self.timeout, _end, (program,)) if self.timeout else None
            began = time.monotonic()
            try:
                if late:
                    late.start()
                # Bytes as they come: one that prints a line now and then is not waited for.
                while block := os.read(program.stdout.fileno(), _BLOCK):
                    yield block
                status = program.wait()
            finally:
                if late:
                    late.cancel()
                _end(program)
                program.stdout.close()
            if self.timeout and time.monotonic() - began >= self.timeout and status < 0:
                raise SourceError(
                    f"did not end within {self.timeout:g} seconds", code=IO_CODE, where=artifact.location,
                    hint="a longer `timeout`, or less to print",
                )  # fmt: skip
            if status:
                raise _failed(status, errors, artifact, self.env)

    def _start(self, artifact: Artifact, errors: IO[bytes]) -> subprocess.Popen[bytes]:
        environment = os.environ | {name: value.reveal() for name, value in self.env}
        try:
            return subprocess.Popen(
                self._words(artifact), env=environment, cwd=self.directory, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=errors, bufsize=0, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            code = DENIED if isinstance(error, PermissionError) else GONE
            message = f"cannot be started: {os_reason(error)}"
            hint = "`command` is a program and its arguments; it is looked for in PATH"
            raise SourceError(message, code=code, where=artifact.location, hint=hint) from None

    def _words(self, artifact: Artifact) -> list[str]:
        piece = slice_of(artifact) if self.slicing else None
        if piece is None:
            return list(self.words)
        return [w.replace("{from}", stamp(piece.start)).replace("{to}", stamp(piece.end)) for w in self.words]


def make(given: Given) -> CommandSource:
    words, directory, timeout = (given.args.get(name) for name in ("command", "directory", "timeout"))
    if not isinstance(words, (list, tuple)) or not words or not all(isinstance(w, str) for w in words) or not words[0]:
        raise ConfigError(
            "source 'command' needs `command`, a list of texts", code="config.bad-argument",
            hint='command = ["journalctl", "--output=json", "--since={from}", "--until={to}"]',
        )  # fmt: skip
    by_time = any("{from}" in word for word in words)
    return CommandSource(
        words=tuple(words),
        env=wrapped(given.args.get("env")),
        directory=os.path.expanduser(directory) if isinstance(directory, str) else None,
        timeout=duration(timeout).total_seconds() if isinstance(timeout, str) else None,
        slicing=slicing_of(given.args, HOURLY) if by_time else None,
    )


@contextmanager
def _guarded(program: subprocess.Popen[bytes]) -> Iterator[None]:
    """Should this process be killed, and can do nothing more itself, the program ends with all that it has started."""
    quiet = subprocess.DEVNULL
    command = ["/bin/sh", "-c", _GUARD, "guard", str(program.pid)]
    guard = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        yield
    finally:
        guard.communicate(b"well\n")


def _end(program: subprocess.Popen[bytes]) -> None:
    """Ends it, with everything it has started: asked first, then forced."""
    if program.poll() is not None:
        return
    with suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        program.wait(_PATIENCE)
    with suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)
    program.wait()


def _failed(status: int, errors: IO[bytes], artifact: Artifact, env: Secrets) -> SourceError:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - _LAST_WORDS))
    words = " ".join(errors.read().decode(errors="replace").split())
    for _, secret in env:
        words = words.replace(secret.reveal(), "***") if secret.reveal() else words
    how = f"exit status {status}" if status > 0 else f"signal {signal.Signals(-status).name}"
    return SourceError(f"{how}{f': {words}' if words else ''}", code=REFUSED, where=artifact.location)

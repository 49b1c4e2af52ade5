"""A file of metrics for node_exporter's textfile collector, and other readers that look at any moment."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tailrace.cli.metric_text import PREFIX, Samples, added, read_back, rendered
from tailrace.core.errors import UsageError
from tailrace.core.written import is_special, target_of


class MetricsFile:
    """Counters go on from run to run: each adds what it did to what the file says."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._complained = False
        try:
            with self._alone():
                content = self._content()
        except (OSError, UnicodeDecodeError) as error:
            raise _unusable(path, getattr(error, "strerror", None) or str(error)) from error
        if content.strip() and f"# HELP {PREFIX}" not in content:
            raise _unusable(path, "it holds something else than metrics of Tailrace")

    def add(self, more: Samples) -> bool:
        """Adds to the counters and replaces the gauges; readers see the old file or the new one."""
        from tailrace.cli.metrics import with_lag

        target = target_of(self.path)
        staged = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            with self._alone():
                samples = added(read_back(self._content()), more)
                samples = {key: value for key, value in samples.items() if key[0] != "build_info" or key in more}
                self._put(rendered(with_lag(samples, time.time())), staged, target)
        except (OSError, UnicodeDecodeError) as error:
            staged.unlink(missing_ok=True)
            if not self._complained:
                click.echo(f"warning[metrics.file]: {self.path} cannot be written: {error}", err=True)
            self._complained = True
            return False
        self._complained = False
        return True

    def _put(self, text: str, staged: Path, target: Path) -> None:
        if is_special(target):  # a device or a pipe
            target.write_text(text)
            return
        staged.write_text(text)
        staged.replace(target)

    def _content(self) -> str:
        return self.path.read_text() if self.path.exists() and not is_special(self.path) else ""

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Other collections may add to the same file; the lock is on its directory, where nothing is left behind."""
        handle = os.open(target_of(self.path).parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _unusable(path: Path, why: str) -> UsageError:
    hint = "name a file in a directory that exists, such as /var/lib/node_exporter/textfile/tailrace.prom"
    return UsageError(f"--metrics-file {path}: {why}", code="usage.metrics-file", hint=hint)

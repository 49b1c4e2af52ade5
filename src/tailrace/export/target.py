"""The directory that an export goes to: whose it is, and who is at work in it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tailrace.core.errors import LockedError, UsageError
from tailrace.version import __version__

OWN = ".tailrace"
"Our own directory in it; every engine passes over names that begin with a dot."
_NOTE = "export.json"
_LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Target:
    """A directory that holds exports of one kind, and nothing else."""

    directory: Path
    kind: str

    @property
    def staging(self) -> Path:
        """Where files are copied to before they get their names; on the same disk, so that naming is one step."""
        return self.directory / OWN / "staging"

    def check(self) -> None:
        """Refuses a directory in which something else lies."""
        note = self.directory / OWN / _NOTE
        if note.is_file():
            kind = json.loads(note.read_text())["as"]
            if kind != self.kind:
                raise self._not_ours(f"holds an export as {kind}", "export to another directory, or with --as " + kind)
        elif self.directory.exists() and not self.directory.is_dir():
            raise self._not_ours("is not a directory", "name a directory that does not exist yet")
        elif self.directory.is_dir() and any(self.directory.iterdir()):
            raise self._not_ours("holds something else", "name a directory that is empty or does not exist yet")

    def _not_ours(self, why: str, hint: str) -> UsageError:
        return UsageError(f"the directory {why}", code="usage.export-target", where=str(self.directory), hint=hint)

    @contextmanager
    def held(self) -> Iterator[None]:
        """It is ours for the length of the block; the kernel lets go of it with the process."""
        self.check()
        own = self.directory / OWN
        is_new, is_made = not (own / _NOTE).exists(), not self.directory.exists()
        try:
            own.mkdir(parents=True, exist_ok=True)
            handle = os.open(own / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            if is_new:
                self._give_up(is_made)
            raise
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LockedError(
                    "another process exports to this directory", where=str(self.directory), hint="wait for it to end"
                ) from None
            try:
                write_whole(own / _NOTE, json.dumps({"as": self.kind, "tailrace": __version__}))
                yield
            except BaseException:
                if is_new:
                    self._give_up(is_made)
                raise
            shutil.rmtree(self.staging, ignore_errors=True)
        finally:
            os.close(handle)

    def _give_up(self, is_made: bool) -> None:
        """Where nothing has come of the first export, the directory is nobody's; what was copied is kept."""
        own = self.directory / OWN
        with suppress(OSError):
            if [path.name for path in self.directory.iterdir()] != [OWN] or any(self.staging.glob("*")):
                return
            shutil.rmtree(own)
            if is_made:
                self.directory.rmdir()


def write_whole(path: Path, text: str) -> None:
    """A small file, replaced in one step."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft.write_text(text)
    draft.replace(path)


def remove(path: Path, root: Path) -> None:
    """A file, and the directories that are empty without it."""
    path.unlink(missing_ok=True)
    for folder in path.parents:
        if folder == root:
            return
        with suppress(OSError):
            folder.rmdir()
            continue
        return

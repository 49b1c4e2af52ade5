"""Class-data archives: what the JVM loaded once it maps into memory from then on (half of Spark's start-up).

An archive is made by a run of its own, detached and at the lowest priority, after the first command has given
its result. Measured (Java 17): dumping at the exit of the user's own JVM slows that command from 10 to 16 s
and keeps its JVM alive for another 16 s; the separate run costs the command nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tailrace.core.directories import cache_directory
from tailrace.pipeline.java import Java

_ROOM_NEEDED = 1024**3
_SMALLEST = 10 * 1024**2
_UNUSED_AFTER = 30 * 86400
_RETRY_AFTER = 86400


@dataclass(frozen=True, slots=True)
class Archive:
    """The archive for one Java, one set of jars and one set of JVM options."""

    java: Java
    path: Path

    @classmethod
    def of(cls, java: Java, jars: Path, jvm_options: tuple[str, ...]) -> Archive:
        """Its name holds all that it depends on, so that a stale one is never looked at again."""
        installed = jars.stat().st_mtime_ns if jars.is_dir() else 0
        identity = (java.home, java.build, jars, installed, *jvm_options)
        key = hashlib.sha256("\0".join(map(str, identity)).encode()).hexdigest()[:16]
        kind = "aot" if java.version >= 25 else "jsa"
        return cls(java, cache_directory() / "classes" / f"spark-java{java.version}-{key}.{kind}")

    def options(self) -> tuple[str, ...]:
        """JVM options that use the archive; none when it has not been made yet."""
        if not os.access(self.path, os.R_OK):
            return ()
        with contextlib.suppress(OSError):  # a cache that cannot be written serves all the same
            os.utime(self.path)
        return (self._option("-XX:AOTCache", "-XX:SharedArchiveFile", self.path),)

    def dump_options(self, draft: Path) -> tuple[str, ...]:
        """JVM options that write the archive when the JVM exits."""
        return (self._option("-XX:AOTCacheOutput", "-XX:ArchiveClassesAtExit", draft),)

    def _option(self, since_25: str, before: str, path: Path) -> str:
        return f"{since_25 if self.java.version >= 25 else before}={path}"

    def discard(self) -> None:
        """Remove an archive that the JVM did not survive."""
        with contextlib.suppress(OSError):
            self.path.unlink()
            self._failed.touch()

    @property
    def _failed(self) -> Path:
        return self.path.with_suffix(".failed")

    def wanted(self) -> bool:
        """Is it missing, can it be stored, and has nobody failed to make it lately?"""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists() or not os.access(self.path.parent, os.W_OK):
                return False
            if self._failed.exists() and time.time() - self._failed.stat().st_mtime < _RETRY_AFTER:
                return False
            return shutil.disk_usage(self.path.parent).free > _ROOM_NEEDED
        except OSError:
            return False

    def make_in_background(self, compiled: bool = False) -> None:
        """Start the run that makes it; it outlives this process and says nothing."""
        if os.environ.get("TAILRACE_ARCHIVE", "") == "off" or not self.wanted():
            return
        with contextlib.suppress(OSError):
            training = subprocess.Popen(
                [sys.executable, "-m", "tailrace.pipeline.training", str(self.java.home), str(int(compiled))],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
            training.returncode = 0  # nobody waits for it, and Python need not say so

    @contextlib.contextmanager
    def draft(self) -> Iterator[Path | None]:
        """A file that becomes the archive if it looks whole; None: another process is making it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield None
                return
            draft = self.path.with_name(f"{self.path.name}.part")
            draft.unlink(missing_ok=True)
            made = False
            try:
                yield draft
                made = draft.exists() and draft.stat().st_size > _SMALLEST
                if made:
                    draft.replace(self.path)
            finally:
                if not made:
                    self._failed.touch()
                for leftover in self.path.parent.glob(f"{self.path.name}.part*"):
                    leftover.unlink(missing_ok=True)
        self._sweep()

    def _sweep(self) -> None:
        """Remove archives of Javas and Sparks that are gone: each is 150 MB."""
        for path in self.path.parent.iterdir():
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _UNUSED_AFTER:
                    path.unlink()

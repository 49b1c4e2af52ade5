"""What Spark's JVM says: the file that takes it, and the part of it that a person needs to see."""

from __future__ import annotations

import contextlib
import re
import signal
from pathlib import Path
from typing import IO

from tailrace.core.errors import SparkError

_TAIL = 4000
_LINES = 5
_CHATTER = re.compile(r"\tat |\S+ \S+ (?:INFO|DEBUG) |\[[\d.]+s\]\[|# *$")
_MEMORY = re.compile(r"memory|heap|OutOfMemory|reserve enough space", re.IGNORECASE)
_MEMORY_HINT = "most often memory ran out: free some, or ask for less with --spark-conf spark.driver.memory=512m"
_JAVA_HINT = "run `tailrace doctor` to see which Java is used and why"


def rotated_log(home: Path) -> Path:
    """The file that takes all of Spark's chatter; the previous one is kept beside it."""
    log = home / "logs" / "spark.log"
    with contextlib.suppress(OSError):
        log.parent.mkdir(parents=True, exist_ok=True)
        if log.exists():
            log.replace(log.with_name("spark.log.1"))
    return log


def writable(log: Path, otherwise: Path) -> tuple[Path, IO[bytes]]:
    """The log, opened; where it cannot be written, another file: nothing is collected the worse for it."""
    with contextlib.suppress(OSError), contextlib.ExitStack() as held:
        file = held.enter_context(log.open("ab", buffering=0))
        file.write(b"\n")  # a full disk takes files, but nothing into them
        held.pop_all()
        return log, file
    return otherwise, otherwise.open("ab")


def start_failure(what: str, log: Path, kept: bool) -> SparkError:
    """A JVM that is not there when it is needed: what happened, what Java said of it, and where all of it stands."""
    words = _last_words(log)
    hint = _MEMORY_HINT if _MEMORY.search(words) or "SIGKILL" in what else _JAVA_HINT
    message = f"{what}: {words}" if words else what
    return SparkError(message, code="spark.start", where=str(log) if kept else None, hint=hint)


def how_ended(status: int) -> str:
    """The end of a process in words."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def _last_words(log: Path) -> str:
    """The end of the log without chatter and stack frames, in one line."""
    try:
        text = log.read_bytes()[-_TAIL:].decode(errors="replace")
    except OSError:
        return ""
    lines = [line.strip(" #") for line in text.splitlines() if line.strip() and not _CHATTER.match(line)]
    return "; ".join(line.rstrip(".;") for line in lines[-_LINES:])

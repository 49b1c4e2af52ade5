"""The class archive with which JVMs of the tests start fast: made once, while tests run that need none.

It stays in pytest's cache for later runs: its name tells for which Java and which Spark it is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from commandline import Home, wait_for

MADE = "class-archive.made"


def environment(factory: pytest.TempPathFactory) -> dict[str, str]:
    """For commands that are to use it; waits until it is there."""
    shared = _shared(factory)
    wait_for((shared / MADE).exists, what="no class archive")
    return {"TAILRACE_CACHE_DIR": str(shared / "cache"), "TAILRACE_ARCHIVE": "off"}


def begin(config: pytest.Config) -> None:
    """Whichever process of the tests is first makes it, unless an earlier run has."""
    factory: pytest.TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined]
    shared = _shared(factory)
    with suppress(FileExistsError):
        (shared / "cache").mkdir()
        assert config.cache is not None
        (shared / "cache" / "classes").symlink_to(config.cache.mkdir("classes"))
        home = Home(factory.mktemp("training"), {"TAILRACE_CACHE_DIR": str(shared / "cache")})
        command = [sys.executable, __file__, str(shared / MADE)]
        process = subprocess.Popen(command, env=home.environment())
        config.add_cleanup(lambda: process.wait() and None)


def _shared(factory: pytest.TempPathFactory) -> Path:
    """A folder for the tests of all processes."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


if __name__ == "__main__":
    from tailrace.pipeline.java import find_java
    from tailrace.pipeline.jvm import archive_for
    from tailrace.pipeline.options import SessionOptions, settle
    from tailrace.pipeline.training import train

    # Others wait for it: not at the priority that it has in the background of a command.
    if archive_for(settle(SessionOptions("local[2]")), find_java()).wanted():
        train()
    Path(sys.argv[1]).touch()

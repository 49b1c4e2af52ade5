"""A collection of all that is configured, in a process of its own and without a JVM: `collectonce.py HOME`."""

from __future__ import annotations

import sys
from pathlib import Path

import forked
from forked import Forked
from world import World


def started(home: Path, **env: str) -> Forked:
    """The process, which is under way."""
    return forked.started(__file__, str(home), **env)


def main() -> int:
    """The exit code is the worst of all partitions, as that of the command."""
    errors = [report.error for report in World(Path(sys.argv[1])).collect() if report.error is not None]
    for error in errors:
        print(error.code)
    return max((error.exit_code for error in errors), default=0)


if __name__ == "__main__":
    sys.exit(main())

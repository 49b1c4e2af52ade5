"""A collection of all that is configured, in a process of its own and without a JVM: `collectonce.py HOME`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from world import World

PATHS = os.pathsep.join([str(Path(__file__).parents[2] / "src"), str(Path(__file__).parent)])


def started(home: Path, **env: str) -> subprocess.Popen[str]:
    """The process, which is under way."""
    environment = {**os.environ, "PYTHONPATH": PATHS, **env}
    command = [sys.executable, __file__, str(home)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def main() -> int:
    """The exit code is the worst of all partitions, as that of the command."""
    errors = [report.error for report in World(Path(sys.argv[1])).collect() if report.error is not None]
    for error in errors:
        print(error.code)
    return max((error.exit_code for error in errors), default=0)


if __name__ == "__main__":
    sys.exit(main())

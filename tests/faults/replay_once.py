"""A replay of everything that is configured, for fault tests: `replay_once.py HOME`."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import NoReturn

from tailrace.config import load, select
from tailrace.lake.paths import Lake
from tailrace.pipeline import replay
from tailrace.pipeline.unit import run_unit


def no_session() -> NoReturn:
    raise AssertionError("few records need no Spark")


def main() -> int:
    home = Path(sys.argv[1])
    config = load([home / "config"], now=datetime(2024, 6, 1), environ={})
    if len(sys.argv) > 2:  # artifacts are read again in this process too
        replay.run_units = lambda _, job, units: [run_unit(job, unit) for unit in units]  # type: ignore[assignment]
    session = (lambda: None) if len(sys.argv) > 2 else no_session
    for spec in select(config, ()):
        report = replay.Replay(Lake(home), config, spec, replay.ReplayOptions(), session).run()  # type: ignore[arg-type]
        if report.error is not None:
            print(json.dumps({"code": report.error.code}))
            return report.error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""ClickHouse (chDB) in a process of its own: it is a whole server, and reads what lies below its working directory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = "import sys, chdb; sys.stdout.write(str(chdb.query(sys.argv[1], 'JSONCompact')))"


def clickhouse(folder: str | Path, sql: str) -> list[Any]:
    """The one row of an answer."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, sql], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["data"]
    return list(row)

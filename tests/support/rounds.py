"""What `collect --watch --output json` prints."""

from __future__ import annotations

import json
import subprocess
from typing import Any


class Rounds:
    """The documents that a watching collect prints, one after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def next(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()
        document: dict[str, Any] = json.loads(line)
        return document

    def until_stored(self, rows: int) -> dict[str, Any]:
        while True:
            told = self.next()
            if told["partitions"] and told["partitions"][0]["rows"]["stored"] == rows:
                return told

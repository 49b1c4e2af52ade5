"""A log that is written to, rotated, compressed and emptied under whoever collects it."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

from world import World

START = datetime(2024, 5, 1)
CONFIG = """
table "t" {{
  map_fields = []
  column "tp_timestamp" {{ source = "at" }}
  column "n" {{ type = "bigint" }}
}}
partition "t" "p" {{
  source "file" {{
    paths  = ["{folder}"]
    format = format.jsonl.default
  }}
}}
"""


def line(number: int, padding: int = 0) -> bytes:
    moment = START + timedelta(minutes=number)
    return json.dumps({"at": f"{moment.isoformat()}Z", "n": number, "text": "x" * padding}).encode() + b"\n"


class LiveLog:
    """Numbered lines in `app.log`, and in what becomes of it."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world, self.folder, self.path = world, folder, folder / "app.log"
        folder.mkdir(parents=True, exist_ok=True)
        world.write_config(CONFIG.format(folder=folder))
        self.next = 0
        self.unfinished = b""
        "What is still to be written of the last line."
        self.current: list[int] = []
        "Numbers of the whole lines of app.log."
        self.seen: set[int] = set()
        "Those that were there when something was collected, and those in rotated files."

    def append(self, count: int = 1, padding: int = 0) -> None:
        self.finish()
        numbers = range(self.next, self.next + count)
        self.write(b"".join(line(n, padding) for n in numbers))
        self.current += numbers
        self.next += count

    def write(self, data: bytes, path: Path | None = None) -> None:
        with (path or self.path).open("ab") as file:
            file.write(data)

    def begin(self, size: int) -> None:
        """Half a line."""
        self.finish()
        whole = line(self.next, 40)
        self.write(whole[:size])
        self.unfinished = whole[size:]

    def finish(self, path: Path | None = None) -> None:
        """The other half, in app.log or in what it is called now."""
        if self.unfinished:
            self.write(self.unfinished, path)
            self.unfinished = b""
            self.current.append(self.next)
            self.next += 1

    def rotate(self, *, finish_later: bool = False) -> None:
        """By renaming; a writer may go on in the renamed file for a while."""
        if not self.path.exists():
            return
        if not finish_later:
            self.finish()
        self._shift()
        self.path.rename(self.folder / "app.log.1")
        self.finish(self.folder / "app.log.1")
        self._begin_anew()

    def copytruncate(self) -> None:
        if not self.path.exists():
            return
        self.finish()
        self._shift()
        shutil.copyfile(self.path, self.folder / "app.log.1")
        os.truncate(self.path, 0)
        self._begin_anew()

    def truncate(self) -> None:
        """Without a copy: what nobody had collected is gone."""
        if not self.path.exists():
            return
        self.unfinished = b""
        self.next += 1
        os.truncate(self.path, 0)
        self.current = []

    def gzip(self) -> None:
        rotated = [p for p in self.folder.glob("app.log.*") if p.suffix != ".gz"]
        for path in rotated:
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), 1, mtime=0))
            path.unlink()

    def collect(self) -> None:
        (report,) = self.world.collect()
        assert report.clean, (report.error, report.troubles)
        self.seen.update(self.current)

    def settle(self) -> None:
        """Nothing was written for a long time."""
        for path in self.folder.iterdir():
            os.utime(path, (1_700_000_000, 1_700_000_000 + hash(path.name) % 1000))

    def stored(self) -> Counter[int]:
        return Counter(n for (n,) in self.world.query("select n from t"))

    def expected(self) -> Counter[int]:
        return Counter({*self.seen, *self.current})

    def _shift(self) -> None:
        rotated = sorted(self.folder.glob("app.log.*"), key=lambda p: int(p.name.split(".")[2]), reverse=True)
        for path in rotated:
            parts = path.name.split(".")
            parts[2] = str(int(parts[2]) + 1)
            path.rename(self.folder / ".".join(parts))

    def _begin_anew(self) -> None:
        self.seen.update(self.current)
        self.current = []

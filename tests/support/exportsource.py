"""A lake of one table with columns of every kind, whose logs can be added to, and exports of it."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

from world import World

from tailrace.core import TimeRange
from tailrace.export.run import Export, Kind
from tailrace.export.scope import Exported, Scope
from tailrace.lake.snapshot import snapshot
from tailrace.lake.undo import erase

KINDS = """
table "kinds" {
  format = format.jsonl.default
  column "ts" { type = "timestamp" }
  column "tiny" { type = "tinyint" }
  column "small" { type = "smallint" }
  column "large" { type = "ubigint" }
  column "money" { type = "decimal(10,2)" }
  column "words" { type = "varchar[]" }
  column "told" { type = "json" }
  column "half" { type = "float" }
  column "day" { type = "date" }
  column "flag" { type = "boolean" }
  column "never" { type = "bigint" }
  {more}
}
partition "kinds" "a" {
  source "file" { paths = ["{logs}/a"] }
}
partition "kinds" "odd name" {
  tp_index = "host"
  source "file" { paths = ["{logs}/b"] }
}
"""
HOSTS = ("0042", "web 1/ü", "a=b", "%41")


class Source:
    """A lake whose logs can be added to, and exports of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.world = World(folder / "home")
        self.configure()

    @classmethod
    def made(cls, folder: Path) -> Source:
        made = cls(folder)
        made.log("a", "one.jsonl", range(30))
        made.log("b", "two.jsonl", range(100, 140))
        made.collect()
        return made

    def configure(self, more: str = "") -> None:
        text = KINDS.replace("{logs}", str(self.folder / "logs")).replace("{more}", more)
        self.world.write_config(text)

    def log(self, partition: str, name: str, numbers: range, **more: object) -> None:
        file = self.folder / "logs" / partition / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(event(n) | more) + "\n" for n in numbers))

    def collect(self) -> None:
        assert all(report.clean for report in self.world.collect())

    def export(
        self, kind: Kind = "hive", scope: Scope | None = None, *, only: bool = False, in_place: bool = False
    ) -> Exported:
        export = Export(self.world.lake, self.folder / kind, kind, only=only, in_place=in_place)
        (done,) = export.run({"kinds": scope or Scope()}, lambda _total, _more: None)
        return done

    def delete(self, partition: str, first: int, last: int) -> None:
        """Rows of some seconds of the first day: their files are written anew, and the old ones stay on disk."""
        window = TimeRange(datetime(2024, 5, 1, 10, 0, first), datetime(2024, 5, 1, 10, 0, last))
        before = self.ids().total()
        erase(self.world.lake, "kinds", partition, window)
        assert self.ids().total() < before

    def delete_some(self, partition: str) -> None:
        """The oldest rows of a partition."""
        sql = f"select min(tp_timestamp) from kinds where tp_partition = '{partition}'"
        ((first,),) = self.world.query(sql)
        erase(self.world.lake, "kinds", partition, TimeRange(first, first + timedelta(seconds=1)))

    def active(self) -> list[str]:
        return sorted(snapshot(self.world.lake, "kinds").files["path"].to_pylist())

    def ids(self) -> Counter[str]:
        return Counter(row[0] for row in self.world.query("select tp_id from kinds"))


def event(n: int) -> dict[str, object]:
    return {
        "ts": f"2024-05-{1 + n % 3:02}T10:00:{n % 60:02}Z",
        "tiny": n % 100,
        "small": n,
        "large": 2**63 + n,
        "money": f"{n}.25",
        "words": ["a", str(n)],
        "told": {"n": n},
        "half": n / 2,
        "day": "2024-01-31",
        "flag": n % 2 == 0,
        "host": HOSTS[n % 4],
    }

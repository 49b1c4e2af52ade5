"""A lake of five days, and a store with two tiers for them."""

from __future__ import annotations

import shutil
from datetime import date, datetime, timedelta
from pathlib import Path

from logfiles import access_lines, write
from world import World

from tailrace.cli.tiers import tiers_of
from tailrace.cli.upkeep import Upkeep
from tailrace.lake.paths import Lake
from tailrace.lake.resting import tier_of
from tailrace.lake.snapshot import snapshot

PLACE = ("nginx_access_log", "web")
FIRST = date(2024, 5, 1)
DAYS = [FIRST + timedelta(days=n) for n in range(5)]
ROWS = 24
NOW = datetime(2024, 5, 5, 12)
STORE = """
store "default" {{
  tier "recent" {{
    path    = "{tiers}/recent"
    max_age = "1d"
  }}
  tier "old" {{
    path         = "{tiers}/old store"
    to           = "2024-05-02"
    partition_by = ["tp_year", "tp_month"]
    {old}
  }}
}}
"""
PARTITION = 'partition "nginx_access_log" "web" {{\n source "file" {{ paths = ["{logs}"] }}\n{more}\n}}\n'


class Tiered(World):
    """A world whose lake knows its tiers."""

    @property
    def lake(self) -> Lake:
        return Lake(self.home, tiers=tiers_of(self.config()))

    def maintain(self, now: datetime = NOW) -> Upkeep:
        upkeep = Upkeep(self.lake, self.config(), now)
        upkeep.look([PLACE])
        upkeep.carry_out("expire", "purge", "move")
        assert upkeep.troubles == []
        return upkeep

    def resting(self) -> dict[str, list[date]]:
        """Days by tier."""
        seen = snapshot(self.lake, PLACE[0]).files.select(["path", "tp_date"]).to_pylist()
        found: dict[str, set[date]] = {}
        for file in seen:
            tier = tier_of(file["path"], self.lake.tiers)
            found.setdefault(tier.name if tier else "workspace", set()).add(file["tp_date"])
        return {name: sorted(days) for name, days in found.items()}

    @property
    def logs(self) -> Path:
        return Path((self.home / "logs").read_text())

    def write_store(self, old: str = "", more: str = "", text: str = STORE) -> None:
        tiers = self.home.parent / "tiers"
        self.write_config(text.format(tiers=tiers, old=old) + PARTITION.format(logs=self.logs, more=more))


def filled(place: Path) -> Path:
    """A home with five days in two files each."""
    made = Tiered(place / "home")
    made.home.mkdir()
    (made.home / "logs").write_text(str(place / "logs"))
    made.write_store()
    for name, part in (("a", (ROWS, 0)), ("b", (2 * ROWS, ROWS))):
        for day in DAYS:
            write(place / "logs" / f"{day}-{name}.log", access_lines(day, *part))
        assert all(report.clean for report in made.collect())
    return made.home


def copied(base: Path, place: Path) -> Tiered:
    """One that a test may change."""
    shutil.copytree(base, place / "home")
    made = Tiered(place / "home")
    made.write_store()
    return made

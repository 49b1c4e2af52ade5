"""The lake that the documentation of the Python API speaks of: two days of requests, a hundred each."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from logfiles import access_lines, cloudtrail, write
from world import World

DAYS = (date(2024, 5, 1), date(2024, 5, 2))
ROWS = 100
"Per day; a tenth of them failed."
CONFIG = """
schema "first_day" {{
  end_date = "2024-05-01"
}}
partition "nginx_access_log" "web" {{
  source "file" {{ paths = ["{root}/logs/web"] }}
}}
"""
TRAIL = """
partition "aws_cloudtrail_log" "trail" {{
  source "file" {{ paths = ["{root}/logs/trail"] }}
}}
"""


def write_web(root: Path) -> World:
    """Logs and configuration; nothing is collected yet."""
    for day in DAYS:
        write(root / "logs" / "web" / f"{day}.log", access_lines(day, ROWS))
    world = World(root / "home")
    world.write_config(CONFIG.format(root=root))
    return world


def made_web(root: Path) -> World:
    """The lake, collected without a JVM."""
    world = write_web(root)
    assert all(report.clean for report in world.collect())
    return world


def made_trail(root: Path) -> World:
    """The same with events of CloudTrail, whose columns are JSON and structs too."""
    world = write_web(root)
    cloudtrail(root / "logs" / "trail", DAYS[0], 10)
    world.write_config((CONFIG + TRAIL).format(root=root))
    assert all(report.clean for report in world.collect())
    return world

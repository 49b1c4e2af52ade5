"""What a session has set counts for which files are looked at, too."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import pytest
from logfiles import write
from smalllake import answer, files_opened
from world import World

from tailrace.config.tables import tables_for
from tailrace.query.engine import Engine
from tailrace.query.limits import Limits

FIRST = date(2024, 5, 1)
TENTHS = 0.1 + 0.2
"A real number that takes 17 digits."
CONFIG = """
table "t" {{
  column "tp_timestamp" {{ source = "at" }}
  column "n" {{ type = "integer" }}
  column "f" {{ type = "double" }}
}}
partition "t" "p" {{ source "file" {{ paths = ["{logs}"] }} }}
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ten days of one row each, a file a day."""
    root = tmp_path_factory.mktemp("settings")
    for number in range(10):
        row = {"at": f"{FIRST + timedelta(days=number)}T00:30:00Z", "n": number, "f": TENTHS + number}
        write(root / "logs" / f"{number}.jsonl", json.dumps(row) + "\n")
    world = World(root / "home")
    world.write_config(CONFIG.format(logs=root / "logs"))
    (report,) = world.collect()
    assert report.files == 10
    return world


def engine(stored: World, limits: Limits | None = None) -> Engine:
    return Engine(stored.lake, lambda: {"t": tables_for(stored.config(), "t")}, limits=limits)


@pytest.mark.parametrize(
    ("told", "where", "found"),
    [
        ("set variable d = date '2024-05-04'", "tp_date = getvariable('d')", 3),
        ("set variable d = 3; set variable d = 4", "n = getvariable('d')", 4),
        ("set variable d = 'x'; reset variable d", "n = coalesce(getvariable('d'), 5)", 5),
        ("set variable d = null::integer", "n = coalesce(getvariable('d'), 5)", 5),
        ("set variable d = [4, 5]", "n = getvariable('d')[2]", 5),
        ("set variable d = 'it''s'", "n = length(getvariable('d'))", 4),
        ("set integer_division = true", "n = 7 / 2", 3),
        ("set TimeZone = 'Asia/Tokyo'", "tp_timestamp = timestamptz '2024-05-05 00:30:00+09'::timestamp", 4),
        ("set TimeZone = 'Asia/Tokyo'; set TimeZone = 'UTC'",
         "tp_timestamp = timestamptz '2024-05-05 09:30:00+09'::timestamp", 4),
        ("set default_collation = 'nocase'", "tp_partition = 'P' and n = 6", 6),
        ("select 1", f"f = {TENTHS}", 0),
    ],
)  # fmt: skip
def test_no_row_is_missed(stored: World, told: str, where: str, found: int) -> None:
    assert answer(engine(stored), f"{told}; select n from t where {where}") == [(found,)]


def test_files_are_still_left_out(stored: World) -> None:
    sql = "set threads = 1; set variable d = date '2024-05-04'; select n from t where tp_date = getvariable('d')"
    assert len(files_opened(engine(stored), sql)) == 1


@pytest.mark.parametrize("limits", [Limits(), Limits(sandboxed=True)])
def test_the_zone_of_the_machine_does_not_matter(
    stored: World, limits: Limits, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    sql = "select n from t where tp_timestamp = timestamptz '2024-05-05 00:30:00+00'::timestamp"
    assert answer(engine(stored, limits), sql) == [(4,)]

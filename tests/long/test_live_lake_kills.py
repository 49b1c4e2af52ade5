"""Parts killed at random under load: what was acknowledged is in a table of the lake, and in files beside it, once."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from commandline import Home
from servedprocess import MARKS, end, home_with, kill_at_random, sending, served

SENDERS = 2
PAUSE = 0.1
"Seconds between requests: what matters is what is killed, not how much there is."
KILLS = int(os.environ.get("TAILRACE_LONG_KILLS", "20"))
SECONDS = float(os.environ.get("TAILRACE_LONG_SECONDS", "100"))
CONFIG = """
listener "http" "h" {{
  port          = {port}
  api_keys_file = "{root}/keys"
}}
table "clicks" {{
  column "tp_timestamp" {{
    source = "timestamp"
    time   = "epoch_ms"
  }}
  column "event" {{}}
}}
sink "lake" "l" {{
  table          = "clicks"
  flush_interval = "500ms"
}}
"""
FILES = """
sink "parquet" "p" {{
  path           = "{root}/parquet"
  flush_interval = "500ms"
}}
"""
ENGINES = {"local": CONFIG, "spark": CONFIG + FILES}
"Spark has nothing to do where there are no files: its tasks write them."


@pytest.mark.parametrize("engine", ENGINES)
def test_killed_under_load(engine: str, tmp_path: Path, record_property: pytest.RecordProperty) -> None:
    home, port = home_with(tmp_path, ENGINES[engine])
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += _is_each_once(home)

    with served(home, tmp_path, "--engine", engine) as process:
        with sending(f"http://127.0.0.1:{port}", SENDERS, PAUSE) as senders:
            kills = kill_at_random(process.pid, KILLS, SECONDS, random.Random(11), meanwhile=look)
        stopping = end(process)
    asked = "select count(*) as n, count(distinct event) as events, count(distinct tp_id) as ids from clicks"
    (found,) = home.query(asked)
    acknowledged = sum(sender.acknowledged for sender in senders)
    assert found == dict.fromkeys(("n", "events", "ids"), acknowledged)
    assert not list((home.path / "spool" / "default").glob("*.segment"))
    if engine == "spark":
        names = [
            name
            for path in (tmp_path / "parquet").rglob("events.parquet")
            for name in pq.ParquetFile(path).read()["event_name"].to_pylist()
        ]
        assert len(names) == len(set(names)) == acknowledged
        assert set(kills) == set(MARKS)
    record_property("rows acknowledged and stored once", found["n"])
    for name, count in sorted(kills.items()):
        record_property(f"kills of {name}", count)
    record_property("looks meanwhile", looks)
    record_property("largest seconds to stop", round(stopping))


def _is_each_once(home: Home) -> bool:
    """Whoever asks meanwhile sees no row twice; False: nothing is stored yet."""
    if not (home.path / "data").exists():
        return False
    (found,) = home.query("select count(*) as n, count(distinct event) as events from clicks")
    assert found["n"] == found["events"]
    return True

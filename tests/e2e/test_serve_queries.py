"""Questions while a server receives rows and publishes them: all that is decoded is seen, once, and stays."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from livesink import engine_over
from servedprocess import end, home_with, sending, served

from tailrace.query.engine import Engine
from tailrace.streams.sink_options import SinkOptions

SECONDS = 6.0
CONFIG = """
listener "http" "h" {{
  port = {port}
  api_keys_file = "{root}/keys"
}}
sink "parquet" "p" {{
  path = "{root}/parquet"
  flush_interval = "%s"
}}
"""
ASKED = "SELECT count(*), count(DISTINCT event_name) FROM sink_p.events"


def seen(engine: Engine) -> int:
    """Rows, none of them twice."""
    (answer,) = engine.run(ASKED)
    ((rows, distinct),) = answer.rows
    assert rows == distinct
    return int(rows)


@pytest.mark.parametrize("flush", ["300ms", "1h"])
def test_every_row_is_seen_once_and_stays(flush: str, tmp_path: Path) -> None:
    home, port = home_with(tmp_path, CONFIG % flush)
    engine = engine_over(SinkOptions("p", tmp_path / "parquet"), tmp_path)
    counts = [0]

    def ask() -> int:
        counts.append(seen(engine))
        assert counts[-1] >= counts[-2]
        return counts[-1]

    with served(home, tmp_path) as process:
        with sending(f"http://127.0.0.1:{port}", 2, 0.05) as senders:
            deadline = time.monotonic() + SECONDS
            while time.monotonic() < deadline or len(set(counts)) < 5:
                assert time.monotonic() < deadline + 60
                ask()
        acknowledged = sum(sender.acknowledged for sender in senders)
        # Seen as soon as it is decoded, whenever it is published.
        until = time.monotonic() + 60
        while ask() < acknowledged:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert flush != "1h" or not list((tmp_path / "parquet").rglob("*.parquet"))
        asked = home.query(f"{ASKED.replace('count(DISTINCT event_name)', 'max(event_name)')} WHERE workspace_id = 42")
        assert [row["count_star()"] for row in asked] == [acknowledged]
        end(process)
        assert ask() == acknowledged
    assert list((tmp_path / "parquet").rglob("*.parquet"))

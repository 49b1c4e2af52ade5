"""The end of a server whose parts were killed a moment before: what was acknowledged is published all the same."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from servedprocess import end, home_with, sending, served, victims

CONFIG = """
listener "http" "h" {{
  port = {port}
  api_keys_file = "{root}/keys"
}}
sink "parquet" "p" {{
  path = "{root}/parquet"
}}
"""


@pytest.mark.parametrize("pause", [0.0, 0.7])
def test_18_ended_just_after_its_parts_were_killed(pause: float, tmp_path: Path) -> None:
    """They are not begun again yet, or have begun and know no signal."""
    home, port = home_with(tmp_path, CONFIG)
    with served(home, tmp_path) as process:
        with sending(f"http://127.0.0.1:{port}", 1, 0.05) as senders:
            deadline = time.monotonic() + 60
            while senders[0].acknowledged < 10_000:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            senders[0].stop.set()
            senders[0].join(60)
            for parts in victims(process.pid).values():
                os.kill(parts[0], signal.SIGKILL)
            time.sleep(pause)
        end(process)
    paths = (tmp_path / "parquet").rglob("events.parquet")
    stored = [name for path in paths for name in pq.ParquetFile(path).read()["event_name"].to_pylist()]
    assert len(stored) == len(set(stored)) == senders[0].acknowledged
    assert set(stored) == senders[0].names
    assert not [path for path in (home.path / "spool" / "default").iterdir() if path.suffix in (".open", ".segment")]

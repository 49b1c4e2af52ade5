"""Listeners and driver killed at random moments under load: what was acknowledged is in a table of the lake, once."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import urllib3
from commandline import Home

KEY = "000102030405060708090a0b0c0d0e0f"
SENDERS, KILLS, REQUEST = 2, 20, 1000
SECONDS = float(os.environ.get("TAILRACE_LONG_SECONDS", "100"))
EVENT = '{"type":"track","device_id":"550e8400-e29b-41d4-a716-446655440000","event":"%d.%d"}'
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


def send(number: int, url: str, stop: threading.Event, acknowledged: list[int]) -> None:
    """Until it is told to stop, the same request again until it is acknowledged."""
    pool = urllib3.PoolManager(retries=False, timeout=10.0)
    while not stop.is_set():
        first = acknowledged[number]
        body = "\n".join(EVENT % (number, n) for n in range(first, first + REQUEST)).encode()
        headers = {"X-API-Key": KEY, "Idempotency-Key": f"{number}.{first}"}
        while True:
            try:
                if pool.request("POST", f"{url}/v1/events", body=body, headers=headers).status == 202:
                    break
            except urllib3.exceptions.HTTPError:
                pass
            time.sleep(0.05)
        acknowledged[number] += REQUEST


def test_killed_under_load(tmp_path: Path, record_property: pytest.RecordProperty) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Home(tmp_path / "home")
    (tmp_path / "keys").write_text(f"{KEY}:42\n")
    home.configure(CONFIG.format(root=tmp_path, port=port))
    command = [sys.executable, "-m", "tailrace.cli.main", "serve", "--quiet"]
    served = subprocess.Popen(command, env=home.environment(), cwd=tmp_path, stderr=subprocess.DEVNULL)
    stop, acknowledged = threading.Event(), [0] * SENDERS
    url = f"http://127.0.0.1:{port}"
    senders = [threading.Thread(target=send, args=(n, url, stop, acknowledged), daemon=True) for n in range(SENDERS)]
    looks = 0
    try:
        for thread in senders:
            thread.start()
        chosen = random.Random(11)
        for _ in range(KILLS):
            time.sleep(chosen.uniform(0.5, 1.5) * SECONDS / KILLS)
            if running := Path(f"/proc/{served.pid}/task/{served.pid}/children").read_text().split():
                os.kill(int(chosen.choice(running)), signal.SIGKILL)
            looks += _is_each_once(home)
        stop.set()
        for thread in senders:
            thread.join(120)
        served.send_signal(signal.SIGTERM)
        assert served.wait(120) == 0
    finally:
        stop.set()
        served.kill()
        served.wait()
    asked = "select count(*) as n, count(distinct event) as events, count(distinct tp_id) as ids from clicks"
    (found,) = home.query(asked)
    assert found == dict.fromkeys(("n", "events", "ids"), sum(acknowledged))
    assert not list((home.path / "spool" / "default").glob("*.segment"))
    record_property("rows acknowledged and stored once", found["n"])
    record_property("kills", KILLS)
    record_property("looks meanwhile", looks)


def _is_each_once(home: Home) -> bool:
    """Whoever asks meanwhile sees no row twice; False: nothing is stored yet."""
    if not (home.path / "data").exists():
        return False
    (found,) = home.query("select count(*) as n, count(distinct event) as events from clicks")
    assert found["n"] == found["events"]
    return True

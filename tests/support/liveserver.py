"""Listeners in a thread of this process, with real sockets; what they spooled is read back."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import urllib3

from tailrace.config.load import load_texts
from tailrace.config.places import Text
from tailrace.streams import segments
from tailrace.streams.decode import Decoded, decode
from tailrace.streams.listening import Listening
from tailrace.streams.pull_settings import pulls
from tailrace.streams.records import Record
from tailrace.streams.settings import listeners, sinks
from tailrace.streams.spool import SpoolLimits

KEY, OTHER = "000102030405060708090a0b0c0d0e0f", "feed1e11feed1e11feed1e11feed1e11"
AUTH = {"Authorization": f"Bearer {KEY}"}
DEVICE = "550e8400-e29b-41d4-a716-446655440000"
EVENT = b'{"type":"track","event":"e","device_id":"%s"}' % DEVICE.encode()


class Served:
    """What is listening, and how to talk to it."""

    def __init__(self, root: Path, listening: Listening, loop: asyncio.AbstractEventLoop) -> None:
        self.root = root
        self.listening = listening
        self.loop = loop
        self.pool = urllib3.PoolManager(retries=False, timeout=20.0)

    def place(self, name: str) -> tuple[str, int]:
        return self.listening.places[name]

    def post(self, path: str, body: bytes, **headers: str) -> tuple[int, Any]:
        name = next(name for name in self.listening.places if name.startswith(("http.", "otlp.")))
        host, port = self.place(name)
        given = AUTH | {key.replace("_", "-"): value for key, value in headers.items()}
        answer = self.pool.request("POST", f"http://{host}:{port}{path}", body=body, headers=given)
        return answer.status, answer.json() if answer.data else None

    def get(self, path: str) -> urllib3.BaseHTTPResponse:
        host, port = next(iter(self.listening.places.values()))
        return self.pool.request("GET", f"http://{host}:{port}{path}")

    def count(self, name: str) -> int:
        return sum(number for (other, _), number in self.listening.intake.counts.items() if other == name)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self.listening.close(), self.loop).result(30)

    def records(self) -> list[Record]:
        """Everything that was spooled; the listeners are closed."""
        self.close()
        root = self.root / "spool"
        found = []
        for number in segments.numbers(root, segments.CLOSED):
            found += list(segments.read(segments.path_of(root, number, segments.CLOSED)))
        return found

    def rows(self, kind: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.decoded().table(kind).to_pylist()
        return rows

    def decoded(self) -> Decoded:
        return decode(self.records())


CONFIG = """
listener "http" "h" {{
  port = 0
  api_keys_file = "{root}/keys"
  {http}
}}
listener "tcp" "t" {{
  port = 0
  api_keys_file = "{root}/keys"
  {tcp}
}}
listener "syslog" "s" {{
  port = 0
  workspace_id = 9
  {syslog}
}}
sink "parquet" "p" {{ path = "{root}/parquet" }}
"""


@contextlib.contextmanager
def serving(root: Path, config: str = CONFIG, limits: SpoolLimits | None = None, **more: str) -> Iterator[Served]:
    (root / "keys").write_text(f"# keys\n{KEY}:42:first\n{OTHER}:7\n")
    given = {"http": "", "tcp": "", "syslog": ""} | more
    text = Text("test.tpc", config.format(root=root, **given).encode(), str(root))
    loaded = load_texts([text], now=datetime(2024, 1, 1), environ={})
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    bounds = limits or SpoolLimits(reserve=0)
    listening = Listening(listeners(loaded), sinks(loaded, root), root / "spool", bounds, pulls(loaded))
    try:
        asyncio.run_coroutine_threadsafe(listening.open(), loop).result(30)
        served = Served(root, listening, loop)
        yield served
    finally:
        if not listening.intake.draining:
            asyncio.run_coroutine_threadsafe(listening.close(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

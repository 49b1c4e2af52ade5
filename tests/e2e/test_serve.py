"""`tailrace serve` as a process: it stores what it accepts, outlives its parts, and ends as it is asked to."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import flatwrite as fw
import pyarrow.parquet as pq
import pytest
from commandline import Home

KEY = "000102030405060708090a0b0c0d0e0f"
CONFIG = """
listener "http" "h" {{
  port = {port}
  api_keys_file = "{root}/keys"
}}
listener "tcp" "t" {{
  port = 0
  api_keys_file = "{root}/keys"
}}
"""
SINK = (
    '[sinks.parquet]\ntype = "parquet"\npath = "{root}/parquet/"\nflush_interval = "200ms"\nmetrics_interval = "1s"\n'
)
PATIENCE = 120.0


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def plain_home(tmp_path: Path) -> Home:
    """Without a class archive: nothing here starts a JVM."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Home(tmp_path / "home", {"PORT": str(port)})
    (tmp_path / "keys").write_text(f"{KEY}:42:first\n")
    home.configure(CONFIG.format(root=tmp_path, port=port))
    (home.path / "config" / "sink.toml").write_text(SINK.format(root=tmp_path))
    return home


@contextmanager
def served(home: Home, said: Path) -> Iterator[int]:
    """Process id of the supervisor."""
    with said.open("w") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "tailrace.cli.main", "serve"], env=home.environment(), stderr=err, cwd=home.path
        )
    try:
        until(lambda: "tcp.t on" in said.read_text() or process.poll() is not None)
        yield process.pid
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()


def parts(supervisor: int) -> dict[str, int]:
    """Processes of the supervisor, by part."""
    found = {}
    for child in Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split():
        words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        if b"--part" in words:
            found[words[words.index(b"--part") + 1].decode()] = int(child)
    return found


def stored(root: Path) -> list[str]:
    names = []
    for path in (root / "parquet").rglob("events.parquet"):
        names += pq.ParquetFile(path).read()["event_name"].to_pylist()
    return sorted(names)


def lines(root: Path, first: int, count: int) -> Path:
    path = root / f"{first}.jsonl"
    event = {"type": "track", "device_id": "550e8400-e29b-41d4-a716-446655440000"}
    path.write_text("".join(json.dumps(event | {"event": f"e{n:05d}"}) + "\n" for n in range(first, first + count)))
    return path


def test_18_serve(plain_home: Home, tmp_path: Path) -> None:
    """Ended while ten clients are connected, it exits with 0, and all that was received is in the files."""
    home, root = plain_home, tmp_path
    url = f"http://127.0.0.1:{home.env['PORT']}"

    def send(first: int, count: int) -> None:
        sent = home.run("send", str(lines(root, first, count)), "--to", url, "--key", KEY, "--output", "json", "--gzip")
        assert (sent.code, sent.json()["accepted"]) == (0, count), sent.err

    with served(home, root / "err") as supervisor:
        send(0, 1500)
        second = home.run("serve")
        assert second.code == 6
        assert "is held by process" in second.err
        # Each part is killed, and comes again by itself.
        until(lambda: len(parts(supervisor)) == 2)
        before = parts(supervisor)
        os.kill(before["driver"], signal.SIGKILL)
        send(1500, 500)
        os.kill(before["listeners"], signal.SIGKILL)
        send(2000, 500)
        until(lambda: len(parts(supervisor)) == 2)
        assert not set(before.values()) & set(parts(supervisor).values())
        until(lambda: len(stored(root)) == 2500)
        # A client that stays connected does not keep what it has sent from the files.
        with ExitStack() as connected:
            client, *_ = (connected.enter_context(_tcp(root / "err")) for _ in range(10))
            now = int(time.time() * 1000)
            client.sendall(fw.framed(fw.events([fw.event(name=f"e0250{n}", timestamp=now) for n in range(5)])))
            until(lambda: len(stored(root)) == 2505)
            status = home.run("sink", "status", "--output", "json").json()
            asked = home.run("query", "SELECT count(*) AS n FROM sink_parquet.events", "--output", "json")
            assert asked.json() == [{"n": 2505}], asked.err
            change_configuration(home, root, supervisor, url)
            # The connection was there before, and has not noticed.
            client.sendall(fw.framed(fw.events([fw.event(name=f"e0250{n}", timestamp=now) for n in range(5, 8)])))
            until(lambda: len(stored(root)) == 2508)
            os.kill(supervisor, signal.SIGTERM)
            until(lambda: Path(f"/proc/{supervisor}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
    assert stored(root) == [f"e{n:05d}" for n in range(2508)]
    assert (status[0]["name"], status[0]["waiting"], status[0]["files"]) == ("parquet", 0, 1)
    assert "sink parquet: " in (root / "err").read_text()
    assert not list((home.path / "spool" / "default").glob("*.segment"))


def change_configuration(home: Home, root: Path, supervisor: int, url: str) -> None:
    """One that is wrong changes nothing; then a listener is added, and the sink is told to do otherwise."""
    config, sink = (home.path / "config" / name for name in ("test.tpc", "sink.toml"))
    before, said = config.read_text(), root / "err"
    config.write_text(f'{before}\nlistener "tcp" "more" {{ prot = 0 }}\n')
    os.kill(supervisor, signal.SIGHUP)
    until(lambda: "configuration: the earlier one holds" in said.read_text())
    assert f"test.tpc:{before.count(chr(10)) + 2}" in said.read_text()
    assert b"tailrace_listener_config_reload_errors_total 1" in _page(f"{url}/metrics")
    running = parts(supervisor)
    config.write_text(f'{before}\nlistener "syslog" "more" {{\n  port = 0\n  protocol = "tcp"\n}}\n')
    sink.write_text(sink.read_text() + 'compression = "zstd"\n')
    os.kill(supervisor, signal.SIGHUP)
    until(lambda: "listener syslog.more on" in said.read_text())
    until(lambda: "driver: begun again" in said.read_text().rpartition("the earlier one holds")[2])
    until(lambda: len(parts(supervisor)) == 2)
    assert "API keys: read again" in said.read_text()
    changed = parts(supervisor)
    assert (changed["listeners"] == running["listeners"], changed["driver"] == running["driver"]) == (True, False)


def _page(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=30) as answer:
        text: bytes = answer.read()
        return text


def _tcp(said: Path) -> socket.socket:
    """The port that the listener has now: it was begun again."""
    port = re.findall(r"listener tcp.t on \S+:(\d+)", said.read_text())[-1]
    return socket.create_connection(("127.0.0.1", int(port)))


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.configure('sink "parquet" "p" { path = "x" }')
    done = home.run("serve")
    assert (done.code, "no listener is configured" in done.err) == (3, True)


def test_a_listener_whose_rows_nobody_takes_is_refused(tmp_path: Path) -> None:
    """What it accepts would be acknowledged, and stored nowhere."""
    home = Home(tmp_path / "home")
    listener = 'listener "syslog" "s" {\n port = 0\n}\n'
    for sink in (
        'sink "otap" "o" { path = "x" }',
        'listener "otlp" "o" { port = 0 }\nsink "parquet" "p" {\n path = "x"\n listeners = [listener.otlp.o]\n}',
        'sink "lake" "l" {\n table = "syslog"\n kinds = ["events"]\n}',
    ):
        home.configure(listener + sink)
        done = home.run("serve")
        assert (done.code, "takes what listener syslog.s accepts" in done.err) == (3, True), done.err


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        listener = f'listener "syslog" "s" {{\n port = {port}\n protocol = "tcp"\n}}\n'
        home.configure(f'{listener}sink "parquet" "p" {{ path = "{tmp_path}/x" }}')
        done = home.run("serve")
    assert (done.code, f"cannot listen on 127.0.0.1:{port}" in done.err) == (5, True), done.err

"""Spark Connect servers that do not answer: real sockets, no JVM."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from commandline import Home
from deafserver import Deaf, deaf_server
from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc

from tailrace.core.errors import SparkError
from tailrace.pipeline import connect
from tailrace.pipeline.options import SessionOptions
from tailrace.pipeline.session import open_session

SOON = 60.0
"Seconds: without an end of ours PySpark waits for minutes, or for ever."


@pytest.fixture
def deaf() -> Iterator[Deaf]:
    with deaf_server() as server:
        yield server


def _remote(server: Deaf) -> str:
    return server.url.replace("http://", "sc://")


def test_nobody_waits_for_a_server_that_says_nothing(
    deaf: Deaf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "ANSWER_SECONDS", 0.5)
    begun = time.monotonic()
    with pytest.raises(SparkError) as raised:
        open_session(SessionOptions(home=tmp_path, remote=f"{_remote(deaf)}/;token=geheim"))
    assert time.monotonic() - begun < SOON
    assert raised.value.code == "spark.no-answer"
    assert _remote(deaf) in raised.value.message
    assert "geheim" not in raised.value.message
    assert deaf.callers


def test_nobody_waits_whose_session_is_not_wanted_any_more(deaf: Deaf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "ANSWER_SECONDS", 10 * SOON)
    stopped = threading.Event()
    threading.Timer(0.3, stopped.set).start()
    begun = time.monotonic()
    with pytest.raises(SparkError) as raised:
        connect.require_answer(_remote(deaf), stopped.is_set)
    assert time.monotonic() - begun < SOON
    assert raised.value.code == "spark.stopped"


def test_a_server_that_greets_is_enough() -> None:
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        connect.require_answer(f"sc://127.0.0.1:{port}")
    finally:
        server.stop(None)


def test_the_command_ends_with_its_time(deaf: Deaf, tmp_path: Path) -> None:
    """PySpark asks the server once more as a program ends."""
    begun = time.monotonic()
    done = Home(tmp_path / "home").run(
        "--remote", _remote(deaf), "query", "--engine", "spark", "--timeout", "1s", "select 1"
    )
    assert time.monotonic() - begun < SOON
    assert (done.code, done.out) == (1, "")
    assert "error[query.timeout]: stopped after 1 s" in done.err


class _FallsSilent(base_pb2_grpc.SparkConnectServiceServicer):
    """Takes settings; a session that takes its leave hears nothing."""

    def __init__(self) -> None:
        self.left = threading.Event()
        self.over = threading.Event()

    def Config(self, request: Any, context: Any) -> Any:
        return base_pb2.ConfigResponse(session_id=request.session_id, server_side_session_id="1")

    def ReleaseSession(self, request: Any, context: Any) -> Any:
        self.left.set()
        self.over.wait()
        return base_pb2.ReleaseSessionResponse(session_id=request.session_id)


_LEAVES = """
import sys
from tailrace.pipeline.session import SessionOptions, close_session, open_session
spark = open_session(SessionOptions(remote=sys.argv[1]))
close_session(spark, 0.5)
print("left")
"""


def test_a_server_that_falls_silent_is_left() -> None:
    server, silent = grpc.server(ThreadPoolExecutor(4)), _FallsSilent()
    base_pb2_grpc.add_SparkConnectServiceServicer_to_server(silent, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    command = [sys.executable, "-c", _LEAVES, f"sc://127.0.0.1:{port}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SOON, check=False)
    finally:
        silent.over.set()
        server.stop(None)
    assert (done.stdout, done.stderr, done.returncode) == ("left\n", "", 0)
    assert silent.left.is_set()

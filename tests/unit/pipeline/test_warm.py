"""The note of a warm server: who may read it, and what it is worth when the process is gone or another one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path

import pytest

from tailrace.core.errors import SparkError
from tailrace.pipeline import connect, warm
from tailrace.pipeline.options import SessionOptions, settle


def _server(pid: int) -> warm.Warm:
    return warm.Warm(pid, 15999, "word", 1.0, "local[*]")


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def test_nothing_runs(tmp_path: Path) -> None:
    assert warm.found(tmp_path) is None
    assert warm.stop(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}'])
def test_a_note_that_says_nothing(tmp_path: Path, text: str) -> None:
    warm._note(tmp_path).write_text(text)
    assert warm.found(tmp_path) is None


def test_a_process_of_the_same_number_is_left_alone(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        warm._write(warm._note(tmp_path), json.dumps(asdict(_server(other.pid))))
        assert warm.found(tmp_path) is None
        assert warm.stop(tmp_path) is None
        assert other.poll() is None
    finally:
        _ended(other)


def test_a_server_is_known_by_its_command_and_stopped(tmp_path: Path) -> None:
    program = f"input() # {warm._SERVER}"
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)
    try:
        warm._write(warm._note(tmp_path), json.dumps(asdict(_server(process.pid))))
        while (found := warm.found(tmp_path)) is None and process.poll() is None:
            pass
        assert found == _server(process.pid)
        assert found.remote == "sc://localhost:15999"
        # Somebody has to reap it; a server's parent has long gone.
        threading.Thread(target=process.wait, daemon=True).start()
        assert warm.stop(tmp_path) == found
        assert warm.found(tmp_path) is None
        assert not warm._note(tmp_path).exists()
    finally:
        _ended(process)


def test_the_token_is_for_its_owner(tmp_path: Path) -> None:
    warm._write(warm._note(tmp_path), "{}")
    assert warm._note(tmp_path).stat().st_mode & 0o777 == 0o600
    settings = settle(SessionOptions(home=tmp_path, compiled=True), env={})
    command = warm._command(settings, 15999)
    assert "spark.connect.grpc.binding.address=127.0.0.1" in command
    assert not any("token" in part.lower() for part in command), "everybody sees command lines"


def test_another_server_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(SparkError, match="sc://there"):
        warm.start(SessionOptions(remote="sc://there", home=tmp_path))


def test_a_server_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "_command", lambda *_: [sys.executable, "-c", "import sys; sys.exit('no heap left')"])
    with pytest.raises(SparkError, match="no heap left"):
        warm.start(SessionOptions(home=tmp_path))
    assert warm.found(tmp_path) is None
    assert os.path.exists(tmp_path / "logs" / "spark-server.log")


def test_no_server_is_started_that_no_query_could_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "_importable", lambda module: module != "grpc")
    with pytest.raises(SparkError) as raised:
        warm.start(SessionOptions(home=tmp_path))
    assert raised.value.code == "spark.connect-packages"
    assert not (tmp_path / "logs").exists()

"""Listeners that change while others go on."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import flatwrite as fw
import pytest
from liveserver import EVENT, Served, serving

from tailrace.core.errors import TailraceError
from tailrace.streams import listening


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as running:
        yield running


def changed(served: Served, *listeners: Any) -> list[TailraceError]:
    change = served.listening.change(listeners, served.listening.sinks)
    return asyncio.run_coroutine_threadsafe(change, served.loop).result(30)


def test_what_did_not_change_goes_on_and_what_did_is_begun_anew(served: Served) -> None:
    http, tcp, _ = served.listening.listeners
    places = served.listening.places
    with socket.create_connection(served.place("tcp.t"), timeout=20) as connection:
        with socket.create_connection(served.place("syslog.s"), timeout=20) as leaving:
            leaving.sendall(b"<13>kept")
            # What it had taken in is kept, and it is told to go.
            assert changed(served, replace(http, args=http.args | {"max_lines": 1}), tcp) == []
            assert leaving.recv(1) == b""
        assert served.place("tcp.t") == places["tcp.t"]
        assert set(served.listening.places) == {"http.h", "tcp.t"}
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(places["http.h"], timeout=20)
        assert served.post("/v1/events", b"\n".join([EVENT, EVENT]))[0] == 207
        connection.sendall(fw.framed(fw.events([fw.event(1)])))
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    found = served.decoded()
    assert (found.table("events").num_rows, found.table("logs").num_rows) == (2, 1)


def test_connections_leave_files_for_the_spool(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else whoever opens connections ends all acknowledgements: 1024 files are usual, and each listener has 1000."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    said: list[str] = []
    served.listening.say = said.append
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
        assert changed(served, *served.listening.listeners) == []
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == before[1]
        assert not said
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
        monkeypatch.setattr(listening, "allow_more", lambda: False)
        assert changed(served, *served.listening.listeners) == []
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    (told,) = said
    assert "(1024)" in told
    assert "`ulimit -n` to 3200" in told


def test_one_that_cannot_be_begun_stays_as_it_was(served: Served) -> None:
    http, tcp, syslog = served.listening.listeners
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        (error,) = changed(served, replace(http, port=taken.getsockname()[1]), tcp, syslog)
    assert (error.code, error.where) == ("serve.port", "http.h")
    assert served.post("/v1/events", EVENT)[0] == 202


def test_keys_are_known_once_however_many_listeners_read_them(served: Served) -> None:
    http, *_ = served.listening.listeners
    assert http.api_keys_file is not None
    http.api_keys_file.write_text("nonsense")
    assert len(served.listening.intake.reload_keys()) == 1
    assert changed(served, replace(http, args=http.args | {"max_lines": 5})) == []
    assert served.post("/v1/events", EVENT)[0] == 202

"""What messages over gRPC take of the memory of listeners is bounded, and nobody's who has no key."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from grpccalls import CONFIG, METHOD, called, request
from liveserver import KEY, serving

from tailrace.streams import grpc_listener

grpc = pytest.importorskip("grpc")
KEYED = {"authorization": f"Bearer {KEY}"}


class Silent:
    """A call whose message does not come before it is told to."""

    def __init__(self, served: Any, **metadata: str) -> None:
        host, port = served.place("otlp.g")
        self.go_on = threading.Event()
        self.channel = grpc.insecure_channel(f"{host}:{port}")
        call = self.channel.stream_unary(METHOD)
        self.answer = call.future(self._messages(), timeout=20, metadata=tuple(metadata.items()))

    def _messages(self) -> Iterator[bytes]:
        self.go_on.wait(20)
        yield request("late")

    def close(self) -> None:
        self.go_on.set()
        self.channel.close()


def test_who_has_no_key_sends_nothing(tmp_path: Path) -> None:
    """The answer is there before the message."""
    with serving(tmp_path, CONFIG, http=f'api_keys_file = "{tmp_path}/keys"') as served:
        call = Silent(served, authorization="Bearer 0")
        assert call.answer.code() is grpc.StatusCode.UNAUTHENTICATED
        call.close()


def test_messages_are_read_in_turns_and_have_to_come_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_listener, "_PATIENCE", 1.0)
    more = f'api_keys_file = "{tmp_path}/keys"'
    with serving(tmp_path, CONFIG.replace("100KB", "200MB"), http=more) as served:  # room for one at a time
        calls = [Silent(served, **KEYED) for _ in range(2)]
        assert called(served, request("in turn"), **KEYED) == b""
        assert [call.answer.code() for call in calls] == [grpc.StatusCode.DEADLINE_EXCEEDED] * 2
        for call in calls:
            call.close()
        assert [row["workspace_id"] for row in served.rows("logs")] == [42]


def test_a_call_that_is_given_up_is_nobody_s_turn(tmp_path: Path) -> None:
    with serving(tmp_path, CONFIG.replace("100KB", "200MB")) as served:
        call = Silent(served)
        call.answer.cancel()
        call.close()
        assert called(served, request("after it")) == b""


def test_messages_take_room_until_they_are_stored(tmp_path: Path) -> None:
    with serving(tmp_path, CONFIG) as served:
        room = served.listening.intake.room
        room.held = room.most
        with pytest.raises(grpc.RpcError) as refused:
            called(served, request("too much"))
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        room.held = 0
        assert called(served, request("enough")) == b""
        assert room.held == 0
        assert len(served.rows("logs")) == 1

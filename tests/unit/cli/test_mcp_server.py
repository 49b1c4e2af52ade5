"""The protocol of `tailrace mcp`, message by message."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tailrace.cli.mcp_server import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    NO_METHOD,
    NO_VERSION,
    PARSE_ERROR,
    Call,
    Refused,
    Server,
    Tool,
)

PATIENCE = 60


def echo(given: Mapping[str, Any], _: Call) -> dict[str, Any]:
    if "refuse" in given:
        raise Refused("not that")
    return {"given": dict(given)}


TOOLS = (Tool("echo", "Echo", "Says what it hears.", {"type": "object"}, echo),)


def talk(*messages: object, tools: tuple[Tool, ...] = TOOLS) -> list[dict[str, Any]]:
    """The answers, by the order in which they came."""
    out = io.BytesIO()
    lines = [m if isinstance(m, bytes) else json.dumps(m).encode() + b"\n" for m in messages]
    Server("test", "1", "Be kind.", tools, out).serve(_slowly(lines, out))
    return [json.loads(line) for line in out.getvalue().splitlines()]


def _slowly(lines: list[bytes], out: io.BytesIO) -> Iterator[bytes]:
    """As a client does that waits for each answer: the end of its messages is the end of the server."""
    for line in lines:
        before = out.getvalue().count(b"\n")
        yield line
        expects_answer = b'"id"' in line or line[:1] not in b"{\n"
        deadline = threading.Event()
        for _ in range(PATIENCE * 100 if expects_answer else 0):
            if out.getvalue().count(b"\n") > before:
                break
            deadline.wait(0.01)


def request(method: str, number: object = 1, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


@pytest.mark.parametrize(
    ("asked", "answered"), [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2099-01-01", "2025-11-25")]
)
def test_versions_are_agreed_on(asked: str, answered: str) -> None:
    (answer,) = talk(
        request("initialize", protocolVersion=asked, capabilities={}, clientInfo={"name": "t", "version": "1"}),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    )
    result = answer["result"]
    assert result["protocolVersion"] == answered
    assert result["serverInfo"] == {"name": "test", "version": "1"}
    assert result["instructions"] == "Be kind."
    assert "tools" in result["capabilities"]


@pytest.mark.parametrize("deep", ["%s", '{"id": 1, "method": "ping", "params": %s}', '{"id": %s, "method": "ping"}'])
@pytest.mark.parametrize("depth", [900, 990, 100_000])
def test_a_message_that_is_nested_deeply_is_not_the_end(deep: str, depth: int) -> None:
    line = deep % ("[" * depth + "]" * depth)
    told, pinged = talk(line.encode() + b"\n", request("ping", "after"))
    if depth == 100_000:
        assert (told["id"], told["error"]["code"]) == (None, PARSE_ERROR)
    assert (pinged["id"], pinged["result"]) == ("after", {})


def test_tools_are_listed_and_called() -> None:
    listed, called, pinged = talk(
        request("tools/list"),
        request("tools/call", "a", name="echo", arguments={"x": "ü"}),
        request("ping", 3),
    )
    (tool,) = listed["result"]["tools"]
    assert (tool["name"], tool["annotations"]["readOnlyHint"]) == ("echo", True)
    assert called["id"] == "a"
    assert called["result"]["structuredContent"] == {"given": {"x": "ü"}}
    assert json.loads(called["result"]["content"][0]["text"]) == {"given": {"x": "ü"}}
    assert not called["result"]["isError"]
    assert pinged == {"jsonrpc": "2.0", "id": 3, "result": {}}


def test_requests_may_name_their_version() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    found, listed, called, plain = talk(
        request("server/discover", 1, _meta=meta),
        request("tools/list", 2, _meta=meta),
        request("tools/call", 3, _meta=meta, name="echo"),
        request("tools/list", 4),
    )
    assert found["result"]["supportedVersions"] == ["2026-07-28"]
    assert all(answer["result"]["resultType"] == "complete" for answer in (found, listed, called))
    assert listed["result"]["ttlMs"] == 0
    assert plain["result"].keys() == {"tools"}
    (refused,) = talk(request("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2099-01-01"}))
    assert (refused["error"]["code"], refused["error"]["data"]["supported"]) == (NO_VERSION, ["2026-07-28"])


def test_what_goes_wrong_in_a_tool_is_an_answer() -> None:
    (answer,) = talk(request("tools/call", name="echo", arguments={"refuse": True}))
    assert answer["result"]["isError"]
    assert answer["result"]["content"][0]["text"] == "not that"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"no json\n", PARSE_ERROR),
        (b"\xff\xfe\n", PARSE_ERROR),
        (b"[]\n", INVALID_REQUEST),
        (b'"text"\n', INVALID_REQUEST),
        ({"id": 1, "method": 7}, INVALID_REQUEST),
        (request("resources/list"), NO_METHOD),
        (request("tools/call", name="nothing"), INVALID_PARAMS),
        (request("tools/call", name="echo", arguments=[1]), INVALID_PARAMS),
    ],
)
def test_bad_messages_are_answered_and_survived(message: object, code: int) -> None:
    failed, pinged = talk(message, request("ping", 9))
    assert failed["error"]["code"] == code
    assert pinged["id"] == 9


def test_messages_that_want_no_answer_get_none() -> None:
    (pinged,) = talk(
        b"\n",
        {"jsonrpc": "2.0", "method": "notifications/unknown"},
        {"jsonrpc": "2.0", "result": {}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}},
        request("ping", 2),
    )
    assert pinged["id"] == 2


def waiting(begun: threading.Event, ended: threading.Event) -> Tool:
    """A tool that takes as long as nobody stops it."""

    def wait(_: Mapping[str, Any], call: Call) -> dict[str, Any]:
        stopped = threading.Event()
        call.stop = stopped.set
        begun.set()
        assert stopped.wait(PATIENCE)
        ended.set()
        return {}

    return Tool("wait", "Wait", "", {"type": "object"}, wait)


def test_a_call_that_is_cancelled_is_stopped_and_not_answered() -> None:
    begun, ended, out = threading.Event(), threading.Event(), io.BytesIO()

    def lines() -> Iterator[bytes]:
        yield json.dumps(request("tools/call", 1, name="wait")).encode()
        assert begun.wait(PATIENCE)
        yield json.dumps(request("ping", 2)).encode()
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        yield json.dumps(note).encode()
        assert ended.wait(PATIENCE)

    Server("test", "1", "", (waiting(begun, ended),), out).serve(lines())
    assert [json.loads(line)["id"] for line in out.getvalue().splitlines()] == [2]


def test_the_end_of_the_messages_stops_what_is_under_way() -> None:
    begun, ended, out = threading.Event(), threading.Event(), io.BytesIO()

    def lines() -> Iterator[bytes]:
        yield json.dumps(request("tools/call", 1, name="wait")).encode()
        assert begun.wait(PATIENCE)

    Server("test", "1", "", (waiting(begun, ended),), out).serve(lines())
    assert ended.is_set()
    assert not out.getvalue()

"""The Model Context Protocol over a pair of pipes: JSON-RPC 2.0, a message a line.

No library: the official one takes two seconds to import, and of its protocol a server of tools needs five methods.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, BinaryIO

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"Agreed on by `initialize`, newest first; they say the same of all that is used here."
STATELESS = "2026-07-28"
"Named by every request; its answers say that they are complete, and how long they hold."
_VERSION, _SERVER = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/serverInfo"
_NOT_KEPT = {"ttlMs": 0, "cacheScope": "private"}
AT_ONCE = 2
"Calls; others wait."
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, NO_VERSION = -32700, -32600, -32601, -32602, -32022
Message = dict[str, Any]


class Refused(Exception):
    """A call that cannot be answered as it was made; whoever made it is told why."""


@dataclass(slots=True)
class Call:
    """One call of a tool, which may be taken back."""

    is_cancelled: bool = False
    stop: Callable[[], None] | None = field(default=None)
    "Ends what is under way."

    def cancel(self) -> None:
        self.is_cancelled = True
        if self.stop is not None:
            self.stop()


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that can be asked for."""

    name: str
    title: str
    description: str
    schema: Mapping[str, Any]
    "JSON Schema of its arguments."
    run: Callable[[Mapping[str, Any], Call], Message]

    def told(self) -> Message:
        # All of them only read, and ask again with the same answer; none leaves this machine.
        hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": dict(self.schema),
            "annotations": {"title": self.title, **hints},
        }


class Server:
    """Answers until nobody asks any more. Calls of tools run beside the reading, so that they can be cancelled."""

    def __init__(self, name: str, version: str, instructions: str, tools: Iterable[Tool], out: BinaryIO) -> None:
        self.info = {"name": name, "version": version}
        self.instructions = instructions
        self.tools = {tool.name: tool for tool in tools}
        self.out = out
        self.lock = threading.Lock()
        self.under_way: dict[str, Call] = {}

    def serve(self, lines: Iterable[bytes]) -> None:
        """Until the last line."""
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="tool") as pool:
            try:
                for line in lines:
                    if line.strip():
                        self._take_any(line, pool)
            finally:
                for call in list(self.under_way.values()):
                    call.cancel()
                pool.shutdown(cancel_futures=True)

    def _take_any(self, line: bytes, pool: ThreadPoolExecutor) -> None:
        """One message that cannot be read must not be the end of all others."""
        try:
            self._take(line, pool)
        except RecursionError:
            self._fail(None, PARSE_ERROR, "this is nested too deeply")

    def _take(self, line: bytes, pool: ThreadPoolExecutor) -> None:
        try:
            message = json.loads(line)
        except ValueError as error:
            self._fail(None, PARSE_ERROR, f"this is not JSON: {error}")
            return
        if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
            self._fail(None, INVALID_REQUEST, "a message is an object with a method")
            return
        if "method" not in message:
            return  # an answer to something that was never asked
        given = message.get("params")
        params: Message = given if isinstance(given, dict) else {}
        version = _version(params)
        if "id" not in message:
            self._note(message["method"], params)
        elif version not in (None, STATELESS, *VERSIONS):
            told = {"supported": [STATELESS], "requested": version}
            self._fail(message["id"], NO_VERSION, f"version {version} is not spoken here", told)
        elif message["method"] == "tools/call":
            self._call(message["id"], params, pool)
        else:
            self._answer(message["id"], message["method"], params)

    def _note(self, method: str, params: Message) -> None:
        if method == "notifications/cancelled":
            call = self.under_way.get(_key(params.get("requestId")))
            if call is not None:
                call.cancel()

    def _answer(self, number: object, method: str, params: Message) -> None:
        if method == "server/discover":
            self._send(number, {
                "supportedVersions": [STATELESS],
                "capabilities": {"tools": {"listChanged": False}},
                "instructions": self.instructions,
                "_meta": {_SERVER: self.info},
                **_NOT_KEPT,
            }, STATELESS)  # fmt: skip
        elif method == "initialize":
            asked = params.get("protocolVersion")
            self._send(number, {
                "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
                "capabilities": {"tools": {"listChanged": False}},
                "serverInfo": self.info,
                "instructions": self.instructions,
            })  # fmt: skip
        elif method == "tools/list":
            version = _version(params)
            held = _NOT_KEPT if version == STATELESS else {}
            self._send(number, {"tools": [tool.told() for tool in self.tools.values()], **held}, version)
        elif method == "ping":
            self._send(number, {})
        else:
            self._fail(number, NO_METHOD, f"there is no method {method}")

    def _call(self, number: object, params: Message, pool: ThreadPoolExecutor) -> None:
        tool = self.tools.get(str(params.get("name")))
        given = params.get("arguments") or {}
        if tool is None or not isinstance(given, dict):
            what = "arguments are an object" if tool else f"there is no tool {params.get('name')}"
            self._fail(number, INVALID_PARAMS, what)
            return
        call = self.under_way[_key(number)] = Call()
        pool.submit(self._run, number, tool, given, call, _version(params))

    def _run(self, number: object, tool: Tool, given: Message, call: Call, version: str | None) -> None:
        try:
            if not call.is_cancelled:
                result = _result(tool, given, call)
            # Whoever has cancelled a call does not expect an answer.
            if not call.is_cancelled:
                self._send(number, result, version)
        finally:
            self.under_way.pop(_key(number), None)

    def _send(self, number: object, result: Message, version: str | None = None) -> None:
        ended = {"resultType": "complete"} if version == STATELESS else {}
        self._write({"jsonrpc": "2.0", "id": number, "result": {**ended, **result}})

    def _fail(self, number: object, code: int, why: str, data: Message | None = None) -> None:
        more = {} if data is None else {"data": data}
        self._write({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": why, **more}})

    def _write(self, message: Message) -> None:
        data = json.dumps(message, ensure_ascii=False).encode("utf-8", "backslashreplace")
        with self.lock:
            self.out.write(data + b"\n")
            self.out.flush()


def _result(tool: Tool, given: Message, call: Call) -> Message:
    """What went wrong is an answer too: a model reads it and asks better."""
    try:
        found = tool.run(given, call)
    except Refused as refused:
        return {"content": [{"type": "text", "text": str(refused)}], "isError": True}
    text = json.dumps(found, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}], "structuredContent": found, "isError": False}


def _version(params: Message) -> str | None:
    """The version that a request names; those that were agreed on before are not named."""
    meta = params.get("_meta")
    found = meta.get(_VERSION) if isinstance(meta, dict) else None
    return found if isinstance(found, str) else None


def _key(number: object) -> str:
    """`1` and `"1"` are two."""
    return json.dumps(number)

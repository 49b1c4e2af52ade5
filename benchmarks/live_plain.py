"""The plain way to what `tailrace serve` does: an endpoint that appends JSON lines, and DuckDB's COPY every so often.

What serves it and how much it looks at what it gets is said by name:

- `fastapi`: FastAPI, every line by a pydantic model; on disk before it answers. This promises nearly what Tailrace
  does.
- `fastapi-unsynced`: the same, answered without waiting for the disk.
- `fastapi-append`: FastAPI appends whatever comes, and does not wait for the disk.

The others do without FastAPI, on Starlette alone:

- `model`: every line by a pydantic model; on disk before it answers.
- `checked`: every line by `json.loads`, two keys must be there; on disk before it answers.
- `unsynced`: the same, answered without waiting for the disk.
- `unchecked`: appends whatever comes, and does not wait for the disk.

One program of its own, begun by live.py.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import duckdb
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

_COLUMNS = (
    "{'type': 'VARCHAR', 'event': 'VARCHAR', 'device_id': 'UUID', 'session_id': 'UUID', 'timestamp': 'BIGINT', "
    "'properties': 'JSON'}"
)


def _model() -> Callable[[bytes], Any]:
    from pydantic import BaseModel

    class Event(BaseModel):
        type: str
        device_id: UUID
        event: str | None = None
        session_id: UUID | None = None
        timestamp: int | None = None
        properties: dict[str, Any] = {}

    return Event.model_validate_json


def _checker(how: str) -> Callable[[bytes], Any] | None:
    if how in ("model", "fastapi", "fastapi-unsynced"):
        return _model()
    return None if how in ("unchecked", "fastapi-append") else _loads


def _loads(line: bytes) -> None:
    event = json.loads(line)
    if "type" not in event or "device_id" not in event:
        raise ValueError("a key is missing")


class Plain:
    """One file of lines; what it holds becomes another Parquet file at each interval."""

    def __init__(self, root: Path, how: str, interval: float) -> None:
        self.root, self.interval = root, interval
        self.check = _checker(how)
        self.synced = how in ("fastapi", "model", "checked")
        self.number = 0
        self.file = self._next()
        self.turn, self.copying, self.over = threading.Lock(), threading.Lock(), threading.Event()

    def _next(self) -> int:
        self.number += 1
        return os.open(self.root / f"{self.number}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def events(self, request: Request) -> JSONResponse:
        """As an endpoint of Starlette."""
        if request.headers.get("x-api-key") != os.environ["KEY"]:
            return JSONResponse({"error": "unauthorized", "request_id": ""}, 401)
        try:
            accepted = self.append(await request.body())
        except ValueError:
            return JSONResponse({"error": "invalid", "request_id": ""}, 400)
        return JSONResponse({"accepted": accepted, "request_id": "x"}, 202)

    def append(self, body: bytes) -> int:
        """Lines, once they were looked at; how many."""
        lines = body.split(b"\n")
        if self.check is not None:
            for line in lines:
                self.check(line)
        with self.turn:
            os.write(self.file, body + b"\n")
            if self.synced:
                os.fdatasync(self.file)
        return len(lines)

    def copy(self) -> None:
        """What was appended so far, in an order by time."""
        with self.copying:
            self._copy()

    def _copy(self) -> None:
        with self.turn:
            done = self.root / f"{self.number}.jsonl"
            os.close(self.file)
            self.file = self._next()
        if done.stat().st_size:
            out = done.with_suffix(".parquet")
            with duckdb.connect() as engine:
                engine.execute(
                    f"COPY (SELECT * FROM read_json('{done}', format = 'newline_delimited', columns = {_COLUMNS}) "
                    f"ORDER BY timestamp) TO '{out}' (FORMAT parquet)"
                )
        done.unlink()

    def copy_again_and_again(self) -> None:
        while not self.over.wait(self.interval):
            self.copy()


def _fastapi(plain: Plain) -> Any:
    """The same endpoint as FastAPI's tutorial writes one: a header that is declared, errors that are raised."""
    from fastapi import FastAPI, Header, HTTPException

    async def events(request: Request, x_api_key: Annotated[str, Header()]) -> dict[str, Any]:
        if x_api_key != os.environ["KEY"]:
            raise HTTPException(401, "unauthorized")
        try:
            accepted = plain.append(await request.body())
        except ValueError as error:
            raise HTTPException(400, "invalid") from error
        return {"accepted": accepted, "request_id": "x"}

    app = FastAPI()
    app.post("/v1/events", status_code=202)(events)
    return app


def _starlette(plain: Plain) -> Any:
    return Starlette(routes=[Route("/v1/events", plain.events, methods=["POST"])])


def main(root: Path, port: int, how: str, interval: float) -> None:
    plain = Plain(root, how, interval)
    threading.Thread(target=plain.copy_again_and_again, daemon=True).start()
    app = _fastapi(plain) if how.startswith("fastapi") else _starlette(plain)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", access_log=False))
    server.run()
    plain.over.set()
    plain.copy()


if __name__ == "__main__":
    # uvicorn ends at this signal, and raises it once more behind itself.
    signal.signal(signal.SIGTERM, lambda *_: None)
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4]))

"""Records of a service ↔ lines of snapshots: what was asked for, as it is spooled and as it is decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC

import msgspec
import pyarrow as pa

from tailrace.sources.json_paths import moment_at, value_at

MOST = 8 << 20
"Bytes of lines that are spooled together."


class _Line(msgspec.Struct):
    timestamp: int
    source: str
    entity: str
    payload: msgspec.Raw


_LINE = msgspec.json.Decoder(_Line)


def pulled_lines(
    pages: Iterable[bytes], source: str, moment: int, entity: str = "id", time_field: str = ""
) -> Iterator[bytes]:
    """Bodies of bounded size; `moment` is the time of records that have none of their own."""
    made: list[bytes] = []
    size = 0
    for page in pages:
        for text in page.split(b"\n"):
            if text.strip():
                record = msgspec.Raw(text)
                line = _Line(_time(record, time_field, moment), source, _entity(record, entity), record)
                made.append(msgspec.json.encode(line))
                size += len(made[-1])
                if size >= MOST:
                    yield b"\n".join(made)
                    made, size = [], 0
    if made:
        yield b"\n".join(made)


def pulled_rows(body: bytes | memoryview) -> dict[str, pa.Array]:
    """Columns of snapshots; a payload is the record as the service gave it."""
    lines = _LINE.decode_lines(body)
    payload = pa.array([bytes(line.payload) for line in lines], pa.binary())
    return {
        "timestamp": pa.array([line.timestamp for line in lines], pa.int64()),
        "source": pa.array([line.source for line in lines], pa.string()),
        "entity": pa.array([line.entity for line in lines], pa.string()),
        "payload": payload,
        "document": payload,
    }


def _entity(record: msgspec.Raw, path: str) -> str:
    try:
        found = value_at(record, path, str | int | float)
    except msgspec.DecodeError:
        return ""
    return str(found) if isinstance(found, str | int | float) else ""


def _time(record: msgspec.Raw, path: str, moment: int) -> int:
    found = moment_at(record, path) if path else None
    return moment if found is None else int(found.replace(tzinfo=UTC).timestamp() * 1000)

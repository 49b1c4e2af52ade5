"""FlatBuffers batches: as the SDKs lay them out, at fixed offsets, and as the library builds them, back to front."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

KEY = bytes.fromhex("000102030405060708090a0b0c0d0e0f")
EVENT, LOG, METRIC, TRACE, SNAPSHOT = 1, 2, 3, 4, 5
DEVICE, SESSION = bytes([1] * 16), bytes([2] * 16)
Fields = dict[str, Any]


def event(number: int = 0, **more: Any) -> Fields:
    """An event as a test would have it."""
    return {
        "type": 1, "timestamp": 1_700_000_000_000 + number, "device": DEVICE, "session": SESSION,
        "name": f"page_view_{number}", "payload": b'{"page": "/home"}', "service": None, **more,
    }  # fmt: skip


def log(number: int = 0, **more: Any) -> Fields:
    return {
        "type": 1, "session": SESSION, "level": 3, "timestamp": 1_700_000_000_000 + number, "source": "web-1",
        "service": "api", "payload": b'{"message": "failed"}', **more,
    }  # fmt: skip


def snapshot(number: int = 0, **more: Any) -> Fields:
    return {
        "timestamp": 1_700_000_000_000 + number, "source": "github", "entity": "user/repo",
        "payload": b'{"stars": 7}', **more,
    }  # fmt: skip


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def table(slots: Sequence[tuple[str, Any] | None], tail: int = 0) -> bytes:
    """A root offset, a vtable and its table, then strings and vectors; `slots` are (format, value), format `s` = bytes.

    As the SDKs do, everything is aligned to four bytes only, and every slot is in the vtable.
    """
    sizes = {"B": 1, "Q": 8, "s": 4, "t": 4}
    offsets: list[int] = []
    at = 4
    # References first, then numbers, single bytes last: nothing is aligned to eight.
    order = sorted((n for n, slot in enumerate(slots) if slot), key=lambda n: (slots[n][0] == "B", slots[n][0] == "Q"))  # type: ignore[index]
    places: dict[int, int] = {}
    for n in order:
        places[n] = at
        at += sizes[slots[n][0]]  # type: ignore[index]
    inline = at + (-at % 4)
    offsets = [places.get(n, 0) for n in range(len(slots))]
    vtable = struct.pack(f"<HH{len(slots)}H", 4 + 2 * len(slots), inline, *offsets)
    vtable = _padded(vtable)
    start = 4 + len(vtable)
    body = bytearray(inline)
    struct.pack_into("<i", body, 0, len(vtable))
    heap = bytearray()
    for n in order:
        kind, value = slots[n]  # type: ignore[misc]
        if kind == "t":  # a vector of tables
            struct.pack_into("<I", body, places[n], inline + len(heap) - places[n])
            heap += _vector_of_tables(value)
        elif kind == "s":
            struct.pack_into("<I", body, places[n], inline + len(heap) - places[n])
            heap += _padded(struct.pack("<I", len(value)) + value + b"\0")
        else:
            struct.pack_into(f"<{kind}", body, places[n], value)
    return struct.pack("<I", start) + vtable + bytes(body) + bytes(heap)


def _vector_of_tables(tables: Sequence[bytes]) -> bytes:
    """Each table begins with its root offset, which becomes the element of the vector."""
    count = len(tables)
    head = bytearray(4 + 4 * count)
    struct.pack_into("<I", head, 0, count)
    heap = bytearray()
    for n, whole in enumerate(tables):
        (root,) = struct.unpack_from("<I", whole)
        place = 4 + 4 * n
        struct.pack_into("<I", head, place, len(head) + len(heap) + root - 4 - place)
        heap += whole[4:]
    return bytes(head + heap)


def _text(value: str | bytes | None) -> tuple[str, bytes] | None:
    return None if value is None else ("s", value.encode() if isinstance(value, str) else value)


def event_v1(e: Fields) -> bytes:
    slots = [("B", e["type"]), ("Q", e["timestamp"]), *map(_text, (e["device"], e["session"], e["name"], e["payload"]))]
    return table(slots)


def event_v2(e: Fields) -> bytes:
    texts = map(_text, (e["service"], e["device"], e["session"], e["name"], e["payload"]))
    return table([("B", e["type"]), ("Q", e["timestamp"]), *texts])


def log_entry(e: Fields) -> bytes:
    level = None if e["level"] is None else ("B", e["level"])
    texts = map(_text, (e["source"], e["service"], e["payload"]))
    return table([("B", e["type"]), _text(e["session"]), level, ("Q", e["timestamp"]), *texts])


def snapshot_entry(e: Fields) -> bytes:
    return table([("Q", e["timestamp"]), *map(_text, (e["source"], e["entity"], e["payload"]))])


def data_of(tables: Sequence[bytes]) -> bytes:
    """EventData, LogData or SnapshotData."""
    return table([("t", tables)])


def batch(data: bytes, schema: int = EVENT, *, key: bytes = KEY, batch_id: int = 0, ip: bytes | None = None) -> bytes:
    slots = [("s", key), ("B", schema), ("B", 100), ("Q", batch_id), ("s", data), _text(ip)]
    return table(slots)


def events(rows: Sequence[Fields], layout: str = "v2", **more: Any) -> bytes:
    """A whole batch of events."""
    write = event_v2 if layout == "v2" else event_v1
    return batch(data_of([write(row) for row in rows]), EVENT, **more)


def logs(rows: Sequence[Fields], **more: Any) -> bytes:
    return batch(data_of([log_entry(row) for row in rows]), LOG, **more)


def snapshots(rows: Sequence[Fields], **more: Any) -> bytes:
    return batch(data_of([snapshot_entry(row) for row in rows]), SNAPSHOT, **more)


def framed(*messages: bytes) -> bytes:
    return b"".join(len(message).to_bytes(4) + message for message in messages)


def built_events(rows: Sequence[Fields], layout: str = "v2", **more: Any) -> bytes:
    """The same batch by the library: tables back to front, vtables shared, absent slots at the end trimmed."""
    import flatbuffers

    builder = flatbuffers.Builder(1024)
    newer = layout == "v2"
    made = []
    for e in rows:
        fields = {n: builder.CreateByteVector(e[n]) for n in ("device", "session", "payload") if e[n] is not None}
        fields |= {
            n: builder.CreateString(e[n]) for n in ("name", "service") if e[n] is not None and (newer or n == "name")
        }
        builder.StartObject(7 if newer else 6)
        builder.PrependUint8Slot(0, e["type"], 0)
        builder.PrependUint64Slot(1, e["timestamp"], 0)
        names = (
            ("service", "device", "session", "name", "payload") if newer else ("device", "session", "name", "payload")
        )
        for slot, name in enumerate(names, 2):
            builder.PrependUOffsetTRelativeSlot(slot, fields.get(name, 0), 0)
        made.append(builder.EndObject())
    builder.StartVector(4, len(made), 4)
    for offset in reversed(made):
        builder.PrependUOffsetTRelative(offset)
    vector = builder.EndVector()
    builder.StartObject(1)
    builder.PrependUOffsetTRelativeSlot(0, vector, 0)
    builder.Finish(builder.EndObject())
    return batch(bytes(builder.Output()), EVENT, **more)

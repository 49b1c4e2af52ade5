"""What docs/live.md and docs/flatbuffers.md say of lines, batches and queries holds: their examples are run."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import flatbuffers
import flatwrite as fw
import pytest
from liveserver import DEVICE, KEY, Served, serving
from livesink import NOW, TODAY, Sink, engine_over, frames, lines

from tailrace.streams import records
from tailrace.streams.decode import decode

DOCS = Path(__file__).parents[2] / "docs"
LIVE, FLAT = ((DOCS / name).read_text() for name in ("live.md", "flatbuffers.md"))


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as found:
        yield found


GOOD: dict[str, dict[str, Any]] = {
    "events": {"type": "track", "device_id": DEVICE},
    "logs": {"message": "started"},
    "snapshots": {"source": "github", "entity": "user/repo"},
}


@pytest.mark.parametrize("kind", GOOD)
def test_required_fields_are_those_of_the_table(served: Served, kind: str) -> None:
    row = next(line for line in LIVE.splitlines() if line.startswith(f"| `/v1/{kind}` |"))
    required = re.findall(r"`(\w+)`", row.split("|")[2])
    assert sorted(required) == sorted(GOOD[kind])
    assert served.post(f"/v1/{kind}", json.dumps(GOOD[kind]).encode())[0] == 202
    for name in required:
        less = {key: value for key, value in GOOD[kind].items() if key != name}
        status, answer = served.post(f"/v1/{kind}", json.dumps(less).encode())
        assert (status, name in answer["errors"][0]["error"]) == (400, True)


def test_a_line_without_a_time_has_that_of_its_arrival_and_a_batch_is_quarantined(tmp_path: Path) -> None:
    sink = Sink(tmp_path)
    body = [GOOD["events"] | more for more in ({"event": "none"}, {"event": "null", "timestamp": None},
                                              {"event": "zero", "timestamp": 0})]  # fmt: skip
    sink.send(lines("\n".join(map(json.dumps, body)).encode()))
    sink.events(fw.event(timestamp=0))
    found = {row["event_name"]: row["timestamp"] for row in sink.rows(f"{TODAY}/events.parquet")}
    assert found == {"none": NOW, "null": NOW}
    assert [row["reason"] for row in sink.quarantined()] == ["time: none"] * 2


def test_the_questions_of_the_docs_are_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On plain files, and as `tailrace query` has them."""
    sink = Sink(tmp_path)
    event = {**GOOD["events"], "event": "page_view", "timestamp": NOW, "properties": {"page": "/home", "ms": 12}}
    sink.send(lines(json.dumps(event).encode()), lines(b'{"message": "a"}', records.LOG_LINES))
    monkeypatch.chdir(tmp_path)
    (query,) = (block for block in blocks(LIVE, "text") if block.startswith("SELECT"))
    query = query.replace("00112233-4455-6677-8899-aabbccddeeff", DEVICE)
    wanted = [("page_view", "/home", uuid.UUID(DEVICE), "192.168.1.1")]
    plain = query.replace("sink_events.events", "'parquet/*/*/events.parquet'")
    with duckdb.connect() as engine:
        assert engine.execute(plain).fetchall() == wanted
        v6 = plain.replace("source_ip", "unhex('20010DB8000000000000000000000001')")
        assert engine.execute(v6).fetchall()[0][-1] == "2001:0db8:0000:0000:0000:0000:0000:0001"
    (answer,) = engine_over(replace(sink.options, name="events"), tmp_path).run(query)
    assert list(answer.rows) == wanted


def test_the_writer_of_the_docs_writes_what_is_stored(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = blocks(FLAT, "python")
    host, port = served.place("http.h")
    monkeypatch.chdir(tmp_path)
    assert f'KEY = "{KEY}"' in program
    exec(program.replace("127.0.0.1:8080", f"{host}:{port}"), {})
    assert capsys.readouterr().out.startswith('202 {"accepted":')
    rows = served.rows("events")
    assert [(row["event_name"], row["service"], row["event_type"]) for row in rows] == [
        ("page_view", None, "track"), ("order", "shop", "track"),
    ]  # fmt: skip
    assert [json.loads(row["payload"]) for row in rows] == [{"page": "/home"}, {"amount": 12}]
    # The file is the same batch, as TCP has it.
    (given,) = [record.body for record in served.records()]
    assert (tmp_path / "events.frames").read_bytes() == bytes(given)


def _schema() -> dict[str, list[tuple[str, str]]]:
    """Fields of each table, in their order, with their types."""
    (text,) = blocks(FLAT, "fbs")
    tables = re.findall(r"table (\w+) \{(.*?)\}", text, re.S)
    return {name: re.findall(r"(\w+) : ([^;]+);", body) for name, body in tables}


def _enums() -> dict[str, dict[str, int]]:
    (text,) = blocks(FLAT, "fbs")
    found = re.findall(r"enum (\w+) : ubyte \{(.*?)\}", text)
    return {name: {word: int(number) for word, number in re.findall(r"(\w+) = (\d+)", body)} for name, body in found}


def _written(builder: flatbuffers.Builder, table: str, values: dict[str, Any]) -> int:
    """A table as a compiler of the schema would write it."""
    slots: list[tuple[str, Any]] = []
    for name, kind in _schema()[table]:
        value = values.get(name)
        if value is None:
            slots.append(("absent", None))
        elif kind == "string":
            slots.append(("offset", builder.CreateString(value)))
        elif kind == "[ubyte]":
            slots.append(("offset", builder.CreateByteVector(value)))
        elif kind.startswith("["):
            builder.StartVector(4, len(value), 4)
            for place in reversed(value):
                builder.PrependUOffsetTRelative(place)
            slots.append(("offset", builder.EndVector()))
        else:
            slots.append((kind, value if isinstance(value, int) else _enums()[kind][value]))
    builder.StartObject(len(slots))
    for slot, (kind, value) in enumerate(slots):
        if kind == "offset":
            builder.PrependUOffsetTRelativeSlot(slot, value, 0)
        elif kind == "ulong":
            builder.PrependUint64Slot(slot, value, 0)
        elif kind != "absent":
            builder.PrependUint8Slot(slot, value, 255)
    return int(builder.EndObject())


def _batch(root: str, field: str, table: str, given: list[dict[str, Any]], **more: Any) -> bytes:
    inner = flatbuffers.Builder()
    inner.Finish(_written(inner, root, {field: [_written(inner, table, row) for row in given]}))
    outer = flatbuffers.Builder()
    told = {"api_key": fw.KEY, "version": 100, "data": bytes(inner.Output()), **more}
    outer.Finish(_written(outer, "Batch", told))
    return bytes(outer.Output())


def test_the_schema_of_the_docs_is_what_is_read() -> None:
    event = {"kind": "Identify", "timestamp": NOW, "device_id": fw.DEVICE, "session_id": fw.SESSION, "name": "n",
             "payload": b"{}"}  # fmt: skip
    log = {"kind": "Enrich", "session_id": fw.SESSION, "level": "Notice", "timestamp": NOW, "source": "web-1",
           "service": "api", "payload": b"{}"}  # fmt: skip
    snapshot = {"timestamp": NOW, "source": "github", "entity": "u/r", "payload": b'{"a":1}'}
    given = (
        _batch("EventData", "events", "Event", [event | {"service": "s"}], rows="Events"),
        _batch("EventData", "events", "OldEvent", [event], rows="Events"),
        _batch("LogData", "logs", "LogEntry", [log], rows="Logs"),
        _batch("SnapshotData", "snapshots", "Snapshot", [snapshot], rows="Snapshots"),
    )
    found = decode([frames(*given)])
    assert not found.refused
    newer, older = found.table("events").to_pylist()
    assert (newer.pop("service"), older.pop("service")) == ("s", None)
    assert newer == older
    assert (newer["event_type"], newer["event_name"], newer["device_id"], newer["session_id"], newer["payload"]) == (
        "identify", "n", fw.DEVICE, fw.SESSION, b"{}",
    )  # fmt: skip
    (told,) = found.table("logs").to_pylist()
    assert [told[name] for name in ("event_type", "level", "source", "service", "session_id", "timestamp")] == [
        "enrich", "notice", "web-1", "api", fw.SESSION, NOW,
    ]  # fmt: skip
    (told,) = found.table("snapshots").to_pylist()
    assert [told[name] for name in ("source", "entity", "payload", "timestamp")] == ["github", "u/r", b'{"a":1}', NOW]


def test_the_words_of_the_docs_are_those_that_are_stored() -> None:
    """Of each level and kind the number that the schema gives it."""
    enums = _enums()
    entries = [{"timestamp": NOW, "level": level, "kind": "Log", "payload": b"{}"} for level in enums["Level"]]
    events = [{"timestamp": NOW, "kind": kind, "payload": b"{}"} for kind in enums["EventKind"]]
    found = decode([frames(
        _batch("LogData", "logs", "LogEntry", entries, rows="Logs"),
        _batch("EventData", "events", "Event", events, rows="Events"),
    )])  # fmt: skip
    assert found.table("logs")["level"].to_pylist() == [level.lower() for level in enums["Level"]]
    assert found.table("events")["event_type"].to_pylist() == [kind.lower() for kind in enums["EventKind"]]

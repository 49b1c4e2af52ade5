"""Parquet delivery and XML events as other tools read them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from conformance import PYTHON, compare, measure
from world import World

EVENTS = "otel-contrib/pkg/stanza/operator/input/windows/testdata"
EVENT_NAMESPACE = "{http://schemas.microsoft.com/win/2004/08/events/event}"
GATEWAY = "clo-aws-solutions/microbatch/test/data"


def event(path: Path) -> dict[str, Any]:
    """What the standard library finds in an event."""
    root = ElementTree.parse(path).getroot()
    system = root.find(f"{EVENT_NAMESPACE}System")
    assert system is not None
    told = {part.tag.removeprefix(EVENT_NAMESPACE): part for part in system}
    data = [d for d in root.iter(f"{EVENT_NAMESPACE}Data") if d.get("Name")]
    found = {
        "event_id": int(told["EventID"].text or ""),
        "channel": told["Channel"].text,
        "computer": told["Computer"].text,
        "level": told["Level"].text,
        "record_id": int(told["EventRecordID"].text or ""),
        "keywords": told["Keywords"].text,
        "provider_name": told["Provider"].get("Name"),
        "process_id": int(told["Execution"].get("ProcessID") or ""),
        "user_sid": told["Security"].get("UserID"),
        "strftime(time_created, '%Y-%m-%dT%H:%M:%S')": (told["TimeCreated"].get("SystemTime") or "")[:19],
        "system ->> '$.Correlation.\"@ActivityID\"'": told["Correlation"].get("ActivityID"),
        "message": root.findtext(f"{EVENT_NAMESPACE}RenderingInfo/{EVENT_NAMESPACE}Message"),
    }
    return found | {f"event_data ->> '$.{d.get('Name')}'": d.text for d in data}


def test_windows_events_in_xml(world: World, real_logs: Path) -> None:
    told = [event(path) for path in sorted((real_logs / EVENTS).glob("*.xml"))]
    source = {"format": "format.windows_event_log.xml"}
    measured = measure(
        world, "windows_event_log", real_logs, f"{EVENTS}/*.xml", expected=told, source=source, reader=PYTHON
    )
    measured.check()
    assert (measured.stored, measured.equal) == (6, measured.compared)
    assert measured.compared >= 100


def test_any_parquet_becomes_a_table(world: World, real_logs: Path) -> None:
    """Every column of the file is one of the table, with the values that Arrow reads."""
    path = real_logs / GATEWAY / "apigateway1.parquet"
    world.write_config(
        f"""
        table "gateway" {{
          format     = format.parquet.default
          map_fields = ["*"]
          column "tp_timestamp" {{ source = "time" }}
        }}
        partition "gateway" "p" {{ source "file" {{ paths = ["{path}"] }} }}
        """
    )
    (report,) = world.collect()
    rows = pq.read_table(path).to_pylist()
    expected = [{"api_id": row["api_id"], "status_code": row["status_code"], "stage": row["stage"],
                 "tp_timestamp": row["time"], "response_length": row["response_length"],
                 "identity ->> 'caller'": row["identity"]["caller"]} for row in rows]  # fmt: skip
    measured = compare(world, report, "gateway", f"{GATEWAY}/apigateway1.parquet", expected=expected, reader=PYTHON)
    measured.check()
    assert measured.stored == len(rows)

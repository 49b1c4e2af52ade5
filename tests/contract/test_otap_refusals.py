"""Logs in JSON that are none: each is kept apart with a reason that names the field, and the others are imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tailrace.lake.place import LocalPlace
from tailrace.windows.transfer import REFUSED, import_files

NOW = "1700000000000000000"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"timeUnixNano": "x"}, "timeUnixNano: 'x' is no whole number of 64 bits without a sign"),
        ({"timeUnixNano": 1.5}, "timeUnixNano: 1.5 is no whole number of 64 bits without a sign"),
        ({"flags": 2**32}, "flags: 4294967296 is no whole number of 32 bits without a sign"),
        ({"droppedAttributesCount": -1}, "droppedAttributesCount: -1 is no whole number of 32 bits without a sign"),
        ({"severityNumber": "loud"}, "severityNumber: 'loud' is no whole number"),
        ({"severityNumber": "SEVERITY_LOUD"}, "severityNumber: 'SEVERITY_LOUD' is no whole number"),
        ({"severityText": 7}, "severityText: 7 is no text"),
        ({"traceId": "zz"}, "traceId: 'zz' is no id of 16 bytes"),
        ({"spanId": 5}, "spanId: 5 is no id of 8 bytes"),
        ({"body": {"bytesValue": "a"}}, "bytesValue is no base64"),
        ({"body": {"intValue": "many"}}, "'many' is no whole number"),
        ({"attributes": 5}, "attributes are no list of objects"),
        ({"attributes": ["a"]}, "attributes are no list of objects"),
    ],
)
def test_a_log_that_is_none(tmp_path: Path, record: dict[str, Any], reason: str) -> None:
    good = {"timeUnixNano": NOW, "body": {"stringValue": "good"}, "severityNumber": "SEVERITY_NUMBER_INFO"}
    given = tmp_path / "logs.json"
    given.write_text(json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [good, record, good]}]}]}))
    done = import_files([str(given)], LocalPlace(str(tmp_path / "out")))
    assert (done.logs, done.reasons) == (2, {f"otlp: {reason}": 1})
    (kept,) = (tmp_path / "out" / REFUSED).iterdir()
    assert reason in kept.read_text()
    assert sum(pq.read_metadata(path).num_rows for path in (tmp_path / "out" / "logs").rglob("*.parquet")) == 2

"""Logs in JSON that are none: each is kept apart with a reason that names the field, and the others are imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from tailrace.cli.main import cli
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
        ({"body": {"intValue": "1_000"}}, "'1_000' is no whole number"),
        ({"body": {"intValue": True}}, "True is no whole number"),
        ({"body": {"doubleValue": "1_0.5"}}, "'1_0.5' is no number"),
        ({"timeUnixNano": True}, "timeUnixNano: True is no whole number of 64 bits without a sign"),
        ({"severityText": ["x" * 500]}, f"severityText: ['{'x' * 84} … {'x' * 37}'] is no text"),
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


def test_addresses_of_schemas_resources_and_scopes_that_are_none(tmp_path: Path) -> None:
    given, scopes = tmp_path / "logs.json", {"schemaUrl": 6, "scope": "x", "logRecords": [{"timeUnixNano": NOW}]}
    given.write_text(json.dumps({"resourceLogs": [{"resource": [], "scopeLogs": [scopes]}]}))
    done = import_files([str(given)], LocalPlace(str(tmp_path / "out")))
    assert done.logs == 1
    assert done.reasons == {
        "otlp: schemaUrl: 6 is no text": 1, "otlp: a resource or scope is no object": 2,
    }  # fmt: skip


def test_many_reasons_are_counted_and_few_are_shown(tmp_path: Path) -> None:
    given = tmp_path / "logs.json"
    records = [{"timeUnixNano": NOW, "traceId": f"{n}"} for n in range(30)]
    given.write_text(json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}))
    done = CliRunner().invoke(
        cli, ["window", "import", str(given), "--to", str(tmp_path / "out"), "--max-errors", "50"]
    )
    assert done.exit_code == 0
    shown = [line for line in done.stderr.splitlines() if line.startswith("warning:")]
    assert len(shown) == 11
    assert shown[-1] == f"warning: refused 20: 20 other reasons, see {tmp_path / 'out' / REFUSED}"

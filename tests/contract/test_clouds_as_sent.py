"""Records of other clouds that readers are known to stumble over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from world import World


def stored(world: World, table: str, folder: Path, *records: dict[str, Any]) -> tuple[int, int]:
    """Rows and quarantined records of a file with one record per line."""
    folder.mkdir(exist_ok=True)
    (folder / "log.json").write_text("".join(json.dumps(record) + "\n" for record in records))
    counts = world.collect_one(table, str(folder)).counts
    return counts.stored, counts.quarantined


TIMED = [
    ("azure_activity_log", {"time": "2024-05-01T10:00:00Z"}),
    ("github_audit_log", {"@timestamp": 1714557600000}),
    ("gcp_audit_log", {"timestamp": "2024-05-01T10:00:00Z"}),
    ("kubernetes_audit_log", {"stageTimestamp": "2024-05-01T10:00:00Z"}),
    ("okta_system_log", {"published": "2024-05-01T10:00:00Z"}),
    ("m365_audit_log", {"CreationTime": "2024-05-01T10:00:00"}),
    ("segment_event", {"timestamp": "2024-05-01T10:00:00Z"}),
]


@pytest.mark.parametrize(("table", "time"), TIMED)
def test_a_record_without_time_harms_no_other(table: str, time: dict[str, Any], world: World, tmp_path: Path) -> None:
    assert stored(world, table, tmp_path / "in", {"x": 1}, time, time | {"something": "new"}) == (2, 1)
    column = "additional_fields" if table in ("github_audit_log", "m365_audit_log") else "tp_extra"
    column = "additional_properties" if table == "okta_system_log" else column
    assert world.query(f"select count(*) from {table} where {column} ->> 'something' = 'new'") == [(1,)]


def test_google_entries_of_several_lines_and_their_addresses(world: World, tmp_path: Path) -> None:
    request = {"remoteIp": "203.0.113.9", "serverIp": "192.0.2.4", "requestSize": "10"}
    entry = {"timestamp": "2024-05-01T10:00:00Z", "httpRequest": request, "protoPayload": {"methodName": "m"}}
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "log.json").write_text(json.dumps(entry, indent=2) + "\n" + json.dumps(entry))
    assert world.collect_one("gcp_audit_log", str(tmp_path / "in")).counts.stored == 2
    ((remote, local, to),) = set(
        world.query("select http_request.remote_ip, http_request.local_ip, tp_destination_ip from gcp_audit_log")
    )
    assert (remote, local, to) == ("203.0.113.9", "192.0.2.4", "192.0.2.4")


def test_azure_properties_that_are_no_texts_are_kept(world: World, tmp_path: Path) -> None:
    record = {
        "time": "2024-05-01T10:00:00Z",
        "operationName": "o",
        "properties": {"count": 3, "list": [1], "ok": True},
        "identity": {"claims": {"exp": 1714557600, "name": "Jane"}},
    }
    assert stored(world, "azure_activity_log", tmp_path / "in", record) == (1, 0)
    ((properties, expires, caller, data_id),) = world.query(
        "select properties, claims ->> 'exp', caller, event_data_id from azure_activity_log"
    )
    assert json.loads(properties) == record["properties"]
    assert (expires, caller, data_id) == ("1714557600", "Jane", None)


def test_money_keeps_its_digits(world: World, tmp_path: Path) -> None:
    record = {"usage_start_time": "2024-05-01 10:00:00 UTC", "cost": 123456.123456}
    assert stored(world, "gcp_billing_report", tmp_path / "in", record) == (1, 0)
    assert world.query("select cost from gcp_billing_report") == [(123456.123456,)]

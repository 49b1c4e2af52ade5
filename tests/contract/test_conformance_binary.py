"""Parquet delivery and XML events as other tools read them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from conformance import Measured
from expectedyaml import log_records
from world import World

FLOW = "otel-contrib/awslogsencodingextension/internal/unmarshaler/vpc-flow-log/testdata/valid_flow_log.parquet"
FLOW_FIELDS = {
    "aws.vpc.flow.log.version": "version",
    "network.interface.name": "interface_id",
    "source.port": "src_port",
    "destination.port": "dst_port",
    "aws.vpc.flow.packets": "packets",
    "aws.vpc.flow.bytes": "bytes",
    "aws.vpc.flow.start": "epoch(start_time)::bigint",
    "aws.vpc.flow.action": "action",
    "aws.vpc.flow.status": "log_status",
    "aws.vpc.id": "vpc_id",
    "aws.vpc.subnet.id": "subnet_id",
    "host.id": "instance_id",
    "network.tcp.flags": "tcp_flags::varchar",
    "aws.az.id": "az_id",
    "cloud.account.id": "account_id",
    "cloud.region": "region",
}
EVENTS = "otel-contrib/pkg/stanza/operator/input/windows/testdata"
EVENT_NAMESPACE = "{http://schemas.microsoft.com/win/2004/08/events/event}"
GATEWAY = "clo-aws-solutions/microbatch/test/data"


def compared(world: World, table: str, dataset: str, report: Any, expected: list[dict[str, Any]]) -> Measured:
    """The rows that were stored, field by field."""
    fields = sorted({field for record in expected for field in record})
    rows = world.query(
        f"select {', '.join(f'({field})' for field in fields)} from {table} order by tp_source_location, tp_id"
    )
    assert len(rows) == len(expected)
    pairs = [
        (field, found, record[field])
        for row, record in zip(rows, expected, strict=True)
        for field, found in zip(fields, row, strict=True)
        if field in record
    ]
    wrong = tuple(f"{field} = {found!r}, expected {told!r}" for field, found, told in pairs if found != told)
    counts = report.counts
    return Measured(
        table, dataset, counts.received, counts.stored, counts.quarantined, len(pairs), len(pairs) - len(wrong),
        differing=wrong[:10],
    )  # fmt: skip


@pytest.mark.parametrize("fmt", ["format.parquet.default", "format.aws_vpc_flow_log.parquet"])
def test_flow_logs_delivered_as_parquet(fmt: str, world: World, real_logs: Path) -> None:
    measured = flow(world, real_logs, fmt)
    measured.check()
    assert (measured.stored, measured.equal) == (4, measured.compared)
    assert measured.compared >= 50


def flow(world: World, data: Path, fmt: str = "format.parquet.default") -> Measured:
    told = log_records((data / FLOW).with_name("valid_flow_log_parquet_expected.yaml"))
    expected = [{column: record[name] for name, column in FLOW_FIELDS.items() if name in record} for record in told]
    report = world.collect_one("aws_vpc_flow_log", str(data / FLOW), format=fmt)
    return compared(world, "aws_vpc_flow_log", FLOW, report, expected)


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


def events(world: World, data: Path) -> Measured:
    paths = sorted((data / EVENTS).glob("*.xml"))
    report = world.collect_one("windows_event_log", str(data / EVENTS / "*.xml"), format="format.windows_event_log.xml")
    return compared(world, "windows_event_log", EVENTS, report, [event(path) for path in paths])


def test_windows_events_in_xml(world: World, real_logs: Path) -> None:
    measured = events(world, real_logs)
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
    assert (report.counts.stored, report.counts.quarantined) == (len(rows), 0)
    expected = [{"api_id": row["api_id"], "status_code": row["status_code"], "stage": row["stage"],
                 "tp_timestamp": row["time"], "response_length": row["response_length"],
                 "identity ->> 'caller'": row["identity"]["caller"]} for row in rows]  # fmt: skip
    compared(world, "gateway", GATEWAY, report, expected).check()


def measured(world: World, data: Path) -> list[Measured]:
    """Rows for the report."""
    return [flow(world, data), events(world, data)]

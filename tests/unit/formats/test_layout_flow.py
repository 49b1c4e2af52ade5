from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from layoutread import read

from tailrace.tables.aws_vpc_flow_log import TABLE as VPC

FLOW = b"2 123 eni-1 10.0.0.1 10.0.0.2 443 50000 6 10 4000 1600000000 1600000060 ACCEPT OK\n"
NODATA = b"2 123 eni-1 - - - - - - - 1600000000 1600000060 - NODATA\n"


def test_vpc() -> None:
    flow, nodata = read(VPC, FLOW + NODATA).rows
    assert flow == {
        "version": 2,
        "account_id": "123",
        "interface_id": "eni-1",
        "src_addr": "10.0.0.1",
        "dst_addr": "10.0.0.2",
        "src_port": 443,
        "dst_port": 50000,
        "protocol": 6,
        "packets": 10,
        "bytes": 4000,
        "start_time": datetime(2020, 9, 13, 12, 26, 40),
        "end_time": datetime(2020, 9, 13, 12, 27, 40),
        "action": "ACCEPT",
        "log_status": "OK",
        "at": 0,
    }
    assert nodata.keys() == {
        "version",
        "account_id",
        "interface_id",
        "start_time",
        "end_time",
        "log_status",
        "at",
    }


def test_headers_rule_until_the_next_one() -> None:
    header = b"version srcaddr vpc-id new-field\n"
    data = FLOW + header + b"5 1.1.1.1 vpc-1 x\n" + header + b"5 1.1.1.2 - -\n" + header.replace(b" new-field", b"")
    data += b"5 1.1.1.3 vpc-3\n"
    result = read(VPC, data)
    assert [(r["src_addr"], r.get("vpc_id"), r.get("extra")) for r in result.rows] == [
        ("10.0.0.1", None, None),
        ("1.1.1.1", "vpc-1", {"new_field": "x"}),
        ("1.1.1.2", None, None),
        ("1.1.1.3", "vpc-3", None),
    ]
    assert result.skipped == 3


def test_lines_without_a_header_have_all_fields_of_a_version_or_of_a_transit_gateway() -> None:
    fifth = b"vpc-1 subnet-1 i-1 18 IPv4 10.0.0.1 10.0.0.2 eu-west-1 euw1-az1 - - S3 - egress 8"
    tasks = b"arn:c c arn:i i d1 d2 shop arn:def arn:task task"
    transit = b"6 TransitGateway 123 tgw-1 att-1 123 456 vpc-1 vpc-2 sub-1 sub-2 eni-1 eni-2 az-1 az-2 att-2 10.0.0.1 "
    transit += b"10.0.0.2 443 50000 6 10 4000 1600000000 1600000060 OK IPv4 1 2 3 4 18 eu-west-1 ingress - -"
    flow = FLOW.strip()
    data = b"\n".join([flow + b" " + fifth, b" ".join([flow, fifth, tasks]), b" ".join([flow, fifth, tasks, b"BPA"])])
    result = read(VPC, data + b"\n" + transit + b"\n")
    assert [row.get("extra") for row in result.rows] == [None] * 4
    assert [(row.get("vpc_id"), row.get("traffic_path")) for row in result.rows[:3]] == [("vpc-1", 8)] * 3
    assert [(r.get("ecs_task_definition_arn"), r.get("reject_reason")) for r in result.rows[:3]] == [
        (None, None), ("arn:def", None), ("arn:def", "BPA")
    ]  # fmt: skip
    last = result.rows[3]
    assert (last["tgw_id"], last["dst_addr"], last["packets_lost_ttl_expired"]) == ("tgw-1", "10.0.0.2", 4)
    assert last["start_time"] == datetime(2020, 9, 13, 12, 26, 40)


def test_another_list_of_fields_is_no_surplus() -> None:
    more = FLOW.replace(b" OK", b" OK vpc-1 subnet-1")
    other = b"3 vpc-1 subnet-1 i-1 eni-1 123 IPv4 10.0.0.1 10.0.0.2 43416 5001 10.0.0.1 10.0.0.2 6 568 ACCEPT OK\n"
    result = read(VPC, more + other)
    assert [row["extra"] for row in result.rows] == [{"tp_rest": "vpc-1 subnet-1"}]
    assert [bad.reason for bad in result.bad] == ["layout: no match"]


def test_vpc_samples(real_logs: Path) -> None:
    samples = json.loads((real_logs / "opensearch-catalog/observability/amazon_vpc_flow/data/sample.json").read_text())
    rows = read(VPC, "\n".join(s["body"] for s in samples).encode()).rows
    assert len(rows) == len(samples) == 22
    keys = [c.name for c in VPC.columns[:14]]
    for row, sample in zip(rows, samples, strict=True):
        want = dict(zip(keys, sample["body"].split(), strict=True))
        for key in ("start_time", "end_time"):
            want[key] = datetime.fromtimestamp(int(want[key]), UTC).replace(tzinfo=None)
        assert {k: str(v) for k, v in row.items() if k != "at"} == {k: str(v) for k, v in want.items() if v != "-"}


def test_vpc_files_with_headers(real_logs: Path) -> None:
    folder = real_logs / "otel-contrib/awslogsencodingextension/internal/unmarshaler/vpc-flow-log/testdata"
    multi = read(VPC, (folder / "valid_vpc_flow_log_multi.log").read_bytes())
    assert [(r["src_port"], r["action"]) for r in multi.rows] == [(20641, "ACCEPT"), (49761, "REJECT")]
    assert multi.skipped == 1
    (ecs,) = read(VPC, (folder / "valid_vpc_flow_log_ecs.log").read_bytes()).rows
    assert ecs["ecs_cluster_name"] == "my-cluster"
    (tgw,) = read(VPC, (folder / "valid_tgw_flow_log.log").read_bytes()).rows
    assert tgw["tgw_id"] == "tgw-0abc12345def67890"
    assert tgw["start_time"] == datetime(2023, 11, 14, 22, 13, 20)
    few = read(VPC, (folder / "vpc_flow_log_too_few_fields.log").read_bytes())
    assert (len(few.rows), len(few.bad)) == (0, 1)
    (many,) = read(VPC, (folder / "vpc_flow_log_too_many_fields.log").read_bytes()).rows
    assert many["extra"] == {"tp_rest": "one-too-many"}

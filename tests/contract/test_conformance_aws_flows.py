"""Flow logs of VPCs, transit gateways and ECS tasks as OpenTelemetry reads them: lines, subscriptions, Parquet."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance import Expected, compare, measure
from expectedyaml import log_records, named
from world import World

FLOW = "aws_vpc_flow_log"
DATA = "otel-contrib/awslogsencodingextension/internal/unmarshaler/vpc-flow-log/testdata"
FIELDS = {
    "timeUnixNano": "epoch_ns(coalesce(end_time, start_time))",
    "cloud.account.id": "account_id",
    "cloud.region": "region",
    "aws.vpc.flow.log.version": "version",
    "aws.vpc.flow.action": "action",
    "aws.vpc.flow.bytes": "bytes",
    "aws.vpc.flow.packets": "packets",
    "aws.vpc.flow.start": "epoch(start_time)::bigint",
    "aws.vpc.flow.status": "log_status",
    "aws.vpc.flow.traffic_path": "traffic_path::varchar",
    "network.tcp.flags": "tcp_flags::varchar",
    "aws.vpc.id": "vpc_id",
    "aws.vpc.subnet.id": "subnet_id",
    "aws.az.id": "az_id",
    "host.id": "instance_id",
    "network.interface.name": "interface_id",
    "network.type": "lower(type)",
    "network.io.direction": "case flow_direction when 'ingress' then 'receive' when 'egress' then 'transmit' end",
    "source.address": "coalesce(pkt_src_addr, src_addr)",
    "destination.address": "coalesce(pkt_dst_addr, dst_addr)",
    "source.port": "src_port",
    "destination.port": "dst_port",
    **{f"aws.ecs.{name}": "ecs_" + name.replace(".", "_") for name in (
        "cluster.arn", "cluster.name", "container.id", "container.instance.arn", "container.instance.id",
        "second.container.id", "service.name", "task.arn", "task.definition.arn", "task.id",
    )},
    "aws.tgw.id": "tgw_id",
    "aws.tgw.attachment.id": "tgw_attachment_id",
    "aws.tgw.attachment.pair.id": "tgw_pair_attachment_id",
    "aws.tgw.source.az.id": "tgw_src_az_id",
    "aws.tgw.destination.az.id": "tgw_dst_az_id",
    "aws.tgw.source.eni.id": "tgw_src_eni",
    "aws.tgw.destination.eni.id": "tgw_dst_eni",
    "aws.tgw.source.vpc.id": "tgw_src_vpc_id",
    "aws.tgw.destination.vpc.id": "tgw_dst_vpc_id",
    "aws.tgw.source.vpc.subnet.id": "tgw_src_subnet_id",
    "aws.tgw.destination.vpc.subnet.id": "tgw_dst_subnet_id",
    "aws.vpc.flow.packets_lost_no_route": "packets_lost_no_route",
    "aws.vpc.flow.packets_lost_blackhole": "packets_lost_blackhole",
    "aws.vpc.flow.packets_lost_mtu_exceeded": "packets_lost_mtu_exceeded",
    "aws.vpc.flow.packets_lost_ttl_expired": "packets_lost_ttl_expired",
}  # fmt: skip
GATEWAY = (
    "version resource-type account-id tgw-id tgw-attachment-id tgw-src-vpc-id tgw-dst-vpc-id tgw-src-subnet-id "
    "tgw-dst-subnet-id tgw-src-eni tgw-dst-eni tgw-src-az-id tgw-dst-az-id srcaddr dstaddr srcport dstport protocol "
    "packets bytes start end log-status"
)


def answers(data: Path, name: str) -> Expected:
    found = list(named(log_records(data / DATA / name), FIELDS))
    # The other tool has a number of lines, and a text of the same number in Parquet.
    return [row | {"traffic_path": int(row["traffic_path"])} if "traffic_path" in row else row for row in found]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("valid_vpc_flow_log_single.log", "valid_vpc_flow_log_single_expected.yaml"),
        ("valid_vpc_flow_log_multi.log", "valid_vpc_flow_log_expected_multi.yaml"),
        ("valid_vpc_flow_log_ecs.log", "valid_vpc_flow_log_ecs_expected.yaml"),
        ("valid_tgw_flow_log.log", "valid_tgw_flow_log_expected.yaml"),
        ("valid_vpc_flow_cw.json", "valid_vpc_flow_cw_expected.yaml"),
    ],
)
def test_flows_as_opentelemetry_reads_them(given: str, expected: str, real_logs: Path, world: World) -> None:
    wanted = answers(real_logs, expected)
    measured = measure(world, FLOW, real_logs, f"{DATA}/{given}", expected=wanted)
    measured.check()
    assert measured.compared >= 6 * len(wanted)
    assert not measured.differing


@pytest.mark.parametrize("fmt", ["format.parquet.default", "format.aws_vpc_flow_log.parquet"])
def test_flows_in_parquet(fmt: str, real_logs: Path, world: World) -> None:
    wanted = answers(real_logs, "valid_flow_log_parquet_expected.yaml")
    source = {"format": fmt}
    measured = measure(world, FLOW, real_logs, f"{DATA}/valid_flow_log.parquet", expected=wanted, source=source)
    measured.check()
    assert not measured.differing
    assert measured.compared >= 50


def test_a_gateways_own_fields_in_a_subscription(real_logs: Path, world: World) -> None:
    wanted = answers(real_logs, "valid_tgw_flow_cw_expected.yaml")
    world.write_config(
        f'format "{FLOW}" "gateway" {{ layout = "{GATEWAY}" }}\n'
        f'partition "{FLOW}" "p" {{\n source "file" {{\n paths = ["{real_logs / DATA / "valid_tgw_flow_cw.json"}"]\n'
        f" format = format.{FLOW}.gateway\n}}\n}}"
    )
    (report,) = world.collect()
    measured = compare(world, report, FLOW, f"{DATA}/valid_tgw_flow_cw.json", expected=wanted, asked="layout")
    measured.check()
    assert not measured.differing


def test_what_is_no_document_of_a_subscription_is_refused(world: World, tmp_path: Path) -> None:
    line = "2 1 eni-1 10.0.0.1 10.0.0.2 1 2 6 1 2 1700000000 1700000060 ACCEPT OK"
    document = (
        f'{{"messageType":"DATA_MESSAGE","logEvents":[{{"id":"1","message":"{line}"}},{{"id":"2","message":"x"}}]}}'
    )
    (tmp_path / "cw.json").write_text(f"{document}\n{document[:40]}\n{document}")
    report = world.collect_one(FLOW, str(tmp_path / "cw.json"))
    assert (report.counts.stored, report.counts.quarantined) == (2, 3)
    assert world.query(f"select distinct interface_id, bytes from {FLOW}") == [("eni-1", 2)]

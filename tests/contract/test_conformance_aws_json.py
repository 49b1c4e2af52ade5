"""AWS logs in JSON as other tools read them: WAF, Network Firewall and findings."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from conformance import PYTHON, Expected, measure
from expectedyaml import log_records, named
from world import World

OTEL = "otel-contrib/awslogsencodingextension/internal/unmarshaler"
WAF_DATA, FIREWALL_DATA = f"{OTEL}/waf/testdata", f"{OTEL}/network-firewall-log/testdata"
TIME = "epoch_ns(tp_timestamp)"
HEADERS = """from_json(http_request.headers, '[{"name":"VARCHAR","value":"VARCHAR"}]')"""
WAF_FIELDS = {
    "timeUnixNano": TIME,
    "cloud.resource_id": "web_acl_id",
    "cloud.account.id": "split_part(web_acl_id, ':', 5)",
    "network.protocol.version": "split_part(http_request.httpVersion, '/', 2)",
    "aws.waf.terminating_rule.type": "terminating_rule_type",
    "aws.waf.terminating_rule.id": "terminating_rule_id",
    "aws.waf.action": "action",
    "aws.waf.source.id": "http_source_id",
    "aws.waf.source.name": "http_source_name",
    "client.address": "http_request.clientIp",
    "server.address": "http_request.host",
    "url.path": "http_request.uri",
    "http.request.method": "http_request.httpMethod",
    "aws.request_id": "http_request.requestId",
    "url.scheme": "http_request.scheme",
    "geo.country.iso_code": "http_request.country",
    "tls.client.ja3": "ja3_fingerprint",
    "tls.client.ja4": "ja4_fingerprint",
    **{
        f"http.request.header.{name}": f"list_filter({HEADERS}, lambda h: h.name = '{name}')[1].value"
        for name in ("host", "user-agent", "accept", "referer", "te", "priority", "dnt")
    },
}
NS = "aws.networkfirewall"
FIREWALL_FIELDS = {
    "timeUnixNano": "epoch_ns(event_timestamp)",
    f"{NS}.name": "firewall_name",
    "cloud.availability_zone": "availability_zone",
    f"{NS}.event.type": "event_type",
    f"{NS}.flow_id": "flow_id",
    "source.address": "src_ip",
    "source.port": "src_port",
    "destination.address": "dest_ip",
    "destination.port": "dest_port",
    "network.transport": "proto",
    **{f"{NS}.alert.{name}": f"alert.{name}" for name in ("action", "signature", "signature_id", "rev", "gid")},
    **{f"{NS}.alert.{name}": f"alert.{name}" for name in ("category", "severity")},
    **{
        f"{NS}.alert.metadata.{name}": f"json_extract_string(alert.metadata, '$.{name}[*]')"
        for name in ("affected_product", "malware_family", "created_at")
    },
    f"{NS}.netflow.packets": "netflow.pkts",
    f"{NS}.netflow.bytes": "netflow.bytes",
    f"{NS}.netflow.age": "netflow.age",
    f"{NS}.netflow.min_ttl": "netflow.min_ttl",
    f"{NS}.netflow.max_ttl": "netflow.max_ttl",
    f"{NS}.netflow.transaction.count": "netflow.tx_cnt",
    f"{NS}.tls.error.message": "tls_error ->> 'error_message'",
    f"{NS}.tls.revocation_check.action": "revocation_check ->> 'action'",
    f"{NS}.tls.revocation_check.status": "revocation_check ->> 'status'",
    "tls.client.issuer": "tls ->> 'issuer'",
    "tls.client.subject": "tls ->> 'subject'",
    "tls.resumed": "(tls ->> 'session_resumed')::boolean",
    "url.domain": "http ->> 'hostname'",
    "url.path": "http ->> 'url'",
    "user_agent.original": "http ->> 'http_user_agent'",
}
WAF, FIREWALL = "aws_waf_traffic_log", "aws_network_firewall_log"
GUARDDUTY, SECURITYHUB = "aws_guardduty_finding", "aws_securityhub_finding"
EVENTS = "custodian-cwe-events/cwe"
FIREWALL_FILES = ("alert_log", "alert_with_metadata_log", "flow_log", "http_log", "tls_log", "tls_with_revocation_log")
EXPECTED = [
    (WAF, f"{WAF_DATA}/valid_log.json", WAF_FIELDS),
    *((FIREWALL, f"{FIREWALL_DATA}/{name}.json", FIREWALL_FIELDS) for name in FIREWALL_FILES),
]
COUNTED = [
    (WAF, f"{WAF_DATA}/valid_log_multi.json", 2, 0),
    (WAF, f"{WAF_DATA}/missing_webaclid_log.json", 0, 1),
    (WAF, "lambda-promtail-testdata/waflog.log.gz", 1, 0),
    (FIREWALL, f"{FIREWALL_DATA}/stream/alert_log_multi.json", 2, 0),
    (FIREWALL, f"{FIREWALL_DATA}/missing_firewall_name.json", 0, 1),
    (SECURITYHUB, f"{EVENTS}/event-securityhub-*action.json", 2, 0),
    (SECURITYHUB, f"{EVENTS}/event-securityhub-lambda-cross.json", 1, 0),
    # Results of an insight are no findings.
    (SECURITYHUB, f"{EVENTS}/event-securityhub-insight-2.json", 0, 1),
]


@pytest.mark.parametrize(("table", "dataset", "fields"), EXPECTED)
def test_as_opentelemetry_reads_it(
    table: str, dataset: str, fields: dict[str, str], real_logs: Path, world: World
) -> None:
    answers = log_records((real_logs / dataset).with_name(Path(dataset).stem + "_expected.yaml"))
    measured = measure(world, table, real_logs, dataset, expected=list(named(answers, fields)))
    measured.check()
    assert measured.compared >= 10
    assert not measured.differing


@pytest.mark.parametrize(("table", "dataset", "stored", "bad"), COUNTED)
def test_exactly_the_bad_records_are_refused(
    table: str, dataset: str, stored: int, bad: int, real_logs: Path, world: World
) -> None:
    measured = measure(world, table, real_logs, dataset, bad=bad)
    measured.check()
    assert (measured.stored, measured.quarantined) == (stored, bad)


def lines_of(path: Path) -> Iterator[Any]:
    data = path.read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return (json.loads(line) for line in text.splitlines() if line.strip())


def waf_answer(record: dict[str, Any]) -> dict[str, Any]:
    request = record["httpRequest"]
    answer = {f"http_request.{name}": request[name] for name in request if name != "headers"}
    answer |= {TIME: record["timestamp"] * 1_000_000, "action": record["action"], "web_acl_id": record["webaclId"]}
    answer |= {
        "http_source_id": record["httpSourceId"],
        "json_array_length(http_request.headers)": len(request["headers"]),
    }
    return answer | {"json_array_length(rule_group_list)": len(record["ruleGroupList"])}


@pytest.mark.parametrize(
    "dataset",
    [
        "aws-waf-security-automations/test_waf_log.gz",
        "opensearch-catalog/observability/aws_waf/data/raw.log",
        "clo-aws-solutions/pipeline/log-processor/test/datafile/waf.log",
    ],
)
def test_web_requests_equal_plain_json(dataset: str, real_logs: Path, world: World) -> None:
    answers: Expected = [waf_answer(record) for record in lines_of(real_logs / dataset)]
    measured = measure(world, WAF, real_logs, dataset, expected=answers, reader=PYTHON)
    measured.check()
    assert not measured.differing


CATALOG = "opensearch-catalog/observability"


def test_sampled_requests_equal_plain_json(real_logs: Path, world: World, tmp_path: Path) -> None:
    """Records of the firewall inside documents of another tool, which has taken out their time."""
    dataset = f"{CATALOG}/aws_waf/data/samples.json"
    samples = json.loads((real_logs / dataset).read_text())
    times = [round(datetime.fromisoformat(sample["@timestamp"]).timestamp() * 1000) for sample in samples]
    records = [sample["aws"]["waf"] | {"timestamp": time} for sample, time in zip(samples, times, strict=True)]
    (tmp_path / "waf.log").write_text("".join(json.dumps(record) + "\n" for record in records))
    answers: Expected = [waf_answer(record) for record in records]
    measured = measure(world, WAF, tmp_path, "waf.log", expected=answers, reader=PYTHON, shown=dataset)
    measured.check()
    assert (measured.stored, measured.differing) == (38, ())


def test_firewall_flows_equal_plain_json(real_logs: Path, world: World) -> None:
    dataset = f"{CATALOG}/amazon_networkfirewall/data/sample.json"
    records = json.loads((real_logs / dataset).read_text())
    names = ("src_ip", "src_port", "dest_ip", "dest_port", "proto", "flow_id", "event_type")
    answers: Expected = [
        {name: record["event"].get(name) for name in names} | {"firewall_name": record["firewall_name"]}
        for record in records
    ]
    measured = measure(world, FIREWALL, real_logs, dataset, expected=answers, reader=PYTHON)
    measured.check()
    assert (measured.stored, measured.differing) == (13, ())


def small(key: str) -> str:
    return key[:1].lower() + key[1:]


def finding_answer(record: dict[str, Any]) -> dict[str, Any]:
    finding = {small(key): value for key, value in record["detail"].items()}
    service = {small(key): value for key, value in finding["service"].items()}
    resource = {small(key): value for key, value in finding["resource"].items()}
    action = {small(key): value for key, value in service["action"].items()} if "action" in service else {}
    names = {"id": "id", "arn": "arn", "type": "type", "title": "title", "description": "description"}
    names |= {"region": "region", "partition": "partition", "accountId": "account_id"}
    answer = {column: finding.get(key) for key, column in names.items()}
    answer |= {"severity": float(finding["severity"]), "service.count": service.get("count")}
    answer["resource.resource_type"] = resource["resourceType"]
    answer["service.action.action_type"] = action.get("actionType")
    answer["tp_timestamp"] = datetime.fromisoformat(finding["updatedAt"]).replace(tzinfo=None)
    return answer


@pytest.mark.parametrize("dataset", ["guardduty-blu371ck/*.json", f"{EVENTS}/*-duty-event.json"])
def test_findings_equal_plain_json(dataset: str, real_logs: Path, world: World) -> None:
    answers = [finding_answer(json.loads(path.read_text())) for path in sorted(real_logs.glob(dataset))]
    measured = measure(world, GUARDDUTY, real_logs, dataset, expected=answers, reader=PYTHON)
    measured.check()
    assert not measured.differing
    assert not world.query(f"select 1 from {GUARDDUTY} where (tp_extra -> 'tp_misfit') is not null")


def hub_answer(finding: dict[str, Any]) -> dict[str, Any]:
    names = {"Id": "finding_id", "Title": "title", "ProductArn": "product_arn", "GeneratorId": "generator_id"}
    names |= {
        "AwsAccountId": "aws_account_id",
        "RecordState": "record_state",
        "Types": "types",
        "Region": "finding_region",
    }
    answer = {column: finding.get(key) for key, column in names.items()}
    answer["severity.normalized"] = finding["Severity"].get("Normalized")
    answer["severity.label"] = finding["Severity"].get("Label")
    return answer | {"json_extract_string(resources, '$[*].Id')": [r["Id"] for r in finding["Resources"]]}


def test_gathered_findings_equal_plain_json(real_logs: Path, world: World) -> None:
    dataset = "custodian-cwe-events/placebo/*/securityhub.GetFindings_1.json"
    files = [json.loads(path.read_text()) for path in sorted(real_logs.glob(dataset))]
    answers = [hub_answer(finding) for file in files for finding in file["data"]["Findings"]]
    measured = measure(world, SECURITYHUB, real_logs, dataset, expected=answers, reader=PYTHON)
    measured.check()
    assert not measured.differing
    assert measured.stored == len(answers) > 30

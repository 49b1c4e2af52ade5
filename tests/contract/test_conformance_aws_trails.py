"""CloudTrail as other tools read it: delivered to buckets, through EventBridge and CloudWatch, or passed on."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest
from conformance import PYTHON, Expected, measure
from expectedyaml import log_records, named
from world import World

TRAIL = "aws_cloudtrail_log"
TRAIL_DATA = "otel-contrib/awslogsencodingextension/internal/unmarshaler/cloudtraillog/testdata"
EVENTS = "custodian-cwe-events/cwe"
TIME = "epoch_ns(tp_timestamp)"
IDENTITY = "user_identity.session_context"
TRAIL_FIELDS = {
    "timeUnixNano": TIME,
    "aws.access_key.id": "user_identity.access_key_id",
    "aws.cloudtrail.api_version": "api_version",
    "aws.cloudtrail.event_id": "event_id",
    "aws.cloudtrail.event_version": "event_version",
    "aws.error.code": "error_code",
    "aws.error.message": "error_message",
    "aws.event.category": "event_category",
    "aws.event.management": "management_event",
    "aws.event.read_only": "read_only",
    "aws.principal.arn": "user_identity.arn",
    "aws.principal.id": "user_identity.principal_id",
    "aws.principal.type": "user_identity.type",
    "aws.request_id": "request_id",
    "aws.session.console": "session_credential_from_console::boolean",
    "aws.shared_event_id": "shared_event_id",
    "aws.user_identity.account_id": "user_identity.account_id",
    "aws.user_identity.invoked_by": "user_identity.invoked_by",
    f"aws.{IDENTITY}.attributes.mfa_authenticated": f"{IDENTITY}.attributes.mfa_authenticated::boolean",
    "aws.user_identity.session_context.issuer.arn": f"{IDENTITY}.session_issuer.arn",
    "aws.user_identity.session_context.issuer.user_name": f"{IDENTITY}.session_issuer.user_name",
    "rpc.method": "event_name",
    "rpc.service": "event_source",
    "source.address": "source_ip_address",
    "server.address": "tls_details.client_provided_host_header",
    "tls.cipher": "tls_details.cipher_suite",
    "user.name": "user_identity.user_name",
    "user_agent.original": "user_agent",
}


@pytest.mark.parametrize("name", ["cloudtrail_log", "cloudtrail_log_cw", "cloudtrail_log_cw_reordered"])
def test_trails_as_opentelemetry_reads_them(name: str, real_logs: Path, world: World) -> None:
    answers = log_records(real_logs / TRAIL_DATA / f"{name}_expected.yaml")
    dataset = f"{TRAIL_DATA}/{name}.json"
    measured = measure(world, TRAIL, real_logs, dataset, expected=list(named(answers, TRAIL_FIELDS)))
    measured.check()
    assert measured.compared >= 12 * len(answers)
    assert not measured.differing


@pytest.mark.parametrize(
    ("dataset", "stored", "bad"),
    [
        (f"{TRAIL_DATA}/cloudtrail_digest*.json", 0, 0),
        (f"{TRAIL_DATA}/cloudtrail_log_empty.json", 0, 0),
        (f"{TRAIL_DATA}/stream/cloudtrail_log.json", 3, 0),
        ("lambda-promtail-testdata/cloudtrail-log-file.json.gz", 2, 0),
        ("clo-aws-solutions/pipeline/log-processor/test/datafile/cloudtrail.log", 4, 0),
        ("opensearch-catalog/observability/aws_cloudtrail/data/raw-sample.json", 1, 0),
        (f"{EVENTS}/event-transit-gateway-delete-vpc-attachment.json", 1, 0),
        ("plaso-test-data/jsonl/aws_cloudtrail.jsonl", 6, 0),
        (f"{EVENTS}/event-cloud-trail-*.json", 19, 1),
        (f"{EVENTS}/event-appmesh-*.json", 3, 0),
    ],
)
def test_trails_are_stored_whatever_is_around_them(
    dataset: str, stored: int, bad: int, real_logs: Path, world: World
) -> None:
    measured = measure(world, TRAIL, real_logs, dataset, bad=bad)
    measured.check()
    assert (measured.stored, measured.quarantined) == (stored, bad)
    assert not world.query(f"select 1 from {TRAIL} where event_name is null or event_source is null")


def test_trails_that_logstash_passed_on(real_logs: Path, world: World) -> None:
    dataset = "otrf-aws/ec2_proxy_s3_exfiltration_2020-09-14011940.json"
    answers: Expected = [
        {
            "event_id": event["eventID"],
            "event_time": datetime.fromisoformat(event["@timestamp"]).replace(tzinfo=None),
            "event_name": event["eventName"],
            "event_source": event["eventSource"],
            "source_ip_address": event["sourceIPAddress"],
            "user_agent": event.get("userAgent"),
            "user_identity.type": event["userIdentity"].get("type"),
        }
        for event in map(json.loads, (real_logs / dataset).read_text().splitlines())
    ]
    source = {"format": "format.aws_cloudtrail_log.logstash"}
    measured = measure(world, TRAIL, real_logs, dataset, expected=answers, source=source, reader=PYTHON)
    measured.check()
    assert (measured.stored, measured.differing) == (103, ())

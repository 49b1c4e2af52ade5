"""AWS logs of lines as other tools read them: access logs of buckets and load balancers."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from conformance import PYTHON, Expected, Measured, compare, measure
from expectedyaml import log_records, named
from world import World

OTEL = "otel-contrib/awslogsencodingextension/internal/unmarshaler"
ELB = f"{OTEL}/elb-access-log/testdata"
S3 = f"{OTEL}/s3-access-log/testdata"
TIME = "epoch_ns(tp_timestamp)"
ELB_FIELDS = {
    "timeUnixNano": TIME,
    "cloud.resource_id": "elb",
    "client.address": "client_ip",
    "client.port": "client_port",
    "tls.cipher": "tls_cipher",
    "http.request.size": "received_bytes",
    "http.response.size": "sent_bytes",
}
HTTP_FIELDS = ELB_FIELDS | {
    "http.request.method": "request_http_method",
    "url.full": "request_url",
    "network.protocol.version": "replace(request_http_version, 'HTTP/', '')",
    "user_agent.original": "user_agent",
    "aws.elb.status.code": "elb_status_code",
    "tls.protocol.version": "lower(ssl_protocol)",
    "tls.cipher": "ssl_cipher",
}
ALB_FIELDS = HTTP_FIELDS | {
    "network.protocol.name": "type",
    "url.domain": "domain_name",
    "destination.address": "target_ip",
    "destination.port": "target_port",
    "aws.elb.backend.status.code": "target_status_code",
    "aws.elb.chosen_cert_arn": "chosen_cert_arn",
    "aws.elb.target_group_arn": "target_group_arn",
    "aws.elb.aws_trace_id": "trace_id",
    "aws.elb.connection_trace_id": "conn_trace_id",
    "aws.elb.request_processing_time": "request_processing_time",
    "aws.elb.target_processing_time": "target_processing_time",
    "aws.elb.response_processing_time": "response_processing_time",
    "aws.elb.actions_executed": "actions_executed",
    "aws.elb.transformed_host": "transformed_host",
    "aws.elb.transformed_uri": "transformed_uri",
    "aws.elb.request_transform_status": "request_transform_status",
}
CLB_FIELDS = HTTP_FIELDS | {
    "destination.address": "backend_ip",
    "destination.port": "backend_port",
    "aws.elb.backend.status.code": "backend_status_code",
}
NLB_FIELDS = ELB_FIELDS | {
    "network.protocol.name": "type",
    "network.protocol.version": "version",
    "url.domain": "domain_name",
    "destination.address": "destination_ip",
    "destination.port": "destination_port",
    "tls.cipher": "tls_cipher",
    "tls.protocol.version": "tls_protocol_version",
    "aws.elb.tls.listener.resource_id": "listener",
    "aws.elb.chosen_cert_arn": "chosen_cert_arn",
    "aws.elb.connection_time": "connection_time",
    "aws.elb.tls_handshake_time": "tls_handshake_time",
    "aws.elb.tls_connection_creation_time": "strftime(tls_connection_creation_time, '%Y-%m-%dT%H:%M:%S')",
    "aws.elb.alpn_fe_protocol": "alpn_fe_protocol",
    "aws.elb.alpn_be_protocol": "alpn_be_protocol",
    "aws.elb.alpn_client_preference_list": "alpn_client_preference_list",
}
S3_FIELDS = {
    "timeUnixNano": TIME,
    "aws.s3.bucket": "bucket",
    "aws.s3.owner": "bucket_owner",
    "source.address": "remote_ip",
    "user.id": "requester",
    "aws.request_id": "request_id",
    "rpc.method": "operation",
    "http.request.method": "split_part(request_uri, ' ', 1)",
    "url.path": "split_part(split_part(request_uri, ' ', 2), '?', 1)",
    "url.query": "split_part(split_part(request_uri, ' ', 2), '?', 2)",
    "http.response.status_code": "http_status",
    "http.response.body.size": "bytes_sent",
    "duration": "total_time",
    "user_agent.original": "user_agent",
    "aws.extended_request_id": "host_id",
    "aws.signature.version": "signature_version",
    "tls.cipher": "cipher_suite",
    "aws.s3.auth_type": "authentication_type",
    "http.request.header.host": "host_header",
    "tls.protocol.version": "lower(replace(upper(tls_version), 'TLSV', ''))",
    "aws.s3.access_point.arn": "access_point_arn",
    "aws.s3.acl_required": "coalesce(acl_required, false)",
    "aws.s3.source_region": "source_region",
}
ALB, NLB, CLB, BUCKET = "aws_alb_access_log", "aws_nlb_access_log", "aws_clb_access_log", "aws_s3_server_access_log"
EXPECTED = [
    (ALB, f"{ELB}/alb_al_valid_logs.log", ALB_FIELDS),
    (NLB, f"{ELB}/nlb_al_valid_logs.log", NLB_FIELDS),
    (CLB, f"{ELB}/clb_al_valid_logs.log", CLB_FIELDS),
    (BUCKET, f"{S3}/valid_s3_access_log.log", S3_FIELDS),
    (BUCKET, f"{S3}/unknown_request_uri.log", S3_FIELDS),
    (BUCKET, f"{S3}/too_many_values.log", S3_FIELDS),
]
COUNTED = [
    (ALB, f"{ELB}/elb_empty_line.log", 2, 0),
    (ALB, f"{ELB}/elb_control.log", 0, 0),
    (ALB, f"{ELB}/elb_empty_file.log", 0, 0),
    (ALB, f"{ELB}/alb_al_insufficient_fields.log", 0, 1),
    (ALB, f"{ELB}/alb_al_invalid_syntax.log", 0, 1),
    (ALB, f"{ELB}/elb_invalid_syntax.log", 0, 1),
    (ALB, "aws-waf-security-automations/*_app.ApplicationLoadBalancer.*.log.gz", 100, 1),
    (ALB, "clo-aws-solutions/pipeline/log-processor/test/datafile/elb.log", 2, 0),
    (ALB, "clo-aws-solutions/microbatch/test/data/alb.log.gz", 2, 0),
    (ALB, "lambda-promtail-testdata/albaccesslog.log.gz", 2, 0),
    (NLB, "lambda-promtail-testdata/nlbaccesslog.log.gz", 2, 0),
    (NLB, f"{ELB}/nlb_al_insufficient_fields.log", 0, 1),
    (CLB, f"{ELB}/clb_al_insufficient_fields.log", 0, 1),
    # One file with lines of all three kinds: each table stores its own.
    (ALB, "plaso-test-data/aws_elb_access.log", 10, 6),
    (NLB, "plaso-test-data/aws_elb_access.log", 2, 14),
    (CLB, "plaso-test-data/aws_elb_access.log", 4, 12),
    (ALB, "clo-aws-solutions/pipeline/log-processor/test/datafile/elb.log.gz", 2, 0),
    (BUCKET, f"{S3}/too_few_values.log", 0, 1),
    *((BUCKET, f"alp-nekrassov/sample_s3_all_match.log{end}", 5, 0) for end in ("", ".gz", ".zip")),
    *((BUCKET, f"alp-nekrassov/sample_s3_contains_unmatch.log{end}", 4, 1) for end in ("", ".gz", ".zip")),
    *((BUCKET, f"alp-nekrassov/sample_s3_all_unmatch.log{end}", 0, 5) for end in ("", ".gz", ".zip")),
    (BUCKET, "opensearch-catalog/observability/amazon_s3/data/raw.log", 18, 0),
    (BUCKET, "clo-aws-solutions/pipeline/log-processor/test/datafile/s3.log", 6, 0),
    (BUCKET, "lambda-promtail-testdata/s3accesslog.log", 1, 0),
]


def expected(world: World, data: Path, table: str, dataset: str, fields: dict[str, str]) -> Measured:
    """One data set with the records that OpenTelemetry's reader makes of it."""
    answers = log_records((data / dataset).with_name(Path(dataset).stem + "_expected.yaml"))
    return measure(world, table, data, dataset, expected=list(named(answers, fields)))


@pytest.mark.parametrize(
    ("table", "dataset", "answers", "fields"),
    [
        (ALB, f"{ELB}/stream/alb_al_valid_logs.log", "alb_al_valid_logs_expected", ALB_FIELDS),
        (BUCKET, f"{S3}/stream/valid_log_multi.log", "valid_s3_access_multi", S3_FIELDS),
    ],
)
def test_streams_as_opentelemetry_reads_them(
    table: str, dataset: str, answers: str, fields: dict[str, str], real_logs: Path, world: World
) -> None:
    """The other tool's answers stand in one file for each of its reads."""
    parts = sorted((real_logs / dataset).parent.glob(f"{answers}_[0-9].yaml"))
    told = [record for part in parts for record in log_records(part)]
    measured = measure(world, table, real_logs, dataset, expected=list(named(told, fields)))
    measured.check()
    assert (measured.stored, measured.differing) == (3, ())


def counted(world: World, data: Path, table: str, dataset: str, stored: int, bad: int) -> Measured:
    """One data set of which only the number of readable records is known."""
    measured = measure(world, table, data, dataset, bad=bad)
    assert (measured.stored, measured.quarantined) == (stored, bad), measured
    return measured


@pytest.mark.parametrize(("table", "dataset", "fields"), EXPECTED)
def test_as_opentelemetry_reads_it(
    table: str, dataset: str, fields: dict[str, str], real_logs: Path, world: World
) -> None:
    measured = expected(world, real_logs, table, dataset, fields)
    measured.check()
    assert measured.compared >= 15
    assert not measured.differing


@pytest.mark.parametrize(("table", "dataset", "stored", "bad"), COUNTED)
def test_exactly_the_bad_records_are_refused(
    table: str, dataset: str, stored: int, bad: int, real_logs: Path, world: World
) -> None:
    counted(world, real_logs, table, dataset, stored, bad).check()


# What dandi's own tool extracts: per object the times, addresses and bytes of its requests.


def dandi_answers(data: Path) -> dict[str, list[tuple[str, str, int]]]:
    found: dict[str, list[tuple[str, str, int]]] = {}
    root = data / "s3access-dandi/expected_output/extraction"
    for sizes in root.rglob("bytes_sent.txt"):
        times, addresses = (sizes.with_name(f"{name}.txt").read_text().split() for name in ("timestamps", "ips"))
        rows = zip(times, addresses, map(int, sizes.read_text().split()), strict=True)
        found[str(sizes.parent.relative_to(root))] = sorted(rows)
    return found


def test_objects_as_dandi_extracts_them(real_logs: Path, world: World) -> None:
    """The tool tells only of downloads that succeeded; those of an object are compared in the order of their times."""
    dataset = "s3access-dandi/example_logs/*"
    fields = ("strftime(tp_timestamp, '%y%m%d%H%M%S')", "remote_ip", "coalesce(bytes_sent, 0)")
    taken = "operation = 'REST.GET.OBJECT' and http_status between 200 and 299"
    report = world.collect_one(BUCKET, str(real_logs / dataset))
    rows = world.query(
        f"select key, {taken}, rank() over (partition by key, {taken} order by {', '.join(fields)}) "
        f"from {BUCKET} order by tp_source_location, tp_id"
    )
    answers = dandi_answers(real_logs)
    expected: Expected = [
        dict(zip(fields, answers[key][rank - 1], strict=True)) if download and key in answers else {}
        for key, download, rank in rows
    ]
    measured = compare(world, report, BUCKET, dataset, expected=expected)
    measured.check()
    assert not measured.differing
    assert measured.compared == len(fields) * sum(map(len, answers.values())) >= 18


SAMPLES = "opensearch-catalog/observability/amazon_s3/data/sample.json"


def test_bucket_samples_with_their_fields(real_logs: Path, world: World, tmp_path: Path) -> None:
    samples = json.loads((real_logs / SAMPLES).read_text())
    (tmp_path / "s3.log").write_text("".join(f"{sample['body'].rstrip()}\n" for sample in samples))
    names = ("bucket_owner", "bucket", "requester", "request_id", "operation", "request_uri", "user_agent")
    answers: list[dict[str, Any]] = [{name: sample["aws"]["s3"][name] for name in names} for sample in samples]
    measured = measure(world, BUCKET, tmp_path, "s3.log", expected=answers, shown=SAMPLES)
    measured.check()
    assert measured.compared == 35


def test_every_line_of_a_balancer_equals_a_regular_expression(real_logs: Path, world: World) -> None:
    dataset = "opensearch-catalog/observability/amazon_elb/data/raw.log"
    pattern = re.compile(
        r"(?P<type>\S+) (?P<time>\S+) (?P<elb>\S+) (?P<client_ip>\S+):(?P<client_port>\d+) \S+ \S+ \S+ \S+ "
        r'(?P<elb_status_code>\d+) \S+ \d+ (?P<sent_bytes>\d+) ".*?" "(?P<user_agent>.*?)" \S+ \S+ \S+ "Root'
    )
    answers: list[dict[str, Any]] = []
    for line in (real_logs / dataset).read_text().splitlines():
        found = pattern.match(line)
        assert found, line
        answer: dict[str, Any] = {name: found[name] for name in ("type", "elb", "client_ip")}
        answer |= {name: int(found[name]) for name in ("client_port", "elb_status_code", "sent_bytes")}
        answer["user_agent"] = None if found["user_agent"] == "-" else found["user_agent"]
        moment = datetime.fromisoformat(found["time"]).astimezone(UTC).replace(tzinfo=None)
        answer[TIME] = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) * 1000
        answers.append(answer)
    measured = measure(world, ALB, real_logs, dataset, expected=answers, reader=PYTHON)
    measured.check()
    assert not measured.differing

"""JSON logs of other clouds and tools: what was stored, and which fields are equal to what others read in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from cases import Case, Event, at, events, measured
from conformance import PYTHON, Expected
from expectedyaml import log_records
from world import World

# Kubernetes


def kubernetes(paths: list[Path]) -> Expected:
    return [audit_event(event) for event in events(paths) if event.get("kind") == "Event"]


def aks(paths: list[Path]) -> Expected:
    found: Expected = []
    for event in events(paths):
        for record in event.get("records", [event]):
            inner = at(record, "properties", "log")
            found.append(audit_event(json.loads(inner) if inner else record))
    return found


def audit_event(event: Event) -> Event:
    return {
        "audit_id": event["auditID"],
        "verb": event["verb"],
        "request_uri": event["requestURI"],
        "user.username": at(event, "user", "username"),
        "user.groups": at(event, "user", "groups"),
        "impersonated_user.username": at(event, "impersonatedUser", "username"),
        "source_ips": event["sourceIPs"],
        "user_agent": event.get("userAgent"),
        "object_ref.resource": at(event, "objectRef", "resource"),
        "object_ref.name": at(event, "objectRef", "name"),
        "response_status.code": at(event, "responseStatus", "code"),
        "annotations ->> '$.\"authorization.k8s.io/reason\"'": at(event, "annotations", "authorization.k8s.io/reason"),
    }


# What the OpenTelemetry Collector reads: its attributes → columns


def collector(names: dict[str, str]) -> Callable[[list[Path]], Expected]:
    def expected(paths: list[Path]) -> Expected:
        found: Expected = []
        for path in paths:
            for record in log_records(path.with_name(f"{path.stem}_expected.yaml")):
                row = {names[key]: value for key, value in record.items() if key in names}
                found.append(row | {"epoch_us(tp_timestamp)": record["timeUnixNano"] // 1000})
        return found

    return expected


GOOGLE = {"log.record.uid": "insert_id", "gcp.resource_type": "resource.type"}
GCP_AUDIT = GOOGLE | {
    "gcp.audit.service.name": "service_name",
    "gcp.audit.method.name": "method_name",
    "gcp.audit.resource.name": "resource_name",
    "gcp.audit.resource.location.current": "resource_location.current_locations::varchar[]",
    "rpc.jsonrpc.error_code": "status.code",
    "rpc.jsonrpc.error_message": "status.message",
    "user.id": "authentication_info.principal_subject",
    "user.email": "authentication_info.principal_email",
    "client.address": "request_metadata.caller_ip",
    "user_agent.original": "request_metadata.caller_supplied_user_agent",
    "gcp.operation.id": "operation.id",
    "gcp.operation.producer": "operation.producer",
    "gcp.operation.first": "operation.first",
    "gcp.operation.last": "operation.last",
    "gcp.label.authorization.k8s.io/decision": "labels ->> '$.\"authorization.k8s.io/decision\"'",
}
GCP_REQUESTS = GOOGLE | {
    "gcp.load_balancing.status.details": "status_details",
    "gcp.load_balancing.cache.decision": "cache_decision",
    "gcp.load_balancing.backend_target_project_number": "backend_target_project_number",
    "network.peer.address": "http_request.remote_ip",
    "server.address": "http_request.server_ip",
    "http.request.method": "http_request.request_method",
    "url.full": "http_request.request_url",
    "http.request.size": "http_request.request_size",
    "http.response.status_code": "http_request.status",
    "http.response.size": "http_request.response_size",
    "http.request.server.duration": "rtrim(http_request.latency, 's')::double",
    "user_agent.original": "http_request.user_agent",
    "geo.region.iso_code": "security_policy_request_data.remote_ip_info.region_code",
    "gcp.armor.request_data.remote_ip.asn": "security_policy_request_data.remote_ip_info.asn",
    "gcp.armor.request_data.recaptcha_action_token.score": "security_policy_request_data.recaptcha_action_token.score",
}
AZURE = {
    "cloud.resource_id": "resource_id",
    "azure.tenant.id": "tenant_id",
    "azure.category": "category",
    "azure.operation.name": "operation_name",
    "azure.result.type": "status",
    "azure.result.signature": "sub_status",
    "azure.result.description": "description",
    "azure.correlation_id": "correlation_id",
    "azure.operation.duration": "duration_ms",
    "network.peer.address": "http_request.client_ip_address",
    "azure.identity.authorization.scope": "authorization_info.scope",
    "azure.identity.authorization.action": "authorization_info.action",
    "azure.identity.authorization.evidence.role": "authorization_info.role",
    "azure.identity.issuer": "claims ->> 'iss'",
    "azure.identity.application.id": "claims ->> 'appid'",
}


def counted(paths: list[Path]) -> Expected:
    """Records that nobody has read for us."""
    return []


# What the records themselves say, where no one else has read them


def google_entries(paths: list[Path]) -> Expected:
    return [
        {
            "insert_id": event["insertId"],
            "log_name": event["logName"],
            "method_name": at(event, "protoPayload", "methodName"),
            "resource_name": at(event, "protoPayload", "resourceName"),
            "authentication_info.principal_email": at(event, "protoPayload", "authenticationInfo", "principalEmail"),
            "request_metadata.caller_ip": at(event, "protoPayload", "requestMetadata", "callerIp"),
            "status.code": at(event, "protoPayload", "status", "code"),
            "severity": event.get("severity"),
        }
        for event in events(paths)
    ]


def azure_sdk(paths: list[Path]) -> Expected:
    return [
        {
            "event_data_id": event["event_data_id"],
            "operation_name": event["operation_name"]["value"],
            "status": event["status"]["value"],
            "category": event["category"]["value"],
            "resource_type": event["resource_type"]["value"],
            "resource_group_name": event["resource_group_name"],
            "caller": event["caller"],
            "http_request.client_ip_address": event["http_request"]["client_ip_address"],
            "authorization_info.action": event["authorization"]["action"],
            "correlation_id": event["correlation_id"],
            "properties": None if event["properties"] is None else json.dumps(event["properties"]),
        }
        for event in events(paths)
    ]


def cloudflare(paths: list[Path]) -> Expected:
    names = {
        "ray_id": "RayID",
        "client_ip": "ClientIP",
        "client_asn": "ClientASN",
        "client_request_method": "ClientRequestMethod",
        "client_request_host": "ClientRequestHost",
        "client_request_uri": "ClientRequestURI",
        "client_request_protocol": "ClientRequestProtocol",
    }
    return [{column: event.get(key) for column, key in names.items()} for event in events(paths)]


def m365(paths: list[Path]) -> Expected:
    names = {"id": "Id", "operation": "Operation", "workload": "Workload", "user_id": "UserId", "object_id": "ObjectId"}
    return [
        {column: event.get(key) for column, key in names.items()}
        | {"tp_timestamp": datetime.fromisoformat(event["CreationTime"]), "client_ip": event.get("ClientIP")}
        for event in events(paths)
    ]


GCP = "otel-contrib/googlecloudlogentryencodingextension/testdata"
AZURE_DATA = "otel-contrib/azureencodingextension/internal/unmarshaler/logs/testdata"
ACTIVITY = f"{AZURE_DATA}/activitylogs"
TRANSLATOR = "otel-contrib/pkg/translator/azurelogs/testdata"
TRANSLATED = (
    "administrative", "alert", "autoscale", "policy", "recommendation", "resourcehealth", "security", "servicehealth"
)  # fmt: skip
CLOUDFLARE = "otel-contrib/receiver/cloudflarereceiver/testdata"
CASES = [
    Case("gcp_audit_log", f"{GCP}/auditlog/*.json", collector(GCP_AUDIT)),
    Case("gcp_audit_log", "plaso-test-data/jsonl/gcp_logging.jsonl", google_entries, reader=PYTHON),
    Case("gcp_requests_log", f"{GCP}/apploadbalancer/*.json", collector(GCP_REQUESTS)),
    Case("gcp_requests_log", f"{GCP}/armorlog/*.json", collector(GCP_REQUESTS)),
    Case("azure_activity_log", f"{ACTIVITY}/*.json", collector(AZURE)),
    *(Case("azure_activity_log", f"{TRANSLATOR}/{kind}/*.json", collector(AZURE)) for kind in TRANSLATED),
    Case("azure_activity_log", f"{TRANSLATOR}/cornercases/*.json", counted),
    Case("azure_activity_log", "otel-contrib/pkg/translator/azure/testdata/*.json", counted),
    Case("azure_activity_log", "otel-contrib/receiver/azureeventhubreceiver/testdata/log-*.json", counted),
    Case("azure_activity_log", f"{AZURE_DATA}/general/*.json", counted),
    Case("azure_activity_log", "plaso-test-data/jsonl/azure_activity_log.jsonl", azure_sdk, reader=PYTHON),
    Case("cloudflare_http_request_log", f"{CLOUDFLARE}/sample-payloads/*.txt", cloudflare, reader=PYTHON),
    Case("cloudflare_http_request_log", "lnav-logfiles/logfile_cloudflare.json", cloudflare, reader=PYTHON),
    Case("cloudflare_http_request_log", "lnav-logfiles/logfile_cloudflare.1", cloudflare, reader=PYTHON),
    Case("m365_audit_log", "plaso-test-data/jsonl/microsoft_audit_log.jsonl", m365, reader=PYTHON),
    Case("kubernetes_audit_log", "k8saudit-falco/*.json", kubernetes, bad=1, reader=PYTHON),
    Case("kubernetes_audit_log", "k8saudit-audit2rbac/demo.log", kubernetes, reader=PYTHON),
    Case("kubernetes_audit_log", "k8saudit-sysdig-aks/*.json", aks, reader=PYTHON),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.table}-{case.dataset}")
def test_rows_are_what_the_records_say(case: Case, real_logs: Path, world: World) -> None:
    found = measured(case, real_logs, world)
    assert bool(found.compared) == (case.expected is not counted)
    found.check()
    assert found.quarantined == case.bad

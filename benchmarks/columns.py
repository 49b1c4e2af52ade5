"""The columns that every engine has to make, spelled for each of them."""

from __future__ import annotations

from typing import Any

THREADS = 2

ISSUER = {"type": "text", "principalId": "text", "arn": "text", "accountId": "text", "userName": "text"}
SESSION = {
    "attributes": {"creationDate": "text", "mfaAuthenticated": "text"},
    "ec2RoleDelivery": "text",
    "sessionIssuer": ISSUER,
    "webIdFederationData": {"attributes": "json", "federatedProvider": "text"},
}
IDENTITY = {
    "accessKeyId": "text",
    "accountId": "text",
    "arn": "text",
    "identityProvider": "text",
    "invokedBy": "text",
    "principalId": "text",
    "sessionContext": SESSION,
    "type": "text",
    "userName": "text",
}
CLOUDTRAIL: dict[str, tuple[str, Any]] = {
    "additional_event_data": ("additionalEventData", "json"),
    "api_version": ("apiVersion", "text"),
    "aws_region": ("awsRegion", "text"),
    "edge_device_details": ("edgeDeviceDetails", "json"),
    "error_code": ("errorCode", "text"),
    "error_message": ("errorMessage", "text"),
    "event_category": ("eventCategory", "text"),
    "event_id": ("eventID", "text"),
    "event_name": ("eventName", "text"),
    "event_source": ("eventSource", "text"),
    "event_time": ("eventTime", "time"),
    "event_type": ("eventType", "text"),
    "event_version": ("eventVersion", "text"),
    "management_event": ("managementEvent", "bool"),
    "read_only": ("readOnly", "bool"),
    "recipient_account_id": ("recipientAccountId", "text"),
    "request_id": ("requestID", "text"),
    "request_parameters": ("requestParameters", "json"),
    "resources": ("resources", "json"),
    "response_elements": ("responseElements", "json"),
    "service_event_details": ("serviceEventDetails", "json"),
    "session_credential_from_console": ("sessionCredentialFromConsole", "text"),
    "shared_event_id": ("sharedEventID", "text"),
    "source_ip_address": ("sourceIPAddress", "text"),
    "tls_details": (
        "tlsDetails",
        {"cipherSuite": "text", "clientProvidedHostHeader": "text", "tlsVersion": "text"},
    ),
    "user_agent": ("userAgent", "text"),
    "user_identity": ("userIdentity", IDENTITY),
    "vpc_endpoint_id": ("vpcEndpointId", "text"),
}
"Column → key in the event, type."

VPC: dict[str, str] = {
    "version": "int",
    "account_id": "text",
    "interface_id": "text",
    "src_addr": "text",
    "dst_addr": "text",
    "src_port": "int",
    "dst_port": "int",
    "protocol": "int",
    "packets": "long",
    "bytes": "long",
    "start_time": "long",
    "end_time": "long",
    "action": "text",
    "log_status": "text",
}
"Fields of a flow log of version 2 in their order; the times are seconds since 1970."

NGINX = (
    "remote_addr",
    "remote_user",
    "time_local",
    "request",
    "status",
    "body_bytes_sent",
    "http_referer",
    "http_user_agent",
)
"What the regex captures, in its order."
NGINX_REGEX = r'^([^ ]*) [^ ]* ([^ ]*) \[([^\]]*)\] "([^"]*)" ([0-9]*) ([^ ]*) "([^"]*)" "(.*)"$'
"Only the last field may hold escaped quotes, as in these logs: a third cheaper than one right for any log."

_KINDS = ("text", "json", "time", "bool", "int", "long")
_SPELLINGS = {
    "duckdb": ("VARCHAR", "JSON", "TIMESTAMP", "BOOLEAN", "INTEGER", "BIGINT"),
    "clickhouse": tuple(f"Nullable({t})" for t in ("String", "String", "String", "Bool", "Int32", "Int64")),
    "spark": ("STRING", "STRING", "TIMESTAMP", "BOOLEAN", "INT", "BIGINT"),
}


def spelled(kind: Any, engine: str) -> str:
    """A type in an engine's own words."""
    if isinstance(kind, str):
        return _SPELLINGS[engine][_KINDS.index(kind)]
    opening, between, closing = {
        "duckdb": ("STRUCT(", " ", ")"),
        "clickhouse": ("Tuple(", " ", ")"),
        "spark": ("STRUCT<", ": ", ">"),
    }[engine]
    quote = {"duckdb": '"', "clickhouse": "`", "spark": "`"}[engine]
    fields = (f"{quote}{name}{quote}{between}{spelled(part, engine)}" for name, part in kind.items())
    return opening + ", ".join(fields) + closing


def event_type(engine: str) -> str:
    """The type of one CloudTrail event."""
    return spelled(dict(CLOUDTRAIL.values()), engine)

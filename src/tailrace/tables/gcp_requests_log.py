"""Google Cloud load balancers and Cloud Armor: one row per request."""

from tailrace.core import Common, Json, Table, col, struct

POLICY = struct(
    col("configured_action", doc="What the rule does: ALLOW, DENY, THROTTLE …"),
    col("rate_limit_action", struct(col("key"), col("outcome"))),
    col("name"),
    col("outcome", doc="What was done: ACCEPT or DENY."),
    col("priority", "bigint"),
    col("preconfigured_expr_id"),
    col("preconfigured_expr_ids", "varchar[]"),
    col("threat_intelligence", struct(col("categories", "varchar[]"))),
    col("address_group", struct(col("names", "varchar[]"))),
    col("matched_field_type"),
    col("matched_field_value"),
    col("matched_field_name"),
    col("matched_offset", "bigint"),
    col("matched_length", "bigint"),
)
EDGE_POLICY = struct(
    col("name"),
    col("priority", "bigint"),
    col("configured_action"),
    col("outcome", doc="What was done: ACCEPT or DENY."),
)
TOKEN = struct(col("score", "double"))
REQUEST_DATA = struct(
    col("remote_ip_info", struct(col("asn", "bigint"), col("region_code"))),
    col("recaptcha_action_token", TOKEN),
    col("recaptcha_session_token", TOKEN),
    col("tls_ja3_fingerprint"),
    col("tls_ja4_fingerprint"),
)
HTTP_REQUEST = struct(
    col("request_method", doc="GET, POST …"),
    col("request_url", doc="Address that was asked for."),
    col("request_size", "bigint", doc="Bytes of the request."),
    col("referer"),
    col("status", "integer", doc="HTTP status."),
    col("response_size", "bigint", doc="Bytes of the response."),
    col("remote_ip", doc="Address of the client."),
    col("server_ip", doc="Address of the backend."),
    col("latency", doc="Time to answer, such as 0.005s."),
    col("protocol"),
    col("cache_hit", "boolean"),
    col("cache_lookup", "boolean"),
    col("cache_validated_with_origin_server", "boolean"),
    col("cache_fill_bytes", "bigint"),
    col("user_agent"),
)

TABLE = Table(
    name="gcp_requests_log",
    doc="Requests to Google Cloud load balancers, and what Cloud Armor did with them.",
    format=Json(records="entries", keys="camel"),
    columns=(
        col("timestamp", "timestamp", doc="When the request was received, UTC."),
        col("receive_timestamp", "timestamp", doc="When Cloud Logging received the entry, UTC."),
        col("log_name", doc="Log that the entry belongs to, such as projects/shop/logs/requests."),
        col("insert_id", unique=True, doc="Id that tells entries of the same time apart."),
        col("severity", doc="INFO, WARNING, ERROR …"),
        col("trace_id", src="trace", doc="Trace that the request belongs to."),
        col("span_id", doc="Span of the trace."),
        col("trace_sampled", "boolean", doc="Whether the trace was sampled."),
        col("http_request", HTTP_REQUEST, doc="The request and its response."),
        col("remote_ip", src="/jsonPayload/remoteIp", doc="Address of the client."),
        col("status_details", src="/jsonPayload/statusDetails", doc="Why the load balancer answered as it did."),
        col(
            "backend_target_project_number",
            src="/jsonPayload/backendTargetProjectNumber",
            doc="Project of the backend.",
        ),
        col("cache_decision", "varchar[]", src="/jsonPayload/cacheDecision", doc="Why it was cached, or not."),
        col("enforced_security_policy", POLICY, src="/jsonPayload/enforcedSecurityPolicy", doc="Rule that held."),
        col("preview_security_policy", POLICY, src="/jsonPayload/previewSecurityPolicy", doc="Rule on trial."),
        col(
            "security_policy_request_data",
            REQUEST_DATA,
            src="/jsonPayload/securityPolicyRequestData",
            doc="What Cloud Armor knows of the client.",
        ),
        col(
            "enforced_edge_security_policy",
            EDGE_POLICY,
            src="/jsonPayload/enforcedEdgeSecurityPolicy",
            doc="Rule at the edge that held.",
        ),
        col(
            "preview_edge_security_policy",
            EDGE_POLICY,
            src="/jsonPayload/previewEdgeSecurityPolicy",
            doc="Rule at the edge on trial.",
        ),
        col("tls", struct(col("protocol"), col("cipher")), src="/jsonPayload/tls", doc="TLS of the connection."),
        col("resource", struct(col("type"), col("labels", "json")), doc="Load balancer that wrote the entry."),
        col("json_payload_type", src="/jsonPayload/@type", doc="Type of the payload."),
    ),
    common=Common(
        time=("timestamp", "receive_timestamp"),
        source_ip="http_request.remote_ip",
        destination_ip="http_request.server_ip",
        ips=("http_request.remote_ip", "http_request.server_ip", "remote_ip"),
    ),
    file_layout=(
        (
            "gcp_storage_bucket",
            "requests/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/"
            "%{HOUR:hour}:%{MINUTE:minute}:%{SECOND:second}_%{DATA:end_time}_%{DATA:suffix}.json",
        ),
    ),
)

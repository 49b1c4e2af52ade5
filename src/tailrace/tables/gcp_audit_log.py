"""Google Cloud audit logs: one row per call to a Google API, access to data, system event or policy denial."""

from tailrace.core import Common, Json, Sql, Table, col, struct

HTTP_REQUEST = struct(
    col("method", src="requestMethod", doc="GET, POST …"),
    col("url", src="requestUrl", doc="Address that was asked for."),
    col("request_size", "bigint", doc="Bytes of the request."),
    col("request_headers", "json"),
    col("status", "bigint", doc="HTTP status."),
    col("response_size", "bigint", doc="Bytes of the response."),
    col("local_ip", src="serverIp", doc="Address of the server."),
    col("remote_ip", doc="Address of the client."),
    col("latency", doc="Time to answer, such as 0.005s."),
    col("cache_hit", "boolean"),
    col("cache_lookup", "boolean"),
    col("cache_validated_with_origin_server", "boolean"),
    col("cache_fill_bytes", "bigint"),
    col("user_agent"),
)

# Kubernetes' own users stand here too, and have none.
MAIL = "case when contains(authentication_info.principal_email, '@') then authentication_info.principal_email end"

TABLE = Table(
    name="gcp_audit_log",
    doc="Calls to Google Cloud's APIs: who made them, from where, on what, and what came of it.",
    format=Json(records="entries", keys="camel"),
    columns=(
        col("timestamp", "timestamp", doc="When the event happened, UTC."),
        col("log_name", doc="Log that the entry belongs to: activity, data_access, system_event or policy."),
        col("insert_id", unique=True, doc="Id that tells entries of the same time apart."),
        col("severity", doc="NOTICE, INFO, ERROR …"),
        col("service_name", src="/protoPayload/serviceName", doc="Service that was called."),
        col("method_name", src="/protoPayload/methodName", doc="Method that was called."),
        col("resource_name", src="/protoPayload/resourceName", doc="Resource that the call was about."),
        col(
            "authentication_info",
            struct(
                col("principal_email", doc="Mail address of the user or service account."),
                col("principal_subject", doc="Identity, also of those without a mail address."),
                col("authority_selector"),
                col("service_account_key_name"),
                col("third_party_principal", "json"),
                col("service_account_delegation_info", "json"),
            ),
            src="/protoPayload/authenticationInfo",
            doc="Who made the call.",
        ),
        col("authorization_info", "json", src="/protoPayload/authorizationInfo", doc="Permissions that were checked."),
        col(
            "request_metadata",
            struct(
                col("caller_ip", doc="Address of the caller."),
                col("caller_supplied_user_agent", doc="What the caller says it is."),
                col("caller_network", doc="Network the call came through."),
                col("request_attributes", "json"),
                col(
                    "destination_attributes",
                    struct(
                        col("ip"), col("port", "bigint"), col("principal"), col("region_code"), col("labels", "json")
                    ),
                ),
            ),
            src="/protoPayload/requestMetadata",
            doc="Where the call came from.",
        ),
        col(
            "status",
            struct(col("code", "integer", doc="0 if the call succeeded."), col("message"), col("details", "json")),
            src="/protoPayload/status",
            doc="What came of the call.",
        ),
        col("num_response_items", "bigint", src="/protoPayload/numResponseItems", doc="Items of a list that was sent."),
        col("request", "json", src="/protoPayload/request", doc="The request."),
        col("response", "json", src="/protoPayload/response", doc="The response."),
        col("metadata", "json", src="/protoPayload/metadata", doc="What else the service tells of the call."),
        col("service_data", "json", src="/protoPayload/serviceData", doc="The same, as older services tell it."),
        col("policy_violation_info", "json", src="/protoPayload/policyViolationInfo", doc="Policies that denied it."),
        col(
            "resource_location",
            struct(col("current_locations", "json"), col("original_locations", "json")),
            src="/protoPayload/resourceLocation",
            doc="Where the resource is and was.",
        ),
        col("resource_original_state", "json", src="/protoPayload/resourceOriginalState", doc="Before the change."),
        col("resource", struct(col("type"), col("labels", "json")), doc="Monitored resource that wrote the entry."),
        col("http_request", HTTP_REQUEST, doc="HTTP request that the entry belongs to."),
        col("labels", "json", doc="Labels of the entry."),
        col(
            "operation",
            struct(col("id"), col("producer"), col("first", "boolean"), col("last", "boolean")),
            doc="Long operation that the entry belongs to.",
        ),
        col(
            "source_location",
            struct(col("file"), col("line", "bigint"), col("function")),
            doc="Place in the source code that wrote the entry.",
        ),
        col("trace", doc="Trace that the entry belongs to."),
        col("span_id", doc="Span of the trace."),
        col("trace_sampled", "boolean", doc="Whether the trace was sampled."),
        col("receive_timestamp", "timestamp", doc="When Cloud Logging received the entry, UTC."),
        col("proto_payload_type", src="/protoPayload/@type", doc="Type of the payload."),
    ),
    common=Common(
        time=("timestamp", "receive_timestamp"),
        source_ip="request_metadata.caller_ip",
        destination_ip="http_request.local_ip",
        ips=("request_metadata.caller_ip", "http_request.remote_ip", "http_request.local_ip"),
        akas=("resource_name",),
        emails=(Sql(MAIL),),
        usernames=("authentication_info.principal_email", "authentication_info.principal_subject"),
    ),
    file_layout=(
        (
            "gcp_storage_bucket",
            "cloudaudit.googleapis.com/%{DATA:type}/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/"
            "%{HOUR:hour}:%{MINUTE:minute}:%{SECOND:second}_%{DATA:end_time}_%{DATA:suffix}.json",
        ),
    ),
)

"""AWS Application Load Balancer access log: one row per request."""

from tailrace.core import Common, Layout, Table, col

# AWS appends fields over the years: old lines end earlier, and what follows the last known one is kept as `tp_rest`.
DEFAULT = Layout(
    "type timestamp elb client target request_processing_time target_processing_time response_processing_time "
    'elb_status_code target_status_code received_bytes sent_bytes "request" "user_agent" ssl_cipher ssl_protocol '
    'target_group_arn "trace_id" ?"domain_name" ?"chosen_cert_arn" ?matched_rule_priority ?request_creation_time '
    '?"actions_executed" ?"redirect_url" ?"error_reason" ?"target_list" ?"target_status_list" ?"classification" '
    '?"classification_reason" ?conn_trace_id ?"transformed_host" ?"transformed_uri" ?"request_transform_status"',
    split=(
        ("client", ("client_ip", "client_port")),
        ("target", ("target_ip", "target_port")),
        ("request", ("request_http_method", "request_url", "request_http_version")),
    ),
    comment="Enable AccessLog for ELB:",
)

TABLE = Table(
    name="aws_alb_access_log",
    doc="Requests to AWS Application Load Balancers.",
    null="-",
    format=DEFAULT,
    columns=(
        col(
            "type",
            required=True,
            sql="case when regexp_full_match(type, '[a-z][a-z0-9]{1,4}') then type end",
            doc="http, https, h2, grpcs, ws or wss.",
        ),
        col("timestamp", "timestamp", doc="When the response was sent, UTC."),
        col("elb", doc="Load balancer: app/name/id."),
        col("client_ip", doc="Address of the client."),
        col("client_port", "bigint", doc="Port of the client."),
        col("target_ip", doc="Address of the target; null if none was reached."),
        col("target_port", "bigint", doc="Port of the target."),
        col("request_processing_time", "double", doc="Seconds until the request was sent to a target; -1 if none was."),
        col("target_processing_time", "double", doc="Seconds until the target began to answer; -1 if it did not."),
        col("response_processing_time", "double", doc="Seconds until the response was sent on; -1 if it was not."),
        col("elb_status_code", "bigint", doc="Status that the load balancer answered with."),
        col("target_status_code", "bigint", doc="Status that the target answered with."),
        col("received_bytes", "bigint", doc="Bytes of the request with its header."),
        col("sent_bytes", "bigint", doc="Bytes of the response with its header."),
        col("request_http_method", doc="GET, POST …"),
        col("request_url", doc="URL of the request: protocol, host, port, path and arguments."),
        col("request_http_version", doc="HTTP/1.1, HTTP/2.0 …"),
        col("user_agent", doc="What the client says it is."),
        col("ssl_cipher", doc="TLS cipher."),
        col("ssl_protocol", doc="TLS version."),
        col("target_group_arn", doc="ARN of the target group."),
        col("trace_id", unique=True, doc="Content of the X-Amzn-Trace-Id header."),
        col("domain_name", doc="Server name that the client sent in the TLS handshake."),
        col("chosen_cert_arn", doc="ARN of the certificate, or session-reused."),
        col(
            "matched_rule_priority",
            "bigint",
            doc="Priority of the rule: 0 the default one, -1 none because of an error.",
        ),
        col("request_creation_time", "timestamp", doc="When the request came from the client, UTC."),
        col("actions_executed", "varchar[]", list_separator=",", doc="What was done: waf, authenticate, forward …"),
        col("redirect_url", doc="Where a redirect sent the client."),
        col("error_reason", doc="Why an action failed."),
        col("target_list", doc="Addresses and ports of the targets tried, separated by blanks."),
        col("target_status_list", doc="Statuses of those targets, separated by blanks."),
        col("classification", doc="Desync mitigation: Acceptable, Ambiguous or Severe."),
        col("classification_reason", doc="Why the request was classified so."),
        col("conn_trace_id", doc="Id of the connection, the same as in the connection log."),
        col("transformed_host", doc="Host header after a rewrite."),
        col("transformed_uri", doc="URI after a rewrite."),
        col("request_transform_status", doc="What came of the rewrite."),
    ),
    common=Common(
        time=("timestamp",),
        source_ip="client_ip",
        destination_ip="target_ip",
        ips=("client_ip", "target_ip"),
        akas=("target_group_arn",),
        domains=("domain_name",),
    ),
    file_layout=(
        (
            "aws_s3_bucket",
            "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/elasticloadbalancing/%{DATA:region}/%{YEAR:year}/"
            "%{MONTHNUM:month}/%{MONTHDAY:day}/%{NUMBER:account_id}_elasticloadbalancing_%{DATA:region}_app.%{DATA}.log.gz",
        ),
    ),
)

"""AWS Classic Load Balancer access log: one row per request, or per connection of TCP and SSL listeners."""

from tailrace.core import Common, Layout, Table, col

# The first lines of this kind ended with the request.
DEFAULT = Layout(
    "timestamp elb client backend request_processing_time backend_processing_time response_processing_time "
    'elb_status_code backend_status_code received_bytes sent_bytes "request" ?"user_agent" ?ssl_cipher ?ssl_protocol',
    split=(
        ("client", ("client_ip", "client_port")),
        ("backend", ("backend_ip", "backend_port")),
        ("request", ("request_http_method", "request_url", "request_http_version")),
    ),
    comment="Enable AccessLog for ELB:",
)

TABLE = Table(
    name="aws_clb_access_log",
    doc="Requests to AWS Classic Load Balancers.",
    null="-",
    format=DEFAULT,
    columns=(
        col("timestamp", "timestamp", doc="When the request was received, UTC."),
        col("elb", doc="Name of the load balancer."),
        col("client_ip", doc="Address of the client."),
        col("client_port", "bigint", doc="Port of the client."),
        col("backend_ip", doc="Address of the instance; null if none was reached."),
        col("backend_port", "bigint", doc="Port of the instance."),
        col(
            "request_processing_time",
            "double",
            doc="Seconds until the request was sent to an instance; -1 if none was.",
        ),
        col("backend_processing_time", "double", doc="Seconds until the instance began to answer; -1 if it did not."),
        col("response_processing_time", "double", doc="Seconds until the response was sent on; -1 if it was not."),
        col("elb_status_code", "bigint", doc="Status that the load balancer answered with; HTTP only."),
        col("backend_status_code", "bigint", doc="Status that the instance answered with; HTTP only."),
        col("received_bytes", "bigint", doc="Bytes of the request without its header."),
        col("sent_bytes", "bigint", doc="Bytes of the response without its header."),
        col("request_http_method", doc="GET, POST …; null for TCP and SSL listeners."),
        col("request_url", doc="URL of the request: protocol, host, port, path and arguments."),
        col("request_http_version", doc="HTTP/1.0, HTTP/1.1 …"),
        col("user_agent", doc="What the client says it is."),
        col("ssl_cipher", doc="TLS cipher."),
        col("ssl_protocol", doc="TLS version."),
    ),
    common=Common(
        time=("timestamp",),
        source_ip="client_ip",
        destination_ip="backend_ip",
        ips=("client_ip", "backend_ip"),
    ),
    file_layout=(
        (
            "aws_s3_bucket",
            "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/elasticloadbalancing/%{DATA:region}/%{YEAR:year}/"
            "%{MONTHNUM:month}/%{MONTHDAY:day}/%{NUMBER:account_id}_elasticloadbalancing_%{DATA:region}_%{DATA}.log",
        ),
    ),
)

"""AWS Application Load Balancer connection log: one row per TLS handshake."""

from tailrace.core import Common, Layout, Table, col

BEFORE = "timestamp client_ip client_port listener_port tls_protocol tls_cipher tls_handshake_latency"
AFTER = "leaf_client_cert_validity leaf_client_cert_serial_number tls_verify_status ?conn_trace_id ?tls_keyexchange"
DEFAULT = Layout(
    f'{BEFORE} "leaf_client_cert_subject" {AFTER}',
    also=(f"{BEFORE} leaf_client_cert_subject {AFTER}",),
    comment="Enable ConnectionLog for ELB:",
)

TABLE = Table(
    name="aws_alb_connection_log",
    doc="Connections to AWS Application Load Balancers: their TLS and the certificates of clients.",
    null="-",
    format=DEFAULT,
    columns=(
        col("timestamp", "timestamp", doc="When the connection was made or failed, UTC."),
        col("client_ip", sql="trim(client_ip, '[]')", doc="Address of the client."),
        col("client_port", "bigint", doc="Port of the client."),
        col("listener_port", "bigint", doc="Port of the listener."),
        col("tls_protocol", doc="TLS version."),
        col("tls_cipher", doc="TLS cipher."),
        col("tls_handshake_latency", "double", doc="Seconds of the handshake; null if it failed."),
        col("leaf_client_cert_subject", doc="Subject of the client's certificate."),
        col("leaf_client_cert_validity", doc="Validity of the client's certificate: NotBefore=…;NotAfter=…"),
        col("leaf_client_cert_serial_number", doc="Serial number of the client's certificate."),
        col("tls_verify_status", doc="Success, or Failed with the reason, such as Failed:ClientCertUntrusted."),
        col("conn_trace_id", unique=True, doc="Id of the connection, the same as in the access log."),
        col("tls_keyexchange", doc="Key exchange of the handshake."),
    ),
    common=Common(time=("timestamp",), source_ip="client_ip", ips=("client_ip",)),
    file_layout=(
        (
            "aws_s3_bucket",
            "(%{DATA:logging_prefix}/)?AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/elasticloadbalancing/"
            "%{DATA:region}/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/conn_log.%{DATA}.log.gz",
        ),
    ),
)

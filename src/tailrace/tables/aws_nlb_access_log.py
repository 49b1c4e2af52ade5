"""AWS Network Load Balancer access log: one row per TLS connection."""

from tailrace.core import Common, Layout, Table, col

DEFAULT = Layout(
    "type version timestamp elb listener client destination connection_time tls_handshake_time received_bytes "
    "sent_bytes incoming_tls_alert chosen_cert_arn chosen_cert_serial tls_cipher tls_protocol_version tls_named_group "
    "domain_name ?alpn_fe_protocol ?alpn_be_protocol ?alpn_client_preference_list ?tls_connection_creation_time",
    split=(
        ("client", ("client_ip", "client_port")),
        ("destination", ("destination_ip", "destination_port")),
    ),
    comment="Enable AccessLog for ELB:",
)

TABLE = Table(
    name="aws_nlb_access_log",
    doc="TLS connections to AWS Network Load Balancers.",
    null="-",
    format=DEFAULT,
    columns=(
        col("type", doc="Kind of the listener: tls."),
        col("version", doc="Version of the log's format."),
        col("timestamp", "timestamp", doc="When the connection ended, UTC."),
        col("elb", doc="Load balancer: net/name/id."),
        col("listener", doc="Id of the TLS listener."),
        col("client_ip", doc="Address of the client."),
        col("client_port", "bigint", doc="Port of the client."),
        col("destination_ip", doc="Address that the client connected to: the listener, or a VPC endpoint."),
        col("destination_port", "bigint", doc="Port that the client connected to."),
        col("connection_time", "bigint", doc="Milliseconds from the start of the connection to its end."),
        col("tls_handshake_time", "bigint", doc="Milliseconds of the TLS handshake, after the TCP connection."),
        col("received_bytes", "bigint", doc="Bytes from the client, after decryption."),
        col("sent_bytes", "bigint", doc="Bytes to the client, before encryption."),
        col("incoming_tls_alert", doc="TLS alert that the client sent."),
        col("chosen_cert_arn", doc="ARN of the certificate."),
        col("chosen_cert_serial", doc="Reserved by AWS."),
        col("tls_cipher", doc="TLS cipher."),
        col("tls_protocol_version", doc="TLS version, such as tlsv12."),
        col("tls_named_group", doc="Group of the key exchange."),
        col("domain_name", doc="Server name that the client sent in the TLS handshake."),
        col("alpn_fe_protocol", doc="Application protocol agreed with the client: h2, http/1.1 …"),
        col("alpn_be_protocol", doc="Application protocol agreed with the target."),
        col(
            "alpn_client_preference_list",
            "varchar[]",
            sql="""string_split(replace(alpn_client_preference_list, '"', ''), ',')""",
            doc="Application protocols that the client offered.",
        ),
        col("tls_connection_creation_time", "timestamp", doc="When the connection began, UTC."),
    ),
    common=Common(
        time=("timestamp",),
        source_ip="client_ip",
        destination_ip="destination_ip",
        ips=("client_ip", "destination_ip"),
        akas=("chosen_cert_arn",),
        domains=("domain_name",),
    ),
    file_layout=(
        (
            "aws_s3_bucket",
            "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/elasticloadbalancing/%{DATA:region}/%{YEAR:year}/"
            "%{MONTHNUM:month}/%{MONTHDAY:day}/%{NUMBER:account_id}_elasticloadbalancing_%{DATA:region}_net.%{DATA}.log.gz",
        ),
    ),
)

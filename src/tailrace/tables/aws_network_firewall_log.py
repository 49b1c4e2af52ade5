"""AWS Network Firewall log: one row per alert, flow, or TLS event."""

from tailrace.core import Common, Json, Sql, Table, col, struct

TABLE = Table(
    name="aws_network_firewall_log",
    doc="Alerts, flows and TLS events of AWS Network Firewall.",
    format=Json(unwrap=("logEvents.message", "events.message", "message")),
    columns=(
        col("event_timestamp", "timestamp", time="epoch", doc="When the record was written, UTC."),
        col("firewall_name", required=True, doc="Name of the firewall."),
        col("availability_zone", doc="Availability zone of the endpoint."),
        col("timestamp", "timestamp", src="/event/timestamp", doc="When the event happened, UTC."),
        col("event_type", src="/event/event_type", doc="alert, netflow, tls, http, dns …"),
        col("flow_id", "bigint", src="/event/flow_id", doc="Id that the events of a flow share."),
        col("src_ip", src="/event/src_ip", doc="Source address."),
        col("src_port", "integer", src="/event/src_port", doc="Source port."),
        col("dest_ip", src="/event/dest_ip", doc="Destination address."),
        col("dest_port", "integer", src="/event/dest_port", doc="Destination port."),
        col("proto", src="/event/proto", doc="TCP, UDP, ICMP …"),
        col("app_proto", src="/event/app_proto", doc="Application protocol: tls, http, dns …"),
        col("tx_id", "bigint", src="/event/tx_id", doc="Number of the transaction in its flow."),
        col("direction", src="/event/direction", doc="to_server or to_client."),
        col(
            "verdict",
            struct(col("action", doc="alert, drop, pass or reject.")),
            src="/event/verdict",
            doc="What was done.",
        ),
        col(
            "alert",
            struct(
                col("action", doc="allowed or blocked."),
                col("signature_id", "bigint", doc="Id of the rule."),
                col("signature", doc="Message of the rule."),
                col("category", doc="Class of the rule."),
                col("severity", "integer", doc="1 is the most severe."),
                col("rev", "integer", doc="Revision of the rule."),
                col("gid", "integer", doc="Group of the rule."),
                col("metadata", "json", doc="What the rule says of itself."),
            ),
            src="/event/alert",
            doc="The rule that matched.",
        ),
        col(
            "netflow",
            struct(
                col("pkts", "bigint", doc="Packets."),
                col("bytes", "bigint", doc="Bytes."),
                col("start", "timestamp", doc="First packet, UTC."),
                col("end", "timestamp", doc="Last packet, UTC."),
                col("age", "bigint", doc="Seconds between them."),
                col("min_ttl", "integer", doc="Smallest time to live."),
                col("max_ttl", "integer", doc="Largest time to live."),
                col("tx_cnt", "bigint", doc="Transactions."),
                col("state", doc="new, established, closed or bypassed."),
                col("reason", doc="Why the flow was logged: timeout, forced or shutdown."),
            ),
            src="/event/netflow",
            doc="One direction of a flow.",
        ),
        col("tcp", "json", src="/event/tcp", doc="Flags and state of TCP."),
        col("tls", "json", src="/event/tls", doc="TLS of the connection: server name, subject, issuer, version."),
        col("sni", src="/event/sni", doc="Server name that the client sent, in TLS inspection."),
        col("tls_error", "json", src="/event/tls_error", doc="Why TLS inspection failed."),
        col("revocation_check", "json", src="/event/revocation_check", doc="State of the server's certificate."),
        col("http", "json", src="/event/http", doc="The HTTP request: hostname, url, user agent, status."),
        col("dns", "json", src="/event/dns", doc="The DNS query or answer."),
    ),
    common=Common(
        time=("timestamp", "event_timestamp"),
        source_ip="src_ip",
        destination_ip="dest_ip",
        ips=("src_ip", "dest_ip"),
        domains=("sni", Sql("tls ->> 'sni'"), Sql("http ->> 'hostname'"), Sql("dns ->> 'rrname'")),
    ),
    file_layout=(
        (
            "aws_s3_bucket",
            "AWSLogs/%{NUMBER:account_id}/network-firewall/%{DATA:log_type}/%{DATA:region}/%{DATA:firewall_name}/"
            "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{HOUR:hour}/%{DATA}.log.gz",
        ),
    ),
)

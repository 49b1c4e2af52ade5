"""Amazon Route 53 Resolver query log: one row per DNS query from a VPC."""

from tailrace.core import Common, Jsonl, Sql, Table, col, struct

# A query ends with a dot, a domain name among the shared columns does not.
DOMAIN = "nullif(rtrim(query_name, '.'), '')"
ANSWERED = "list_filter(json_extract_string(answers, '$[*].Rdata'), lambda a: regexp_matches(a, '^[0-9a-fA-F.:]*$'))"

TABLE = Table(
    name="aws_route53_resolver_query_log",
    doc="DNS queries from VPCs, and how Route 53 Resolver answered them.",
    format=Jsonl(unwrap=("logEvents.message", "events.message", "message")),
    columns=(
        col("query_timestamp", "timestamp", doc="When the query came, UTC."),
        col("version", doc="Version of the log's format."),
        col("account_id", doc="Account that owns the VPC."),
        col("region", doc="Region of the VPC."),
        col("vpc_id", doc="VPC that the query came from."),
        col("query_name", doc="Name that was asked for, with a dot at its end."),
        col("query_type", doc="A, AAAA, MX, TXT … or a number."),
        col("query_class", doc="IN for the Internet."),
        col("rcode", doc="NOERROR, NXDOMAIN, SERVFAIL … or a number."),
        col("answers", "json", doc="Answers as a list of Rdata, Type and Class."),
        col("srcaddr", doc="Address that the query came from."),
        col("srcport", "integer", doc="Port that the query came from."),
        col("transport", doc="UDP or TCP."),
        col(
            "srcids",
            struct(
                col("instance", doc="Instance that asked."),
                col("resolver_endpoint", doc="Inbound endpoint that passed the query on."),
                col("resolver_network_interface", doc="Network interface of that endpoint."),
            ),
            doc="Ids of what the query came from.",
        ),
        col("firewall_rule_group_id", doc="Rule group of the DNS firewall that matched."),
        col("firewall_rule_action", doc="ALERT or BLOCK."),
        col("firewall_domain_list_id", doc="Domain list of the rule that matched."),
        col("firewall_protection", doc="Advanced protection that matched: DGA or DNS_TUNNELING."),
    ),
    common=Common(
        time=("query_timestamp",),
        source_ip="srcaddr",
        ips=("srcaddr", Sql(ANSWERED)),
        akas=("vpc_id", "srcids.instance"),
        domains=(Sql(DOMAIN),),
    ),
    file_layout=(
        (
            "aws_s3_bucket",
            "AWSLogs/%{NUMBER:account_id}/vpcdnsquerylogs/%{DATA:vpc_id}/%{YEAR:year}/%{MONTHNUM:month}/"
            "%{MONTHDAY:day}/%{DATA}.log.gz",
        ),
    ),
)

"""AWS WAF traffic log: one row per web request that a web ACL looked at."""

from tailrace.core import Common, Jsonl, StartsWith, Table, col, struct

RESPONSE = struct(
    col("responseCode", "bigint", doc="Status that was sent."),
    col("solveTimestamp", "bigint", doc="When the puzzle was solved, in seconds since 1970."),
    col("failureReason", doc="Why the token was not accepted."),
)

TABLE = Table(
    name="aws_waf_traffic_log",
    doc="Web requests that AWS WAF looked at: what they were, which rules matched, and what was done.",
    format=Jsonl(keys="camel", unwrap=("logEvents.message", "events.message", "message")),
    columns=(
        col("timestamp", "timestamp", time="epoch_ms", doc="When the request was looked at, UTC."),
        col("format_version", "integer", doc="Version of the log's format."),
        col("web_acl_id", src="webaclId", required=True, doc="ARN of the web ACL."),
        col("terminating_rule_id", doc="Rule that decided; Default_Action if none did."),
        col("terminating_rule_type", doc="REGULAR, RATE_BASED, GROUP or MANAGED_RULE_GROUP."),
        col("action", doc="ALLOW, BLOCK, CAPTCHA or CHALLENGE."),
        col("terminating_rule_match_details", "json", doc="What the rule matched: SQL injection and scripting only."),
        col("http_source_name", doc="CF, ALB, APIGW, APPSYNC, COGNITO_USER_POOL …"),
        col("http_source_id", doc="Id of the protected resource."),
        col("rule_group_list", "json", doc="Rule groups that looked at the request, and what they found."),
        col("rate_based_rule_list", "json", doc="Rate-based rules that looked at the request."),
        col("non_terminating_matching_rules", "json", doc="Rules that matched and only counted."),
        col("request_headers_inserted", "json", doc="Headers that were added for the application."),
        col("response_code_sent", "bigint", doc="Status of a custom response."),
        col(
            "http_request",
            struct(
                col("clientIp", doc="Address of the client."),
                col("country", doc="Country of the address; - if it is not known."),
                col("headers", "json", doc="Headers as a list of name and value."),
                col("uri", doc="Path of the request."),
                col("args", doc="Arguments of the request."),
                col("httpVersion", doc="HTTP/1.1, HTTP/2.0 …"),
                col("httpMethod", doc="GET, POST …"),
                col("requestId", doc="Id that the protected resource gave the request."),
                col("fragment", doc="What follows # in the URL."),
                col("scheme", doc="http or https."),
                col("host", doc="Host of the request."),
            ),
            doc="The request.",
        ),
        col("labels", "json", doc="Labels that rules gave the request, as a list of names."),
        col("captcha_response", RESPONSE, doc="What came of a CAPTCHA."),
        col("challenge_response", RESPONSE, doc="What came of a silent challenge."),
        col("ja3_fingerprint", src="ja3Fingerprint", doc="JA3 fingerprint of the client's TLS."),
        col("ja4_fingerprint", src="ja4Fingerprint", doc="JA4 fingerprint of the client's TLS."),
        col("oversize_fields", "varchar[]", doc="Parts of the request that were too long to look at."),
        col("request_body_size", "bigint", doc="Bytes of the request's body."),
        col(
            "request_body_size_inspected_by_waf",
            "bigint",
            src="requestBodySizeInspectedByWAF",
            doc="Bytes of the request's body that were looked at.",
        ),
    ),
    common=Common(
        time=("timestamp",),
        source_ip="http_request.clientIp",
        ips=("http_request.clientIp",),
        akas=("web_acl_id", StartsWith("http_source_id", "arn:")),
        domains=("http_request.host",),
    ),
    file_layout=(
        (
            "aws_s3_bucket",
            "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/WAFLogs/%{DATA:cloudfront_or_region}/"
            "%{DATA:cloudfront_name_or_resource_name}/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{HOUR:hour}/"
            "%{MINUTE:minute}/%{DATA}.log.gz",
        ),
    ),
)

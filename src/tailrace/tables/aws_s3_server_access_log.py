"""Amazon S3 server access log: one row per request to a bucket."""

from tailrace.core import Common, Layout, Table, col

# AWS appends fields over the years: old lines end earlier, and what follows the last known one is kept as `tp_rest`.
BEFORE = "bucket_owner bucket [timestamp] remote_ip"
AFTER = (
    'requester request_id operation key "request_uri" http_status error_code bytes_sent object_size total_time '
    'turn_around_time "referer" "user_agent" version_id ?host_id ?signature_version ?cipher_suite '
    "?authentication_type ?host_header ?tls_version ?access_point_arn ?acl_required ?source_region"
)
# S3 has been seen to write two blanks before the requester.
DEFAULT = Layout(f"{BEFORE} {AFTER}", also=(f"{BEFORE}  {AFTER}",))

TABLE = Table(
    name="aws_s3_server_access_log",
    doc="Requests to Amazon S3 buckets: who asked for which object, and what came of it.",
    null="-",
    format=DEFAULT,
    columns=(
        col("bucket_owner", doc="Canonical user id of the bucket's owner."),
        col("bucket", doc="Bucket that the request was made to."),
        col("timestamp", "timestamp", time="%d/%b/%Y:%H:%M:%S %z", doc="When the request was received, UTC."),
        col("remote_ip", doc="Address of the requester, as S3 saw it."),
        col("requester", doc="Canonical user id or ARN of the requester; null for anonymous requests."),
        col("request_id", unique=True, doc="Id that S3 gave the request."),
        col("operation", doc="What was done, such as REST.GET.OBJECT or BATCH.DELETE.OBJECT."),
        col("key", doc="Key of the object, URL-encoded."),
        col("request_uri", doc="Request line: method, target and protocol."),
        col("http_status", "bigint", doc="Status of the response."),
        col("error_code", doc="Error of S3, such as NoSuchKey."),
        col("bytes_sent", "bigint", doc="Bytes of the response without its header."),
        col("object_size", "bigint", doc="Bytes of the whole object."),
        col("total_time", "bigint", doc="Milliseconds from the receipt of the request to the last byte sent."),
        col("turn_around_time", "bigint", doc="Milliseconds that S3 spent on the request itself."),
        col("referer", doc="Page that linked here."),
        col("user_agent", doc="What the client says it is."),
        col("version_id", doc="Version of the object."),
        col("host_id", unique=True, doc="Extended id of the request, for AWS support."),
        col("signature_version", doc="SigV2 or SigV4."),
        col("cipher_suite", doc="TLS cipher; null for plain HTTP."),
        col("authentication_type", doc="AuthHeader, QueryString; null for anonymous requests."),
        col("host_header", doc="Endpoint through which S3 was reached."),
        col("tls_version", doc="TLS version of the client."),
        col("access_point_arn", doc="ARN of the access point, if one was used."),
        col("acl_required", "boolean", doc="Whether the request was allowed by an ACL."),
        col("source_region", doc="AWS region from which the request came."),
    ),
    common=Common(
        time=("timestamp",),
        source_ip="remote_ip",
        ips=("remote_ip",),
        akas=("access_point_arn",),
        domains=("host_header",),
        usernames=("requester", "bucket_owner"),
    ),
    file_layout=(
        (
            "aws_s3_bucket",
            "(%{NUMBER:account_id}/%{DATA:region}/%{DATA:bucket_name}/%{YEAR:partition_year}/"
            "%{MONTHNUM:partition_month}/%{MONTHDAY:partition_day}/)?%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}-"
            "%{HOUR:hour}-%{MINUTE:minute}-%{SECOND:second}-%{DATA:suffix}",
        ),
    ),
)

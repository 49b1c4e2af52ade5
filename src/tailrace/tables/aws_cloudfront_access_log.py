"""Amazon CloudFront access log, standard logging of both versions: one row per request of a viewer."""

from tailrace.core import Common, Jsonl, Parquet, Preset, Table, W3c, col

FIELDS = (
    "date", "time", "x-edge-location", "sc-bytes", "c-ip", "cs-method", "cs(Host)", "cs-uri-stem", "sc-status",
    "cs(Referer)", "cs(User-Agent)", "cs-uri-query", "cs(Cookie)", "x-edge-result-type", "x-edge-request-id",
    "x-host-header", "cs-protocol", "cs-bytes", "time-taken", "x-forwarded-for", "ssl-protocol", "ssl-cipher",
    "x-edge-response-result-type", "cs-protocol-version", "fle-status", "fle-encrypted-fields", "c-port",
    "time-to-first-byte", "x-edge-detailed-result-type", "sc-content-type", "sc-content-len", "sc-range-start",
    "sc-range-end",
)  # fmt: skip
# For files that have lost their header: CloudFront has added fields at the end over the years.
WIDTHS = (33, 26, 24, 23, 20, 19, 18, 15, 12)
WRITTEN = """
try_cast(coalesce(date_time, date || ' ' || time,
                  make_timestamp_ms(try_cast("timestamp(ms)" as bigint))::varchar,
                  make_timestamp(try_cast("timestamp" as bigint) * 1000000)::varchar) as timestamp)
"""

TABLE = Table(
    name="aws_cloudfront_access_log",
    doc="Requests of viewers to Amazon CloudFront.",
    null="-",
    format=W3c(tuple(FIELDS[:width] for width in WIDTHS)),
    presets=(
        Preset("json", Jsonl(unwrap=("logEvents.message", "events.message")), "Standard logging (v2) in JSON."),
        Preset("parquet", Parquet(), "Standard logging (v2) in Parquet."),
    ),
    columns=(
        col("timestamp", "timestamp", sql=WRITTEN, doc="When the response was finished, UTC."),
        col("x_edge_location", src="x-edge-location", doc="Edge location that served the request."),
        col("sc_bytes", "bigint", "sc-bytes", "Bytes sent to the viewer, with headers."),
        col("c_ip", src="c-ip", doc="Address of the viewer."),
        col("cs_method", src="cs-method", doc="GET, POST …"),
        col("cs_host", src="cs(Host)", doc="Domain name of the distribution."),
        col("cs_uri_stem", src="cs-uri-stem", doc="Path of the request."),
        col("sc_status", "integer", "sc-status", "Status of the response; 000 if the viewer went away before it."),
        col("cs_referer", src="cs(Referer)", doc="Page that linked here."),
        col("cs_user_agent", src="cs(User-Agent)", doc="What the viewer says it is, URL-encoded."),
        col("cs_uri_query", src="cs-uri-query", doc="Arguments of the request."),
        col("cs_cookie", src="cs(Cookie)", doc="Cookies of the request."),
        col("x_edge_result_type", src="x-edge-result-type", doc="Hit, RefreshHit, Miss, LimitExceeded, Error …"),
        col("x_edge_request_id", src="x-edge-request-id", unique=True, doc="Id of the request."),
        col("x_host_header", src="x-host-header", doc="Host header of the request."),
        col("cs_protocol", src="cs-protocol", doc="http, https, ws, wss or grpcs."),
        col("cs_bytes", "bigint", "cs-bytes", "Bytes of the request, with headers."),
        col("time_taken", "double", "time-taken", "Seconds from the request's arrival to the last byte sent."),
        col("x_forwarded_for", src="x-forwarded-for", doc="Addresses of the viewer before proxies."),
        col("ssl_protocol", src="ssl-protocol", doc="TLS version."),
        col("ssl_cipher", src="ssl-cipher", doc="TLS cipher."),
        col("x_edge_response_result_type", src="x-edge-response-result-type", doc="Result just before the response."),
        col("cs_protocol_version", src="cs-protocol-version", doc="HTTP/1.1, HTTP/2.0, HTTP/3.0 …"),
        col("fle_status", src="fle-status", doc="What came of field-level encryption."),
        col("fle_encrypted_fields", "integer", "fle-encrypted-fields", "Fields that were encrypted."),
        col("c_port", "integer", "c-port", "Port of the viewer."),
        col("time_to_first_byte", "double", "time-to-first-byte", "Seconds to the first byte sent."),
        col("x_edge_detailed_result_type", src="x-edge-detailed-result-type", doc="Result with the kind of error."),
        col("sc_content_type", src="sc-content-type", doc="Content-Type of the response."),
        col("sc_content_len", "bigint", "sc-content-len", "Content-Length of the response."),
        col("sc_range_start", "bigint", "sc-range-start", "First byte of a range."),
        col("sc_range_end", "bigint", "sc-range-end", "Last byte of a range."),
        col("distribution_id", src="DistributionId", doc="Id of the distribution; v2 only."),
        col("c_country", src="c-country", doc="Country of the viewer; v2 only."),
        col("asn", "bigint", doc="Autonomous system of the viewer; v2 only."),
    ),
    common=Common(
        time=("timestamp",),
        source_ip="c_ip",
        ips=("c_ip",),
        akas=("distribution_id",),
        domains=("x_host_header", "cs_host"),
    ),
    file_layout=(
        (
            "aws_s3_bucket",
            "(%{DATA:prefix}/)?%{DATA:distribution}.%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}-%{HOUR:hour}."
            "%{DATA:id}.gz",
        ),
    ),
)

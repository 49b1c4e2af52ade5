"""Internet Information Services access log, W3C format: one row per request."""

from tailrace.core import Common, Table, W3c, col

# What IIS writes unless told otherwise, and the lists that its tools offer: for files that have lost their header.
DEFAULT = (
    "date", "time", "s-ip", "cs-method", "cs-uri-stem", "cs-uri-query", "s-port", "cs-username", "c-ip",
    "cs(User-Agent)", "cs(Referer)", "sc-status", "sc-substatus", "sc-win32-status", "time-taken",
)  # fmt: skip
ALL = (
    "date", "time", "s-sitename", "s-computername", "s-ip", "cs-method", "cs-uri-stem", "cs-uri-query", "s-port",
    "cs-username", "c-ip", "cs-version", "cs(User-Agent)", "cs(Cookie)", "cs(Referer)", "cs-host", "sc-status",
    "sc-substatus", "sc-win32-status", "sc-bytes", "cs-bytes", "time-taken",
)  # fmt: skip
REFUSED = (
    "date", "time", "c-ip", "c-port", "s-ip", "s-port", "cs-version", "cs-method", "cs-uri", "sc-status", "s-siteid",
    "s-reason", "s-queuename",
)  # fmt: skip
FORWARDED = "X-Forwarded-For"

TABLE = Table(
    name="iis_access_log",
    doc="Requests served by Internet Information Services.",
    null="-",
    format=W3c((DEFAULT, (*DEFAULT, FORWARDED), ALL, (*ALL, FORWARDED), REFUSED)),
    columns=(
        col("timestamp", "timestamp", "date_time", "When the request was answered, UTC."),
        col("s_sitename", src="s-sitename", doc="Service and instance of the site, such as W3SVC1."),
        col("s_computername", src="s-computername", doc="Name of the server."),
        col("s_ip", src="s-ip", doc="Address of the server."),
        col("s_port", "integer", "s-port", "Port of the server."),
        col("cs_method", src="cs-method", doc="GET, POST …"),
        col("cs_uri_stem", src="cs-uri-stem", doc="Target of the request without its arguments."),
        col("cs_uri_query", src="cs-uri-query", doc="Arguments of the request."),
        col("cs_username", src="cs-username", doc="User name of the authentication."),
        col("c_ip", src="c-ip", doc="Address of the client."),
        col("cs_version", src="cs-version", doc="HTTP/1.1, HTTP/2 …"),
        col("cs_user_agent", sql="""replace("cs(User-Agent)", '+', ' ')""", doc="What the client says it is."),
        col("cs_cookie", src="cs(Cookie)", doc="Cookies of the request."),
        col("cs_referer", src="cs(Referer)", doc="Page that linked here."),
        col("cs_host", src="cs-host", doc="Host header."),
        col("sc_status", "integer", "sc-status", "Status of the response."),
        col("sc_substatus", "integer", "sc-substatus", "Substatus: what IIS adds to the status."),
        col("sc_win32_status", "bigint", "sc-win32-status", "Error of Windows, 0 if there was none."),
        col("sc_bytes", "bigint", "sc-bytes", "Bytes sent."),
        col("cs_bytes", "bigint", "cs-bytes", "Bytes received."),
        col("time_taken", "bigint", "time-taken", "Milliseconds to serve the request."),
        col("x_forwarded_for", src=FORWARDED, doc="Addresses that a proxy adds."),
        col("c_port", "integer", "c-port", "Port of the client; of requests that HTTP.sys refused."),
        col("cs_uri", src="cs-uri", doc="Target of the request; of requests that HTTP.sys refused."),
        col("s_siteid", src="s-siteid", doc="Site; of requests that HTTP.sys refused."),
        col("s_reason", src="s-reason", doc="Why HTTP.sys refused the request."),
        col("s_queuename", src="s-queuename", doc="Application pool; of requests that HTTP.sys refused."),
    ),
    common=Common(
        time=("timestamp",),
        source_ip="c_ip",
        destination_ip="s_ip",
        ips=("c_ip", "s_ip", "x_forwarded_for"),
        domains=("cs_host",),
        akas=("s_sitename", "s_computername"),
        usernames=("cs_username",),
    ),
)

"""Apache HTTP server access log: one row per request."""

from tailrace.core import Common, Layout, Preset, Table, col

REQUEST = (("request", ("request_method", "request_uri", "server_protocol")),)
COMMON_TEXT = '%h %l %u %t "%r" %>s %b'
COMBINED_TEXT = f'{COMMON_TEXT} "%{{Referer}}i" "%{{User-Agent}}i"'
SSL_REQUEST_TEXT = '%t %h %{SSL_PROTOCOL}x %{SSL_CIPHER}x "%r" %b'
COMMON = Layout(COMMON_TEXT, dialect="apache", split=REQUEST)
COMBINED = Layout(COMBINED_TEXT, dialect="apache", split=REQUEST)
COMBINED_IO = Layout(f"{COMBINED_TEXT} %I %O", dialect="apache", split=REQUEST)
DEFAULT = Layout(
    COMBINED_TEXT,
    dialect="apache",
    split=REQUEST,
    also=(
        COMMON_TEXT,
        *(f"{host} {text}" for text in (COMBINED_TEXT, COMMON_TEXT) for host in ("%v:%p", "%v")),
        SSL_REQUEST_TEXT,
    ),
)

TABLE = Table(
    name="apache_access_log",
    doc="Requests served by the Apache HTTP server.",
    null="-",
    format=DEFAULT,
    presets=(
        Preset("common", COMMON, "Apache's `common` log format."),
        Preset("combined", COMBINED, "Apache's `combined` log format."),
        Preset("combinedio", COMBINED_IO, "Apache's `combinedio` log format, with bytes received and sent."),
    ),
    columns=(
        col("remote_addr", doc="Address or name of the client."),
        col("remote_logname", doc="Name from identd."),
        col("remote_user", doc="User name of the authentication."),
        col("timestamp", "timestamp", time="%d/%b/%Y:%H:%M:%S %z", doc="When the request was received, UTC."),
        col("request_method", doc="GET, POST …"),
        col("request_uri", doc="Target of the request with its arguments, as sent."),
        col("server_protocol", doc="HTTP/1.0, HTTP/1.1, HTTP/2.0 …"),
        col("status", "integer", doc="Status of the response."),
        col("body_bytes_sent", "integer", doc="Bytes of the response without its header."),
        col("http_referer", doc="Page that linked here."),
        col("http_user_agent", doc="What the client says it is."),
        col("local_addr", doc="Address of the server."),
        col("filename", doc="File that was served."),
        col("keepalive_requests", "integer", doc="Requests made through the connection so far."),
        col("server_name", doc="Name of the server that took the request."),
        col("server_port", "integer", doc="Canonical port of the server."),
        col("client_port", "integer", doc="Port of the client."),
        col("apache_port", "integer", doc="Port the server listens on."),
        col("pid", "integer", doc="Process that served the request."),
        col("thread_id", "integer", doc="Thread that served the request."),
        col("hex_thread_id", doc="Thread that served the request, in hexadecimal."),
        col("query_string", doc="Arguments of the request, with the question mark."),
        col("handler", doc="Handler that made the response."),
        col("request_time", "float", doc="Seconds to serve the request."),
        col("request_time_ms", "float", doc="Milliseconds to serve the request."),
        col("request_time_us", "float", doc="Microseconds to serve the request."),
        col("connection_status", doc="X aborted, + kept alive, - closed."),
        col("bytes_received", "integer", doc="Bytes of the request with its header."),
        col("bytes_sent", "integer", doc="Bytes of the response with its header."),
        col("bytes_transferred", "integer", doc="Bytes received and sent."),
    ),
    common=Common(
        time=("timestamp",),
        source_ip="remote_addr",
        destination_ip="local_addr",
        ips=("remote_addr", "local_addr"),
        usernames=("remote_user",),
    ),
)

"""nginx access log: one row per request."""

from tailrace.core import At, Common, Jsonl, Layout, Preset, Table, col

REQUEST = (("request", ("request_method", "request_uri", "server_protocol")),)
COMBINED_TEXT = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
)
COMBINED = Layout(COMBINED_TEXT, dialect="nginx", split=REQUEST)
MAIN_TEXT = f'{COMBINED_TEXT} "$http_x_forwarded_for"'
MAIN = Layout(MAIN_TEXT, dialect="nginx", split=REQUEST)
# The default of Kubernetes' ingress-nginx.
INGRESS_TEXT = (
    f"{COMBINED_TEXT} $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name]"
    " $upstream_addr $upstream_response_length $upstream_response_time $upstream_status $req_id"
)
INGRESS = Layout(INGRESS_TEXT, dialect="nginx", split=REQUEST)
# What people most often put in front: the host, with or without port, and the addresses of proxies.
FRONTS = (
    "$host:$server_port",
    "$host",
    '"$http_x_forwarded_for"',
    "$http_x_forwarded_for",
    '$host:$server_port "$http_x_forwarded_for"',
    '$host "$http_x_forwarded_for"',
    "$host $http_x_forwarded_for",
)
DEFAULT = Layout(
    COMBINED_TEXT,
    dialect="nginx",
    split=REQUEST,
    also=(MAIN_TEXT, INGRESS_TEXT, *(f"{front} {COMBINED_TEXT}" for front in FRONTS)),
)
LISTED = "Of several: null, and the list in `tp_extra`."
"nginx asks the next server where one fails, and then writes what it knows of each."
LOCAL_TIME = "%d/%b/%Y:%H:%M:%S %z"

TABLE = Table(
    name="nginx_access_log",
    doc="Requests served by nginx.",
    null="-",
    format=DEFAULT,
    presets=(
        Preset("combined", COMBINED, "nginx's own default."),
        Preset("main", MAIN, "What the packaged nginx.conf calls `main`."),
        Preset("ingress", INGRESS, "The default of Kubernetes' ingress-nginx."),
        Preset("json", Jsonl(), "Objects in JSON with the names of nginx's variables as keys."),
    ),
    columns=(
        col("remote_addr", doc="Address of the client."),
        col("host", doc="Host of the request line, of the Host header, or the server's name."),
        col("remote_user", doc="User name of basic authentication."),
        col("time_local", doc="Local time in the common log format, as written."),
        col("request_method", doc="GET, POST …"),
        col("request_uri", doc="Target of the request with its arguments, as sent."),
        col("server_protocol", doc="HTTP/1.0, HTTP/1.1, HTTP/2.0 …"),
        col("status", "integer", doc="Status of the response."),
        col("body_bytes_sent", "integer", doc="Bytes sent to the client without the header."),
        col("http_referer", doc="Page that linked here."),
        col("http_user_agent", doc="What the client says it is."),
        col("scheme", doc="http or https."),
        col("http_host", doc="Host header."),
        col("http_cookie", doc="Cookie header."),
        col("content_length", "integer", doc="Content-Length of the request."),
        col("content_type", doc="Content-Type of the request."),
        col("request_length", "integer", doc="Bytes of the request with its header."),
        col("server_name", doc="Name of the server that took the request."),
        col("server_addr", doc="Address of the server that took the request."),
        col("server_port", "integer", doc="Port of the server that took the request."),
        col("connection", doc="Serial number of the connection."),
        col("connection_requests", "integer", doc="Requests made through the connection so far."),
        col("msec", "double", doc="Seconds since 1970, with milliseconds."),
        col("time_iso8601", "timestamp", doc="Local time in ISO 8601, stored as UTC."),
        col("bytes_sent", "integer", doc="Bytes sent to the client."),
        col("request_time", "float", doc="Seconds from the first byte read to the last byte sent."),
        col("pipe", doc="p if the request was pipelined."),
        col("upstream_addr", doc="Address of the upstream server; several are separated by commas."),
        col("upstream_status", "integer", doc=f"Status of the upstream's response. {LISTED}"),
        col("upstream_connect_time", "float", doc=f"Seconds to connect to the upstream. {LISTED}"),
        col("upstream_header_time", "float", doc=f"Seconds to the first byte of the upstream's header. {LISTED}"),
        col("upstream_response_time", "float", doc=f"Seconds to the last byte of the upstream's response. {LISTED}"),
        col("ssl_protocol", doc="TLS version."),
        col("ssl_cipher", doc="TLS cipher."),
        col("ssl_session_id", doc="TLS session."),
        col("ssl_client_cert", doc="Client certificate in PEM."),
        col("gzip_ratio", "float", doc="Compression ratio of the response."),
    ),
    common=Common(
        time=("time_iso8601", At("time_local", LOCAL_TIME), At("msec", "epoch_s")),
        source_ip="remote_addr",
        destination_ip="server_addr",
        ips=("remote_addr", "server_addr", "upstream_addr"),
        akas=("host", "http_host"),
        domains=("host", "http_host"),
        usernames=("remote_user",),
    ),
)

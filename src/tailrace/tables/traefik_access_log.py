"""Traefik access log: one row per request."""

from tailrace.core import Common, Jsonl, Preset, Regex, Table, col

QUOTED = r"(?:-|\"(?<{name}>(?:[^\"\\]|\\.)*)\")"
LINE = (
    r"^(?<client_host>\S+) \S+ (?<client_user>\S+) \[(?<start_local>[^\]]+)\]"
    r" \"(?<request_method>\S+) (?<request_path>\S*)(?: (?<request_protocol>[^\"]*))?\" (?<status>\S+) (?<size>\S+)"
    rf"(?: {QUOTED.format(name='referer')} {QUOTED.format(name='user_agent')}(?: (?<request_count>\S+)"
    rf" {QUOTED.format(name='router_name')} {QUOTED.format(name='service_url')} (?<duration_ms>[0-9.]+)ms)?)?$"
)
TEXT = Regex(LINE)
JSON = Jsonl(
    field_map=(
        ("client_host", "ClientHost"), ("client_user", "ClientUsername"), ("request_method", "RequestMethod"),
        ("request_path", "RequestPath"), ("request_protocol", "RequestProtocol"), ("status", "DownstreamStatus"),
        ("size", "DownstreamContentSize"), ("referer", "request_Referer"), ("user_agent", "request_User-Agent"),
        ("request_count", "RequestCount"), ("router_name", "RouterName"), ("service_url", "ServiceURL"),
    ),
)  # fmt: skip

TABLE = Table(
    name="traefik_access_log",
    doc="Requests through Traefik.",
    null="-",
    format=TEXT,
    presets=(
        Preset("common", TEXT, "Traefik's own default."),
        Preset("json", JSON, "`accessLog.format = json`."),
    ),
    columns=(
        col(
            "timestamp",
            "timestamp",
            sql="coalesce(try_strptime(start_local, '%d/%b/%Y:%H:%M:%S %z'), try_cast(\"StartUTC\" as timestamptz))",
            doc="When the request was received, UTC.",
        ),
        col("logged_at", "timestamp", "time", "When the line was written, UTC; JSON only."),
        col("client_host", doc="Address of the client."),
        col("client_user", doc="User name of the authentication."),
        col("request_method", doc="GET, POST …"),
        col("request_path", doc="Target of the request with its arguments, as sent."),
        col("request_protocol", doc="HTTP/1.1, HTTP/2.0 …"),
        col("status", "integer", doc="Status of the response."),
        col("size", "bigint", doc="Bytes of the response without its header."),
        col("referer", doc="Page that linked here."),
        col("user_agent", doc="What the client says it is."),
        col("request_count", "bigint", doc="Requests since Traefik began."),
        col("router_name", doc="Router, or frontend, that took the request."),
        col("service_url", doc="Server that was asked."),
        col(
            "duration_ms",
            "double",
            sql='coalesce(try_cast(duration_ms as double), try_cast("Duration" as double) / 1e6)',
            doc="Milliseconds to serve the request.",
        ),
    ),
    common=Common(
        time=("timestamp", "logged_at"),
        source_ip="client_host",
        ips=("client_host",),
        akas=("router_name", "service_url"),
        usernames=("client_user",),
    ),
)

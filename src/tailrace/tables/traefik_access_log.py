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
        ("client_user", "ClientUsername"), ("request_method", "RequestMethod"),
        ("request_path", "RequestPath"), ("request_protocol", "RequestProtocol"), ("status", "DownstreamStatus"),
        ("size", "DownstreamContentSize"), ("referer", "request_Referer"), ("user_agent", "request_User-Agent"),
        ("request_count", "RequestCount"), ("router_name", "RouterName"),
    ),
)  # fmt: skip
# Traefik 2 takes URLs apart.
SERVICE = """coalesce(service_url, case when ServiceURL like '{%' then nullif(concat(try(ServiceURL ->> 'Scheme'), '://',
  try(ServiceURL ->> 'Host'), try(ServiceURL ->> 'Path')), '://') else ServiceURL end)"""
CLIENT = r"coalesce(client_host, ClientHost, nullif(regexp_extract(ClientAddr, '^\[?(.+?)\]?:\d+$', 1), ''))"
TIMES = """coalesce(try_strptime(start_local, '%d/%b/%Y:%H:%M:%S %z'), try_cast(StartUTC as timestamptz),
  try_cast(StartLocal as timestamptz))"""


def milliseconds(field: str) -> str:
    """Nanoseconds as milliseconds."""
    return f'try_cast("{field}" as double) / 1e6'


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
        col("timestamp", "timestamp", sql=TIMES, doc="When the request was received, UTC."),
        col("logged_at", "timestamp", "time", "When the line was written, UTC; JSON only."),
        col("client_host", sql=CLIENT, doc="Address of the client."),
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
        col("service_url", sql=SERVICE, doc="Server that was asked."),
        col(
            "duration_ms",
            "double",
            sql=f"coalesce(try_cast(duration_ms as double), {milliseconds('Duration')})",
            doc="Milliseconds to serve the request.",
        ),
        col("client_port", "integer", src="ClientPort", doc="Port of the client; this and all below JSON only."),
        col("entry_point_name", src="entryPointName", doc="Entry point that the request came through."),
        col("request_scheme", src="RequestScheme", doc="http or https."),
        col("request_host", src="RequestHost", doc="Host that was asked, without its port."),
        col("request_port", "integer", src="RequestPort", doc="Port that was asked."),
        col("request_content_size", "bigint", src="RequestContentSize", doc="Bytes of the request's body."),
        col("service_name", src="ServiceName", doc="Service that the router chose."),
        col("service_addr", src="ServiceAddr", doc="Address of the server that was asked."),
        col("origin_status", "integer", src="OriginStatus", doc="Status of the server's answer."),
        col("origin_content_size", "bigint", src="OriginContentSize", doc="Bytes of the server's answer."),
        col(
            "origin_duration_ms", "double", sql=milliseconds("OriginDuration"), doc="Milliseconds that the server took."
        ),
        col("overhead_ms", "double", sql=milliseconds("Overhead"), doc="Milliseconds that Traefik itself took."),
        col("retry_attempts", "integer", src="RetryAttempts", doc="How often it was tried again."),
        col("tls_version", src="TLSVersion", doc="TLS version."),
        col("tls_cipher", src="TLSCipher", doc="TLS cipher."),
    ),
    common=Common(
        time=("timestamp", "logged_at"),
        source_ip="client_host",
        ips=("client_host",),
        akas=("router_name", "service_name", "service_url"),
        domains=("request_host",),
        usernames=("client_user",),
    ),
)

"""HAProxy log, with or without a syslog header: one row per request, connection or message."""

from tailrace.core import Common, Regex, Table, col
from tailrace.core.columns import Column

TIME = r"[A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+"
WRITTEN = rf"(?<syslog_time>{TIME}) (?:(?<hostname>\S+) )?"
PROCESS = r"(?<process_name>[^\s\[:]+)(?:\[(?<pid>\d+)\])?: "
# `log … format rfc5424` puts a version before the time, and message id and structured data behind the process.
MODERN = r"(?<process_name>\S+) (?<pid>\d+|-) \S+ (?:-|\[.*?\]) "
HEADER = rf"(?:<\d{{1,3}}>)?(?:1 )?{WRITTEN}(?:{PROCESS}|{MODERN})"
PERHAPS = rf"(?:(?:<\d{{1,3}}>)?(?:1 )?(?:{WRITTEN})?(?:{PROCESS}|{MODERN}))?"
CLIENT = r"(?<client_ip>\S*?):(?<client_port>\d+) \[(?<accept_date>[^\]]+)\] (?<frontend_name>\S+)"
SERVER = rf"{CLIENT} (?<backend_name>[^/\s]+)/(?<server_name>\S+)(?: (?<host>[^\s/]+))?"
COUNTS = (
    r"(?<actconn>\d+)/(?<feconn>\d+)/(?<beconn>\d+)/(?<srv_conn>\d+)/(?<retries>\+?\d+)"
    r" (?<srv_queue>\d+)/(?<backend_queue>\d+)"
)
HTTP = (
    rf"{SERVER} (?<time_request>-?\d+)/(?<time_queue>-?\d+)/(?<time_connect>-?\d+)/(?<time_response>-?\d+)"
    r"/\+?(?<time_total>-?\d+) (?<status>-?\d+) \+?(?<bytes_read>\d+) (?<request_cookie>\S+) (?<response_cookie>\S+)"
    rf" (?<termination_state>\S{{4}}) {COUNTS}"
    r"(?: \{(?<request_headers>[^}]*)\})?(?: \{(?<response_headers>[^}]*)\})? \"(?<request>.*)\""
)
# What `option httpslog` adds.
TLS = (
    r" (?<fc_err>-|\d+)/(?<ssl_fc_err>-|[0-9A-Fa-f]+)/(?<ssl_c_err>-|\d+)/(?<ssl_c_ca_err>-|\d+)"
    r"/(?<ssl_resumed>-|\d) (?<ssl_sni>[^/\s]+)/(?<ssl_version>[^/\s]+)/(?<ssl_cipher>\S+)"
)
TCP = (
    rf"{SERVER} (?<time_queue>-?\d+)/(?<time_connect>-?\d+)/\+?(?<time_total>-?\d+) \+?(?<bytes_read>\d+)"
    rf" (?<termination_state>\S{{2}}) {COUNTS}$"
)
FAILED = rf"{CLIENT}: (?<message>.*)$"
CONNECT = (
    r"Connect from (?<client_ip>\S+):(?<client_port>\d+) to (?<destination_ip>\S+):(?<destination_port>\d+)"
    r" \((?<frontend_name>[^/)]+)/(?<mode>\w+)\)$"
)


def milliseconds(name: str, doc: str) -> Column:
    return col(f"time_{name}", "integer", doc=f"Milliseconds {doc}; -1 if it did not come to that.")


TABLE = Table(
    name="haproxy_log",
    doc="Requests and connections through HAProxy, and what it says of itself.",
    null="-",
    format=Regex(
        f"^{PERHAPS}{HTTP}$",
        also=(
            f"^{PERHAPS}{HTTP}{TLS}$",
            f"^{PERHAPS}{TCP}",
            f"^{HEADER}{CONNECT}",
            f"^{PERHAPS}{FAILED}",
            f"^{HEADER}(?<message>.*)$",
        ),
    ),
    columns=(
        col(
            "timestamp",
            "timestamp",
            sql="try_strptime(accept_date, '%d/%b/%Y:%H:%M:%S.%f')",
            doc="When the connection or request was accepted, taken as UTC.",
        ),
        col("syslog_time", "timestamp", time="%b %d %H:%M:%S", doc="When it was logged; a missing year is guessed."),
        col("hostname", doc="Host of the proxy."),
        col("process_name", doc="Name of the process, mostly haproxy."),
        col("pid", "integer", doc="Process."),
        col("client_ip", null_if="", doc="Address of the client."),
        col("client_port", "integer", doc="Port of the client."),
        col("frontend_name", doc="Frontend that took it; ~ at its end means TLS."),
        col("backend_name", doc="Backend that was chosen."),
        col("server_name", doc="Server that was chosen, or <NOSRV>."),
        col("host", doc="Host, where the log format puts one before the timers."),
        milliseconds("request", "to receive the request"),
        milliseconds("queue", "in queues"),
        milliseconds("connect", "to connect to the server"),
        milliseconds("response", "until the server answered"),
        milliseconds("total", "in all"),
        col("status", "integer", doc="Status of the response; -1 if there was none."),
        col("bytes_read", "bigint", doc="Bytes sent to the client."),
        col("request_cookie", doc="Captured cookie of the request."),
        col("response_cookie", doc="Captured cookie of the response."),
        col("termination_state", doc="How the session ended, letter by letter."),
        col("actconn", "integer", doc="Connections of the process."),
        col("feconn", "integer", doc="Connections of the frontend."),
        col("beconn", "integer", doc="Connections of the backend."),
        col("srv_conn", "integer", doc="Connections of the server."),
        col("retries", "integer", doc="Attempts to connect again."),
        col("srv_queue", "integer", doc="Requests before it in the server's queue."),
        col("backend_queue", "integer", doc="Requests before it in the backend's queue."),
        col("request_headers", "varchar[]", list_separator="|", doc="Captured headers of the request."),
        col("response_headers", "varchar[]", list_separator="|", doc="Captured headers of the response."),
        col("request_method", sql="nullif(split_part(request, ' ', 1), '')", doc="GET, POST …"),
        col("request_uri", sql="nullif(split_part(request, ' ', 2), '')", doc="Target of the request, as sent."),
        col("server_protocol", sql="nullif(split_part(request, ' ', 3), '')", doc="HTTP/1.1, HTTP/2.0 …"),
        col("destination_ip", doc="Address that a connection went to."),
        col("destination_port", "integer", doc="Port that a connection went to."),
        col("mode", doc="HTTP or TCP, of connections that were only begun."),
        col("ssl_version", doc="TLS version, of logs that `option httpslog` writes."),
        col("ssl_cipher", doc="TLS cipher."),
        col("ssl_sni", doc="Name that the client asked TLS for."),
        col("message", doc="What else HAProxy said."),
    ),
    common=Common(
        time=("timestamp", "syslog_time"),
        source_ip="client_ip",
        destination_ip="destination_ip",
        ips=("client_ip", "destination_ip"),
        domains=("host", "ssl_sni"),
        akas=("frontend_name", "backend_name", "server_name"),
    ),
)

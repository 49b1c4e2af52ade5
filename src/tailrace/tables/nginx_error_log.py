"""nginx error log: one row per message."""

from tailrace.core import Common, Regex, Table, col

LINE = (
    r"^(?<timestamp>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) \[(?<level>\w+)\] (?<pid>\d+)#(?<tid>\d+):"
    r" (?:\*(?<connection_id>\d+) )?(?<message>.*)$"
)


def told(name: str, value: str = '"([^"]*)"') -> str:
    """What nginx tells of the request behind its message: `, host: "example.com"`."""
    return f"nullif(regexp_extract(message, ', {name}: {value}', 1), '')"


REQUEST = told("request")

TABLE = Table(
    name="nginx_error_log",
    doc="Errors and other messages of nginx.",
    format=Regex(LINE, start=r"^\d{4}/\d\d/\d\d "),
    columns=(
        col("timestamp", "timestamp", time="%Y/%m/%d %H:%M:%S", doc="When it was written, taken as UTC."),
        col("level", doc="debug, info, notice, warn, error, crit, alert or emerg."),
        col("pid", "integer", doc="Process that wrote it."),
        col("tid", "bigint", doc="Thread that wrote it."),
        col("connection_id", "bigint", doc="Serial number of the connection."),
        col("message", doc="The message with all that nginx tells of the request."),
        col("error_code", "integer", sql=r"regexp_extract(message, '\((\d+): ', 1)", doc="Error of the system."),
        col("client", sql=told("client", "([^, ]+)"), doc="Address of the client."),
        col("server", sql=told("server", "([^, ]+)"), doc="Name of the server that took the request."),
        col("request_method", sql=f"nullif(split_part({REQUEST}, ' ', 1), '')", doc="GET, POST …"),
        col("request_uri", sql=f"nullif(split_part({REQUEST}, ' ', 2), '')", doc="Target of the request, as sent."),
        col("server_protocol", sql=f"nullif(split_part({REQUEST}, ' ', 3), '')", doc="HTTP/1.1, HTTP/2.0 …"),
        col("upstream", sql=told("upstream"), doc="Upstream that was asked."),
        col("host", sql=told("host"), doc="Host of the request."),
        col("referrer", sql=told("referrer"), doc="Page that linked here."),
    ),
    common=Common(time=("timestamp",), source_ip="client", ips=("client",), domains=("host",), akas=("host", "server")),
)

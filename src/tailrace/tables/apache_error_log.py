"""Apache HTTP server error log: one row per message."""

from tailrace.core import Common, Regex, Table, col

LINE = (
    r"^\[(?<time>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d(?:\.\d+)? \d{4}"
    r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: [+-]\d{4})?)\]"
    r" \[(?:(?<module>[^\]:]*):)?(?<level>[a-z0-9]+)\]"
    r"(?: \[pid (?<pid>\d+)(?::tid (?<tid>\d+))?\])?"
    r"(?: (?<source_file>[\w./-]+\.c\(\d+\)):)?"
    r"(?: \((?:OS )?(?<error_code>\d+)\)(?<error_text>[^:\]]*):)?"
    r"(?: \[(?:client|remote) (?<client>\[[^\]]*\](?::\d+)?|[^\]]*)\])?"
    r" (?:(?<code>AH\d{5}): )?(?<message>.*?)(?:, referer: (?<referer>[^,]*))?$"
)
SPELLED = "['%a %b %d %H:%M:%S.%f %Y', '%a %b %d %H:%M:%S %Y']"
# `%{cu}t` of an ErrorLogFormat, and `%{cuz}t` with a zone.
ZONED = "try_strptime(time, ['%Y-%m-%d %H:%M:%S.%f %z', '%Y-%m-%d %H:%M:%S %z']) at time zone 'UTC'"
ISO = f"case when regexp_matches(time, '[+-][0-9]{{4}}$') then {ZONED} else try_cast(time as timestamp) end"
MOMENT = f"coalesce(try_strptime(time, {SPELLED}), {ISO})"
# 2.4 writes the port behind the address, of IPv6 too and without brackets; 2.2 names neither port nor module.
ADDRESS, PORT = r"'^\[?(.*?)\]?(?::\d+)?$'", r"'^.*[^:]:(\d+)$'"

TABLE = Table(
    name="apache_error_log",
    doc="Errors and other messages of the Apache HTTP server.",
    format=Regex(LINE, start=r"^\["),
    columns=(
        col("timestamp", "timestamp", sql=MOMENT, doc="When it was written; without a zone taken as UTC."),
        col("module", null_if="", doc="Module that wrote it."),
        col("level", doc="emerg, alert, crit, error, warn, notice, info, debug or trace1 to trace8."),
        col("pid", "integer", doc="Process that wrote it."),
        col("tid", "bigint", doc="Thread that wrote it."),
        col("source_file", doc="Source file and line that wrote it."),
        col("error_code", "integer", doc="Error of the system."),
        col("error_text", doc="What the error of the system means."),
        col(
            "client_addr",
            sql=f"case when module is null then client else nullif(regexp_extract(client, {ADDRESS}, 1), '') end",
            doc="Address of the client.",
        ),
        col(
            "client_port",
            "integer",
            sql=f"case when module is not null then regexp_extract(client, {PORT}, 1) end",
            doc="Port of the client.",
        ),
        col("code", doc="Number of the message, such as AH00094."),
        col("message", doc="The message."),
        col("referer", doc="Page that linked here."),
    ),
    common=Common(time=("timestamp",), source_ip="client_addr", ips=("client_addr",)),
)

"""MySQL and MariaDB error log: one row per message."""

from tailrace.core import Common, Jsonl, Preset, Regex, Table, col

LINE = (
    r"^(?<time>\d{4}-\d\d-\d\d[T ][ \d]\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?|\d{6} [ \d]\d:\d\d:\d\d)"
    r"(?:\s+(?<thread_id>\d+))?(?: \[(?<level>System|Error|ERROR|Warning|Note)\])?(?: \[(?<error_code>MY-\d+)\])?"
    r"(?: \[(?<subsystem>\w+)\])?\s+(?<message>.*)$"
)
# Old servers let InnoDB write right behind the time; MariaDB pads the hour with a blank.
GLUED = r"^(?<time>\d{6} [ \d]\d:\d\d:\d\d)(?<message>InnoDB: .*)$"
CODE = "coalesce(error_code, 'MY-' || lpad(err_code, 6, '0'))"
TEXT = Regex(LINE, also=(GLUED,), start=r"^(?:\d{4}-\d\d-\d\d[T ]|\d{6} [ \d]\d:)")
JSON = Jsonl(field_map=(("thread_id", "thread"), ("level", "label"), ("message", "msg")))

TABLE = Table(
    name="mysql_error_log",
    doc="Errors and other messages of MySQL and MariaDB servers.",
    format=TEXT,
    presets=(
        Preset("text", TEXT, "What servers write unless told otherwise."),
        Preset("json", JSON, "What `component_log_sink_json` writes, from version 8.0 on."),
    ),
    columns=(
        col(
            "timestamp",
            "timestamp",
            sql="case when time[7] = ' ' then try_strptime(replace(time, '  ', ' 0'), '%y%m%d %H:%M:%S')"
            " else try_cast(try_cast(replace(time, '  ', ' 0') as timestamptz) as timestamp) end",
            doc="When it was written; without a zone taken as UTC.",
        ),
        col("thread_id", "bigint", doc="Thread that wrote it."),
        col("level", doc="System, Error, Warning or Note; older servers leave it out."),
        col("error_code", sql=CODE, doc="Number of the message, such as MY-010116; from version 8.0 on."),
        col("subsystem", doc="Server, InnoDB, Repl …; from version 8.0 on."),
        col("message", doc="The message."),
        col(
            "user_name",
            sql="nullif(regexp_extract(message, 'for user ''([^'']*)''', 1), '')",
            doc="User whose access was denied.",
        ),
        col(
            "client",
            sql="nullif(regexp_extract(message, 'for user ''[^'']*''@''([^'']*)''', 1), '')",
            doc="Host or address from which access was denied.",
        ),
    ),
    common=Common(time=("timestamp",), source_ip="client", ips=("client",), usernames=("user_name",)),
)

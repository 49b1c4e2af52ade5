"""PostgreSQL server log, as text, CSV or JSON: one row per message."""

from tailrace.core import Common, Delimited, Json, Jsonl, Preset, Regex, Table, col

LEVELS = "DEBUG[1-5]?|LOG|INFO|NOTICE|WARNING|ERROR|FATAL|PANIC|DETAIL|HINT|QUERY|CONTEXT|STATEMENT|LOCATION|BACKTRACE"
CLIENT = r"\[local\]|[0-9a-f]*[.:][0-9a-f.:]+(?:\(\d+\))?"
DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
BEGIN = rf"^(?:< ?|(?:{CLIENT}) )?{DATE}"
TIME = (
    rf"^(?:< ?|(?<connection_from>{CLIENT}) )?(?<log_time>{DATE}"
    r"(?:\.\d+)?(?: [A-Za-z]{2,5}| ?[+-]\d\d(?::?\d\d)?)?)(?: ?>)?"
)
PROCESS = r"\[(?<process_id>\d+)(?:-(?<session_line_num>\d+))?\]"
ANYTHING = r"[^\"\n]*?"
REST = rf"(?<prefix>{ANYTHING})\b(?<error_severity>{LEVELS}):  ?(?:(?<sql_state_code>[0-9A-Z]{{5}}): )?(?<message>.*)$"
# Servers that speak other languages translate the levels: two blanks always follow.
OTHER_LEVEL = r"(?<error_severity>\p{Lu}[\p{Lu}-]+|[\p{Lo}\p{Lm}]+)\s?:  (?<message>.*)$"
# What syslog was told has the number of the message and of its line before it: all lines but the first go on.
SYSLOG_TIME = r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+)"
SYSLOG = (
    rf"^(?:<\d{{1,3}}>)?(?<syslog_time>{SYSLOG_TIME}) (?<hostname>\S+) \S+?\[(?<process_id>\d+)\]:"
    r" \[(?<session_line_num>\d+)-1\]"
)
SYSLOG_MORE = rf"\n(?:<\d{{1,3}}>)?{SYSLOG_TIME} \S+ \S+?\[\d+\]: \[\d+-\d+\] ?"
SYSLOG_BEGIN = rf"^(?:<\d{{1,3}}>)?{SYSLOG_TIME} \S+ \S+\[\d+\]: \[\d+-1\]"
TEXT = Regex(
    f"{TIME} ?{PROCESS}{REST}",
    also=(
        TIME + REST.replace("*?)", f"*?{PROCESS}{ANYTHING})"),
        TIME + REST,
        SYSLOG + REST,
        rf"{TIME}(?: ?{PROCESS})?(?<prefix>{ANYTHING}){OTHER_LEVEL}",
    ),
    start=f"{BEGIN}|{SYSLOG_BEGIN}",
)
CSV = Delimited(
    header=False,
    fields=(
        "log_time", "user_name", "database_name", "process_id", "connection_from", "session_id", "session_line_num",
        "command_tag", "session_start_time", "virtual_transaction_id", "transaction_id", "error_severity",
        "sql_state_code", "message", "detail", "hint", "internal_query", "internal_query_pos", "context", "query",
        "query_pos", "location", "application_name", "backend_type", "leader_pid", "query_id",
    ),
    optional=4,
)  # fmt: skip
NAMES = (
    ("process_id", "pid"), ("command_tag", "ps"), ("virtual_transaction_id", "vxid"), ("transaction_id", "txid"),
    ("sql_state_code", "state_code"), ("internal_query_pos", "internal_position"), ("query", "statement"),
    ("query_pos", "cursor_position"),
)  # fmt: skip
ZONES = {
    "CET": 60, "CEST": 120, "EET": 120, "EEST": 180, "WEST": 60, "BST": 60, "MSK": 180, "IST": 330, "JST": 540,
    "AEST": 600, "AEDT": 660, "EST": -300, "EDT": -240, "CST": -360, "CDT": -300, "MST": -420, "MDT": -360,
    "PST": -480, "PDT": -420,
}  # fmt: skip
MINUTES = "{" + ", ".join(f"'{name}': {minutes}" for name, minutes in ZONES.items()) + "}"


def moment(field: str) -> str:
    """Times with an offset, or with the usual name of a zone; others are taken as UTC."""
    text, zone = f"regexp_extract({field}, '^[0-9.: -]+[0-9]', 0)", f"regexp_extract({field}, '[A-Z]+$', 0)"
    named = f"try_cast({text} as timestamp) - to_minutes(coalesce((map {MINUTES})[upper({zone})], 0))"
    offset = f"try_cast(try_cast(replace(replace({field}, ' +', '+'), ' -', '-') as timestamptz) as timestamp)"
    usual = f"when suffix({field}, ' UTC') then try_cast({field}[:-5] as timestamp)"
    return f"case {usual} when regexp_matches({field}, ' [A-Za-z]+$') then {named} else {offset} end"


def from_payload(pattern: str) -> str:
    """A part of the line that Google Cloud wraps in JSON."""
    return f"""nullif(regexp_extract("textPayload", '^{pattern}', 1, 's'), '')"""


BEFORE_LEVEL = r"[^\x22\n]*?"
LEVEL = rf"\b(?:{LEVELS}):  "
PREFIX = "coalesce(prefix, " + from_payload(rf"({BEFORE_LEVEL}){LEVEL}") + ")"


def told(pattern: str) -> str:
    """A part of what `log_line_prefix` puts before the level."""
    return f"nullif(nullif(regexp_extract({PREFIX}, '{pattern}', 1), ''), '[unknown]')"


def either(name: str, key: str, *patterns: str) -> str:
    """A field of the CSV log, of the JSON log, or of the prefix of the text log."""
    return f"coalesce(nullif({name}, ''), {key}, {', '.join(map(told, patterns))})"


REMOTE = "remote_host || coalesce(':' || remote_port, '')"
SOURCE = "func_name || ', ' || file_name || ':' || file_line_num"
WORD = r"(\[unknown\]|[^\s,@\[\]=:]+)"
# `%r` and `%h` before `%u@%d`, as RDS writes them.
AT_FRONT = r"^:([^\s@]+?(?:\(\d+\))?):[^:@]*@"
CLIENT_OF = either("connection_from", REMOTE, "(?:client|host)=([^, ]+)", AT_FRONT)
WHOLE = f"replace(regexp_replace(message, '{SYSLOG_MORE}', chr(10), 'g'), '#011', chr(9))"
TOLD = f"""coalesce(message, {from_payload(f"{BEFORE_LEVEL}{LEVEL}(.*)$")}, "textPayload")"""
MESSAGE = f"case when syslog_time is null then {TOLD} else {WHOLE} end"
PAYLOAD_TIME = from_payload("([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]+ [A-Z]+)")
TIMES = f"""coalesce(log_time, {PAYLOAD_TIME}, "timestamp")"""
SEVERITY = "coalesce(error_severity, " + from_payload(rf"{BEFORE_LEVEL}\b({LEVELS}):  ") + ")"

TABLE = Table(
    name="postgres_log",
    doc="Messages of PostgreSQL servers: errors, connections, slow statements.",
    format=TEXT,
    presets=(
        Preset("text", TEXT, "`log_destination = stderr` or `syslog` with any of the usual `log_line_prefix`."),
        Preset("csv", CSV, "`log_destination = csvlog`, from version 9.0 on."),
        Preset("json", Jsonl(field_map=NAMES), "`log_destination = jsonlog`, from version 15 on."),
        Preset("cloudnative", Jsonl(unwrap=("record",)), "What CloudNativePG writes to its pods' logs."),
        Preset("cloudsql", Json(records="entries"), "Entries of Google Cloud's logging, from Cloud SQL."),
    ),
    columns=(
        col("log_time", "timestamp", sql=moment(TIMES), doc="When it was written, UTC."),
        col("user_name", sql=either("user_name", '"user"', f"{WORD}@", "user=([^, ]+)"), doc="User of the session."),
        col(
            "database_name",
            sql=either("database_name", "dbname", f"@{WORD}", "db=([^, ]+)"),
            doc="Database of the session.",
        ),
        col("process_id", "integer", doc="Process of the session."),
        col(
            "connection_from",
            sql=rf"regexp_replace({CLIENT_OF}, '\((\d+)\)$', ':\1')",
            doc="Address, name and port of the client, or [local].",
        ),
        col(
            "session_id",
            sql=f"coalesce(session_id, {told('([0-9a-f]{8}[.][0-9a-f]+)')})",
            doc="Session.",
        ),
        col(
            "session_line_num",
            "bigint",
            sql=either("session_line_num", "line_num", r"\[(\d+)-1\]"),
            doc="Number of the line in its session.",
        ),
        col("command_tag", null_if="", doc="Kind of the statement."),
        col(
            "session_start_time",
            "timestamp",
            sql=moment("coalesce(session_start_time, session_start)"),
            doc="When the session began, UTC.",
        ),
        col("virtual_transaction_id", null_if="", doc="Virtual transaction."),
        col("transaction_id", "bigint", doc="Transaction; 0 if there is none."),
        col(
            "error_severity",
            sql=SEVERITY,
            doc="LOG, ERROR, FATAL, PANIC, WARNING …; STATEMENT, DETAIL and the like in text logs.",
        ),
        col("sql_state_code", doc="SQLSTATE of an error."),
        col("message", sql=MESSAGE, doc="The message."),
        col(
            "duration_ms",
            "double",
            sql=f"regexp_extract({TOLD}, '^duration: ([0-9.]+) ms', 1)",
            doc="Milliseconds that a statement took.",
        ),
        col(
            "statement",
            sql=rf"nullif(regexp_extract({MESSAGE}, '^(?:duration: [0-9.]+ ms  )?"
            r"(?:statement|(?:parse|bind|execute) [^:]+(?::[0-9a-fx]+)?): (.*)$', 1, 's'), '')",
            doc="The statement that was logged.",
        ),
        col("detail", null_if="", doc="Detail of an error."),
        col("hint", null_if="", doc="Hint on an error."),
        col("internal_query", null_if="", doc="Internal query that led to the error."),
        col("internal_query_pos", "integer", doc="Place in it."),
        col("context", null_if="", doc="Context of an error."),
        col("query", null_if="", doc="Statement that led to the error."),
        col("query_pos", "integer", doc="Place in it."),
        col("location", sql=f"coalesce(nullif(location, ''), {SOURCE})", doc="Place in PostgreSQL's source."),
        col(
            "application_name",
            sql=f"coalesce(nullif(application_name, ''), {told('app=([^, ]+)')})",
            doc="Name that the client gives itself.",
        ),
        col("backend_type", null_if="", doc="Kind of the process, from version 13 on."),
        col("leader_pid", "integer", doc="Leader of a parallel worker, from version 14 on."),
        col("query_id", "bigint", doc="Hash of the statement, from version 14 on."),
        col(
            "log_line_prefix",
            sql=f"nullif(trim({PREFIX}), '')",
            doc="What the server's setting of that name puts before the level, in text logs; without the time.",
        ),
        col("hostname", doc="Host of the server, where the log went to syslog."),
        col("syslog_time", "timestamp", time="%b %d %H:%M:%S", doc="When syslog wrote it; a missing year is guessed."),
    ),
    common=Common(
        time=("log_time", "syslog_time"),
        source_ip="connection_from",
        ips=("connection_from",),
        akas=("database_name",),
        usernames=("user_name",),
    ),
)
